"""Error messages for invalid requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.app.app_process import ADMIN_KEY, Service


def errors(answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 422
    parts = answer.json()["errors"]
    assert answer.json()["detail"] == f"{parts[0]['where']}: {parts[0]['message']}."
    return {part["where"]: part["message"] for part in parts}


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/carts/x/items", [], "body"),
        ("/carts/x/items", "camera-0", "body"),
        ("/carts/x/items", {"items": ["camera-0"]}, "body.items.0"),
        ("/recommend", [], "body"),
        ("/recommend", {"boosts": 2}, "body.boosts"),
        ("/recommend", {"boosts": {"items": []}}, "body.boosts.items"),
        ("/recommend/batch", {"carts": [["camera-0"]]}, "body.carts.0"),
    ],
)
def test_value_that_is_not_an_object_is_named(shop: httpx.Client, path: str, body: Any, where: str) -> None:
    assert errors(shop.post(path, json=body)) == {where: "it must be an object"}


@pytest.mark.parametrize("body", [{"itemid": "a"}, {}, {"quantity": 2}])
def test_cart_lines_without_an_item_id_error_lists_both_forms(shop: httpx.Client, body: Any) -> None:
    (message,) = errors(shop.post("/carts/x/items", json=body)).values()
    assert message == "it must have `item_id` (and `quantity`), or `items`, a list of such objects"


def test_pattern_errors_are_explained_in_words(shop: httpx.Client) -> None:
    cart_id = (
        "it must have 1 to 128 characters: letters, digits, `_`, and after the first also `.`, `~`, `:`, `-`"
    )
    assert errors(shop.get("/carts/-dash")) == {"path.cart_id": cart_id}
    assert errors(shop.get("/recommend", params={"cart_id": "a b"})) == {"query.cart_id": cart_id}
    batch = {"carts": [{"cart_id": "a b"}]}
    assert errors(shop.post("/recommend/batch", json=batch)) == {"body.carts.0.cart_id": cart_id}
    keyed = shop.post("/carts", headers={"Idempotency-Key": "a b"})
    assert "ASCII characters, without blanks" in errors(keyed)["header.Idempotency-Key"]
    assert errors(shop.post("/training-jobs", json={"data": "a\nb"})) == {
        "body.data": "it must have no control characters"
    }


def test_every_422_lists_its_errors(shop: httpx.Client, start: Callable[..., Service]) -> None:
    unquoted = shop.delete("/carts/x", headers={"If-Match": "no quotes"})
    assert "in quotes" in errors(unquoted)["header.If-Match"]
    assert "next_cursor" in errors(shop.get("/items", params={"cursor": "nonsense"}))["query.cursor"]
    key = {"Idempotency-Key": "used-twice"}
    shop.post("/carts/keyed/items", json={"item_id": "a"}, headers=key)
    reused = shop.post("/carts/keyed/items", json={"item_id": "b"}, headers=key)
    assert "use a new key" in errors(reused)["header.Idempotency-Key"]
    without_data = start(TRIPOD_ADMIN_KEY=ADMIN_KEY).client
    refused = without_data.post("/training-jobs", headers={"X-Admin-Key": ADMIN_KEY})
    assert "TRIPOD_DATA" in errors(refused)["body.data"]


@pytest.mark.parametrize("path", ["/recommend", "/bundles"])
def test_empty_json_array_in_a_query_is_an_empty_list(shop: httpx.Client, path: str) -> None:
    for text in ("[]", " [ ] "):
        answer = shop.get(path, params={"items": text, "exclude": text, "k": 2}).json()
        assert answer["cart"]["items"] == answer["cart"]["unknown_items"] == []


@pytest.mark.parametrize("text", ["[1]", "[null]", '[["a"]]', '[1, "a"]', '["a", {}]'])
def test_json_array_in_a_query_must_contain_strings(shop: httpx.Client, text: str) -> None:
    messages = errors(shop.get("/recommend", params={"items": text}))
    assert messages == {"query.items": 'a JSON array of ids must hold strings only, such as ["7","a,b"]'}


def test_query_value_with_a_bracket_that_is_not_json_is_item_ids(shop: httpx.Client) -> None:
    answer = shop.get("/recommend", params={"items": "[x],camera-0"}).json()
    assert answer["cart"]["items"] == ["camera-0"]
    assert answer["cart"]["unknown_items"] == ["[x]"]
    assert (
        "looks like a JSON array" in errors(shop.get("/recommend", params={"items": '["a"'}))["query.items"]
    )
