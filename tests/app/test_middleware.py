"""Request ids, unknown paths and methods, bodies, metrics, overload."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.app.app_process import Service, eventually
from tests.app.app_shop import publish


def test_request_id_is_returned_and_logged(service: Service) -> None:
    answer = service.client.get("/items/camera-0", headers={"X-Request-ID": "trace.7:a-b_c"})
    assert answer.headers["x-request-id"] == "trace.7:a-b_c"
    logged = eventually(
        lambda: [event for event in service.events() if event.get("request_id") == "trace.7:a-b_c"],
        "the request was not logged",
    )
    assert logged[0]["route"] == "/items/{item_id}"
    assert logged[0]["status"] == 200
    assert logged[0]["path"] == "/items/camera-0"


@pytest.mark.parametrize("bad", ["", "sp ace", "x" * 129, '"}{"'])
def test_invalid_request_id_is_replaced(shop: httpx.Client, bad: str) -> None:
    given = shop.get("/healthz", headers={"X-Request-ID": bad}).headers["x-request-id"]
    assert re.fullmatch(r"[0-9a-f]{16}", given)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("POST", "/healthz", 405),
        ("GET", "/carts/", 404),
        ("PATCH", "/recommend", 405),
    ],
)
def test_unknown_path_or_method_returns_a_problem(
    shop: httpx.Client, method: str, path: str, status: int
) -> None:
    answer = shop.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert answer.headers["x-request-id"]
    assert (status == 405) == ("allow" in answer.headers)


def test_405_lists_the_allowed_methods(shop: httpx.Client) -> None:
    assert shop.delete("/recommend").headers["allow"] == "GET, HEAD, POST"
    assert shop.patch("/carts/x").headers["allow"] == "GET, HEAD, DELETE"


def test_unparsable_body_returns_400(shop: httpx.Client) -> None:
    json = {"Content-Type": "application/json"}
    broken = shop.post("/recommend", content=b'{"k": ', headers=json)
    assert broken.status_code == 400
    assert broken.json()["type"] == "urn:tripod:problem:bad-request"
    assert "not valid JSON" in broken.json()["detail"]
    latin = shop.post("/recommend", content=b'{"items": ["\xff"]}', headers=json)
    assert latin.status_code == 400
    assert latin.headers["content-type"] == "application/problem+json"
    deep = shop.post("/recommend", content=b'{"boosts":' * 100_000, headers=json)
    assert deep.status_code == 400


def test_too_large_body_returns_413(shop: httpx.Client) -> None:
    announced = shop.post("/recommend", json={"items": ["x" * 2_000_000]})

    def chunks() -> Iterator[bytes]:
        for _ in range(30):
            yield b" " * 100_000

    streamed = shop.post("/recommend", content=chunks(), headers={"Content-Type": "application/json"})
    for answer in (announced, streamed):
        assert answer.status_code == 413
        assert answer.json()["type"] == "urn:tripod:problem:body-too-large"


def test_metrics_count_requests_by_route_template_and_status(service: Service) -> None:
    def count(labels: str) -> float:
        return service.metric(f"tripod_request_seconds_count.*{labels}")

    label = 'method="GET",route="/carts/{cart_id}",status="404"'
    before, unmatched = count(label), count('route="unmatched",status="404"')
    for number in range(5):
        service.client.get(f"/carts/missing-{number}")
        service.client.get(f"/missing-{number}")
    assert count(label) == before + 5
    assert count('route="unmatched",status="404"') == unmatched + 5
    text = service.client.get("/metrics").text
    assert "missing-" not in text
    for name in (
        "model_created_timestamp",
        "gains_computed",
        "redis_seconds",
        "fallbacks",
        "catalogue_items",
    ):
        assert f"tripod_{name}" in text


def test_overload_returns_503_with_retry_after_and_recovers(
    start: Callable[..., Service], tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    service = start(TRIPOD_THREADS="1", TRIPOD_QUEUE="2").ready()
    heavy = {"method": "sample", "k": 50, "alternatives": 1}

    async def send_all() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=service.client.base_url, timeout=60) as client:
            return await asyncio.gather(*(client.get("/bundles", params=heavy) for _ in range(12)))

    answers = asyncio.run(send_all())
    refused = [answer for answer in answers if answer.status_code == 503]
    assert len(answers) - len(refused) >= 3
    assert refused
    for answer in refused:
        assert answer.json()["type"] == "urn:tripod:problem:overloaded"
        assert int(answer.headers["retry-after"]) >= 1
    assert service.metric("tripod_overloads_total") == len(refused)
    assert service.client.get("/bundles", params=heavy).status_code == 200
