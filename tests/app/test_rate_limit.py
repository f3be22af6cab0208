from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx

from tests.app.app_process import Service, Valkey, eventually
from tests.app.app_shop import publish


def statuses(client: httpx.Client, count: int, **headers: str) -> list[int]:
    return [client.get("/models", headers=headers).status_code for _ in range(count)]


def test_rate_limit_returns_429_with_retry_after(start: Callable[..., Service]) -> None:
    client = start(TRIPOD_RATE_LIMIT="3").client
    # The bucket holds three requests; the next one is allowed after twenty seconds.
    assert statuses(client, 3) == [200, 200, 200]
    refused = client.get("/models")
    assert refused.status_code == 429
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["type"] == "urn:tripod:problem:too-many-requests"
    assert 1 <= int(refused.headers["retry-after"]) <= 20
    assert refused.headers["retry-after"] in refused.json()["detail"]
    assert refused.headers["x-request-id"]
    for path in ("/healthz", "/readyz", "/metrics", "/static/favicon.svg"):
        assert client.get(path).status_code != 429


def test_rate_limit_refills_evenly(start: Callable[..., Service]) -> None:
    client = start(TRIPOD_RATE_LIMIT="60").client  # one per second
    seen = statuses(client, 200)
    assert seen[:60] == [200] * 60
    assert 429 in seen
    eventually(lambda: client.get("/models").status_code == 200, "the bucket was not refilled")


def test_rate_limit_is_per_client_and_shared_by_all_processes(
    start: Callable[..., Service], valkey: Valkey
) -> None:
    settings = {"TRIPOD_RATE_LIMIT": "2", "TRIPOD_TRUSTED_PROXIES": "127.0.0.1", "REDIS_URL": valkey.url}
    one, two = (start(**settings).client for _ in range(2))
    header = "X-Forwarded-For"
    assert statuses(one, 1, **{header: "192.0.2.1"}) == [200]
    assert statuses(two, 2, **{header: "192.0.2.1"}) == [200, 429]
    assert statuses(one, 1, **{header: "192.0.2.2"}) == [200]
    # All addresses of a /64 network count as one client.
    seen = [statuses(one, 1, **{header: f"2001:db8::{number}"})[0] for number in range(3)]
    assert seen == [200, 200, 429]
    assert statuses(one, 1, **{header: "2001:db8:0:1::1"}) == [200]


def test_untrusted_x_forwarded_for_is_ignored(start: Callable[..., Service]) -> None:
    client = start(TRIPOD_RATE_LIMIT="2").client
    seen = [statuses(client, 1, **{"X-Forwarded-For": f"192.0.2.{number}"})[0] for number in range(3)]
    assert seen == [200, 200, 429]


def test_rate_limit_is_off_while_redis_is_unavailable(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    client = start(TRIPOD_RATE_LIMIT="60", REDIS_URL=valkey.url).ready().client
    valkey.kill()
    assert {client.get("/recommend?items=camera-0").status_code for _ in range(80)} == {200}
