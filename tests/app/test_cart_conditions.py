"""If-Match and If-None-Match on changes of carts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.app.app_process import problem

LINE = {"item_id": "camera-0"}


def add(shop: httpx.Client, cart_id: str, *conditions: tuple[str, str]) -> httpx.Response:
    return shop.post(f"/carts/{cart_id}/items", json=LINE, headers=list(conditions))


def test_if_none_match_star_refuses_changes_of_an_existing_cart(shop: httpx.Client) -> None:
    new = ("If-None-Match", "*")
    first = add(shop, "only-new", new)
    assert first.status_code == 200
    headers = [new]
    for refused in (
        add(shop, "only-new", new),
        shop.put("/carts/only-new/items/camera-0", json={"quantity": 9}, headers=headers),
        shop.delete("/carts/only-new/items/camera-0", headers=headers),
        shop.post("/carts/only-new/checkout", headers=headers),
        shop.delete("/carts/only-new", headers=headers),
    ):
        assert problem(refused) == (412, "cart-exists")
    assert shop.get("/carts/only-new").json() == first.json()


def test_concurrent_creations_with_if_none_match_star_create_one_cart(shop: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda _: add(shop, "raced", ("If-None-Match", "*")), range(8))
        assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7
    assert shop.get("/carts/raced").json()["items"] == [{"item_id": "camera-0", "quantity": 1}]


@pytest.mark.parametrize("prefix", ["", "W/"])
def test_matching_if_none_match_refuses_a_change(shop: httpx.Client, prefix: str) -> None:
    etag = add(shop, "named").headers["etag"]
    named = ("If-None-Match", f'"other", {prefix}{etag}')
    assert problem(add(shop, "named", named)) == (412, "cart-exists")
    assert add(shop, "named", ("If-None-Match", '"other"')).status_code == 200
    assert add(shop, "named", named).status_code == 200  # the cart has changed, so its ETag is another


def test_malformed_if_none_match_returns_422(shop: httpx.Client) -> None:
    answer = add(shop, "unread", ("If-None-Match", "no quotes"))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["where"] == "header.If-None-Match"
    assert shop.get("/carts/unread").status_code == 404


@pytest.mark.parametrize("first", [True, False])
def test_repeated_conditional_headers_count_as_one_list(shop: httpx.Client, first: bool) -> None:
    etag = add(shop, "lines").headers["etag"]
    tags = [etag, '"other"'] if first else ['"other"', etag]
    none_match = [("If-None-Match", tag) for tag in tags]
    assert shop.get("/carts/lines", headers=none_match).status_code == 304
    assert problem(add(shop, "lines", *none_match)) == (412, "cart-exists")
    assert add(shop, "lines", *(("If-Match", tag) for tag in tags)).status_code == 200
