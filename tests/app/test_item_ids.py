"""Which item ids are accepted, and that ids accepted by release 0.1 do no harm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from model_store import ModelStore
from tests.app.app_process import Service, Valkey
from tests.app.app_shop import draft, item_ids

LONG = "x" * 300
OLD_IDS = ["tab\there", "line\nbreak", "delete\x7f", LONG, ".."]


@pytest.fixture(scope="module")
def old_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A model with item ids and a long category that release 0.1 accepted and this one refuses."""
    store = ModelStore(tmp_path_factory.mktemp("old") / "store")
    planted = draft()
    items = replace(
        planted.items,
        ids=(*OLD_IDS, *item_ids()[len(OLD_IDS) :]),
        categories=(LONG, *planted.items.categories[1:]),
    )
    store.activate(store.publish(replace(planted, items=items)))
    with Service(Path(store.location)) as running:
        yield running.ready().client


@pytest.mark.parametrize(
    "path",
    [
        "/items",
        "/categories",
        "/items/compact-2/related?k=60",
        "/items/compact-2/related?relation=substitute&k=60",
        "/bundles?k=5",
        "/bundles?k=5&items=camera-3",
        "/recommend?k=60&explain=true",
    ],
)
def test_responses_accept_any_item_id_and_category_of_a_model(old_shop: httpx.Client, path: str) -> None:
    answer = old_shop.get(path)
    assert answer.status_code == 200, answer.text


def test_item_ids_of_a_model_are_shown_unchanged(old_shop: httpx.Client) -> None:
    shown = [item["item_id"] for item in old_shop.get("/items").json()["items"]]
    assert shown[: len(OLD_IDS)] == OLD_IDS
    assert old_shop.get("/categories").json()["categories"][0] == {"category": LONG, "items": 1}
    chosen = old_shop.get("/bundles?k=5").json()["bundles"][0]
    assert set(OLD_IDS) & {item["item_id"] for item in chosen["items"]}


@pytest.mark.parametrize(
    ("item_id", "text"),
    [
        ("", "1 to 256 characters"),
        ("x" * 257, "1 to 256 characters"),
        ("tab\there", "no control characters"),
        ("ends with a line break\n", "no control characters"),
        ("..", "neither `.` nor `..`"),
        ("\ud800", "half of a surrogate pair"),
    ],
)
def test_invalid_item_id_in_a_request_returns_422(shop: httpx.Client, item_id: str, text: str) -> None:
    requests: list[tuple[str, str, dict[str, Any]]] = [
        ("/carts/x/items", "body.item_id", {"item_id": item_id}),
        ("/carts/x/items", "body.items.0.item_id", {"items": [{"item_id": item_id}]}),
        ("/recommend", "body.items.1", {"items": ["camera-0", item_id]}),
        ("/recommend", "body.exclude.0", {"exclude": [item_id]}),
        ("/bundles", "body.items.0", {"items": [item_id]}),
    ]
    for path, where, body in requests:
        answer = shop.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["where"] == where
        assert text in error["message"]


def test_item_id_of_256_characters_is_accepted(shop: httpx.Client) -> None:
    assert shop.post("/carts/long-id/items", json={"item_id": "ü" * 256}).status_code == 200


def test_cart_of_release_0_1_with_a_now_invalid_item_id_can_be_read_and_checked_out(
    start: Callable[..., Service], valkey: Valkey
) -> None:
    shop = start(REDIS_URL=valkey.url).client
    old = {"cart_id": "old", "created": 1, "updated": 2, "changes": 1, "birth": "1.2", "etag": "1.2-1"}
    with redis.Redis(port=valkey.port) as client:
        client.set("tripod:cart:old", json.dumps({**old, "lines": [["..", 3], ["camera-0", 1]]}))
        assert shop.get("/carts/old").json()["items"] == [
            {"item_id": "..", "quantity": 3},
            {"item_id": "camera-0", "quantity": 1},
        ]
        assert shop.post("/carts/old/items", json={"item_id": "film-0"}).status_code == 200
        assert shop.post("/carts/old/checkout").json()["status"] == "checked_out"
        ((_, entry),) = client.xrange("tripod:purchases")
    assert json.loads(entry[b"lines"]) == [["..", 3], ["camera-0", 1], ["film-0", 1]]
