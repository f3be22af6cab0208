from __future__ import annotations

import base64
import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx

from model_store import ModelStore
from tests.app.app_process import Service, eventually
from tests.app.app_shop import draft, publish


def version_in_use(service: Service) -> str | None:
    answer = service.client.get("/models/active")
    return answer.json().get("version")


def test_first_published_model_is_loaded(start: Callable[..., Service], tmp_path: Path) -> None:
    service = start()
    waiting = service.client.get("/readyz")
    assert waiting.status_code == 503
    assert set(waiting.json()["missing"]) == {"model"}
    refused = service.client.get("/recommend", params={"items": "camera-0"})
    assert refused.status_code == 503
    assert refused.json()["type"] == "urn:tripod:problem:model-missing"
    assert int(refused.headers["retry-after"]) > 0
    assert service.client.get("/models").json() == {"in_use": None, "models": []}
    assert service.client.post("/carts/x/items", json={"item_id": "camera-0"}).status_code == 200
    version = publish(tmp_path / "store")
    service.ready()
    answer = service.client.get("/recommend", params={"cart_id": "x"}).json()
    assert answer["model_version"] == version
    assert service.metric(f"tripod_model_info.*{version}") == 1
    assert service.metric("tripod_catalogue_items") == 60


def test_model_change_under_load_fails_no_request(start: Callable[..., Service], tmp_path: Path) -> None:
    versions = [publish(tmp_path / "store")]
    service = start().ready()
    statuses: set[int] = set()
    seen: set[str] = set()
    mixed: list[str] = []
    over = threading.Event()

    def request() -> None:
        with httpx.Client(base_url=service.client.base_url, timeout=30) as client:
            while not over.is_set():
                answer = client.post(
                    "/recommend/batch", json={"carts": [{"items": ["camera-0"]}, {}], "k": 3}
                )
                statuses.add(answer.status_code)
                body = answer.json()
                inside = {body["model_version"], *(part["model_version"] for part in body["results"])}
                seen.update(inside)
                mixed.extend(inside if len(inside) > 1 else [])

    clients = [threading.Thread(target=request) for _ in range(4)]
    for thread in clients:
        thread.start()
    eventually(lambda: seen, "the first model does not respond")
    for strength in (2.0, 3.0, 4.0):
        versions.append(publish(tmp_path / "store", strength=strength))
        eventually(lambda: versions[-1] in seen, "the new model does not respond")
    over.set()
    for thread in clients:
        thread.join()
    assert statuses == {200}
    assert seen == set(versions)
    assert mixed == []


def test_damaged_version_is_refused_and_the_one_in_use_stays(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    good = publish(store)
    service = start().ready()
    broken = publish(store, activate=False)
    kernel = store / broken / "kernel.safetensors"
    damaged = bytearray(kernel.read_bytes())
    damaged[-5] ^= 0xFF
    kernel.write_bytes(damaged)
    (store / "ACTIVE").write_text(f"{broken}\n")  # `activate` would refuse it

    def refusal() -> str | None:
        return service.client.get("/readyz").json()["refused_because"]

    reason = eventually(refusal, "the damaged version was not refused")
    assert broken in reason
    entries = {entry["version"]: entry for entry in service.client.get("/models").json()["models"]}
    assert entries[good]["status"] == "in_use"
    assert entries[broken]["status"] == "refused"
    assert entries[broken]["refused_because"] == reason
    assert service.client.get("/recommend").json()["model_version"] == good
    logged = [event for event in service.events() if event["event"] == "model refused"]
    assert [event["model_version"] for event in logged] == [broken]
    assert service.metric("tripod_model_loads_total.*refused") == 1
    newest = publish(store)
    eventually(lambda: version_in_use(service) == newest, "the next version was not loaded")
    assert service.client.get("/readyz").json()["refused_version"] is None


def test_truncated_kernel_file_of_the_model_in_use_does_no_harm(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    damaged = publish(store)
    service = start().ready()
    os.truncate(store / damaged / "kernel.safetensors", 100)
    for path in ("/items/camera-4/related", "/bundles?k=5", "/recommend?items=camera-0,film-3&k=50"):
        assert service.client.get(path).status_code == 200
    newer = publish(store)
    eventually(lambda: version_in_use(service) == newer, "the new model was not loaded")
    (store / "ACTIVE").write_text(f"{damaged}\n")  # `activate` would refuse it
    eventually(
        lambda: service.client.get("/readyz").json()["refused_version"] == damaged,
        "the truncated version was not refused",
    )
    assert version_in_use(service) == newer


def test_missing_model_store_is_reported_and_the_model_stays_in_use(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    version = publish(tmp_path / "store")
    service = start().ready()
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    reason = eventually(
        lambda: service.client.get("/readyz").json()["watchers"]["models"],
        "the missing model store is not reported",
    )
    assert f"Model {version} stays in use" in reason
    assert service.client.get("/recommend").status_code == 200
    (tmp_path / "elsewhere").rename(tmp_path / "store")
    eventually(
        lambda: service.client.get("/readyz").json()["watchers"]["models"] is None,
        "the restored model store was not found",
    )


def test_model_report_in_html_and_json(start: Callable[..., Service], tmp_path: Path) -> None:
    models = ModelStore(tmp_path / "store")
    page = b"<!doctype html><style>p { color: red }</style><script>alert(1)</script><p>good</p>"
    reported = models.publish(replace(draft(), files={"report.html": page, "report.json": b'{"models": {}}'}))
    plain = publish(tmp_path / "store")
    client = start().ready().client
    has_report = {entry["version"]: entry["has_report"] for entry in client.get("/models").json()["models"]}
    assert has_report == {reported: True, plain: False}
    assert client.get("/models/active").json()["has_report"] is False

    shown = client.get(f"/models/{reported}/report.html")
    assert (shown.content, shown.headers["content-type"]) == (page, "text/html; charset=utf-8")
    style = base64.b64encode(hashlib.sha256(b"p { color: red }").digest()).decode()
    assert shown.headers["content-security-policy"] == (
        f"default-src 'none'; style-src 'sha256-{style}'; frame-ancestors 'none'"
    )
    assert client.get(f"/models/{reported}/report.json").json() == {"models": {}}
    assert shown.headers["cache-control"] == "no-cache"
    again = client.get(f"/models/{reported}/report.html", headers={"If-None-Match": shown.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    missing = client.get(f"/models/{plain}/report.json")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:tripod:problem:report-not-found")
    (tmp_path / "store" / reported / "kernel.safetensors").unlink()
    assert client.get(f"/models/{reported}/report.json").status_code == 200  # the report needs no other file
    (tmp_path / "store" / reported / "report.json").write_bytes(b'{"models": []}')
    assert client.get(f"/models/{reported}/report.json").json()["type"] == "urn:tripod:problem:model-damaged"
    for unknown in ("20260101-000000-abcdef", "..", "nothing"):
        assert client.get(f"/models/{unknown}/report.html").status_code == 404
    for no_report in ("manifest.json", "report.pdf", "report.html.exe"):
        assert client.get(f"/models/{reported}/{no_report}").status_code == 404


def test_report_of_a_deleted_version_returns_404_despite_if_none_match(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    models = ModelStore(tmp_path / "store")
    reported = models.publish(replace(draft(), files={"report.html": b"<p>good</p>", "report.json": b"{}"}))
    publish(tmp_path / "store")
    client = start().ready().client
    for name in ("report.html", "report.json"):
        address = f"/models/{reported}/{name}"
        headers = {"If-None-Match": client.get(address).headers["etag"]}
        assert client.get(address, headers=headers).status_code == 304
    models.delete(reported)
    assert client.get(address, headers=headers).json()["type"] == "urn:tripod:problem:model-not-found"


def test_get_of_activate_returns_405(service: Service) -> None:
    version = version_in_use(service)
    refused = service.client.get(f"/models/{version}/activate")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
