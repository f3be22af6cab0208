"""Joining two carts when a guest logs in."""

from __future__ import annotations

import httpx

from tests.app.app_process import problem


def fill(shop: httpx.Client, cart_id: str, shopper_id: str | None = None, **quantities: int) -> None:
    items = [{"item_id": item_id, "quantity": quantity} for item_id, quantity in quantities.items()]
    answer = shop.post(f"/carts/{cart_id}/items", json={"items": items, "shopper_id": shopper_id})
    assert answer.status_code == 200, answer.text


def merge(
    shop: httpx.Client, cart_id: str, from_cart_id: str, shopper_id: str | None = None, **headers: str
) -> httpx.Response:
    body = {"from_cart_id": from_cart_id} | ({"shopper_id": shopper_id} if shopper_id else {})
    return shop.post(f"/carts/{cart_id}/merge", json=body, headers=headers)


def quantities(answer: httpx.Response) -> dict[str, int]:
    return {line["item_id"]: line["quantity"] for line in answer.json()["items"]}


def test_merge_adds_quantities_and_deletes_the_other_cart(shop: httpx.Client) -> None:
    fill(shop, "ann", camera=1, film=2)
    fill(shop, "visit", film=3, tripod=1)
    merged = merge(shop, "ann", "visit")
    assert merged.status_code == 200
    assert list(quantities(merged).items()) == [("camera", 1), ("film", 5), ("tripod", 1)]
    assert merged.headers["etag"] == f'"{merged.json()["etag"]}"'
    assert problem(shop.get("/carts/visit")) == (404, "cart-not-found")
    assert shop.get("/carts/ann").json() == merged.json()


def test_merge_creates_the_cart(shop: httpx.Client) -> None:
    fill(shop, "visit-2", film=3)
    assert quantities(merge(shop, "fresh", "visit-2")) == {"film": 3}


def test_merged_cart_has_the_shopper_given_or_its_own_or_that_of_the_other(shop: httpx.Client) -> None:
    fill(shop, "visit-3", film=1)
    assert merge(shop, "first", "visit-3").json()["has_shopper"] is False
    fill(shop, "visit-4", film=1)
    assert merge(shop, "first", "visit-4", "ann").json()["has_shopper"] is True
    fill(shop, "visit-5", "ben", film=1)
    fill(shop, "second", film=1)
    assert merge(shop, "second", "visit-5").json()["has_shopper"] is True


def test_merge_repeated_with_its_idempotency_key_happens_once(shop: httpx.Client) -> None:
    fill(shop, "visit-6", film=1)
    key = {"Idempotency-Key": "log-in-1"}
    first = merge(shop, "third", "visit-6", **key)
    again = merge(shop, "third", "visit-6", **key)
    assert again.status_code == 200
    assert again.json() == first.json()
    assert problem(merge(shop, "third", "visit-7", **key)) == (422, "idempotency-key-reused")


def test_merge_refuses_missing_equal_and_checked_out_carts(shop: httpx.Client) -> None:
    fill(shop, "fourth", film=1)
    assert problem(merge(shop, "fourth", "nowhere")) == (404, "cart-not-found")
    assert problem(merge(shop, "fourth", "fourth")) == (422, "invalid-request")
    fill(shop, "paid", film=1)
    paid = shop.post("/carts/paid/checkout").json()["purchase_id"]
    refused = merge(shop, "fourth", "paid")
    assert problem(refused) == (409, "cart-checked-out")
    assert refused.json()["purchase_id"] == paid
    assert "'paid'" in refused.json()["detail"]
    assert problem(merge(shop, "paid", "fourth")) == (409, "cart-checked-out")
    assert quantities(shop.get("/carts/fourth")) == {"film": 1}


def test_merge_that_does_not_fit_changes_neither_cart(shop: httpx.Client) -> None:
    fill(shop, "large", **{f"item-{number}": 1 for number in range(500)})
    fill(shop, "more", other=1)
    assert problem(merge(shop, "large", "more")) == (409, "cart-full")
    fill(shop, "much", other=1_000_000)
    assert problem(merge(shop, "more", "much")) == (409, "cart-full")
    assert quantities(shop.get("/carts/more")) == {"other": 1}
    assert quantities(shop.get("/carts/much")) == {"other": 1_000_000}


def test_merge_with_a_stale_if_match_is_refused(shop: httpx.Client) -> None:
    fill(shop, "fifth", film=1)
    fill(shop, "visit-8", film=1)
    stale = shop.get("/carts/fifth").headers["etag"]
    fill(shop, "fifth", film=1)
    assert problem(merge(shop, "fifth", "visit-8", **{"If-Match": stale})) == (412, "cart-changed")
    assert shop.get("/carts/visit-8").status_code == 200


def test_merge_of_an_empty_cart(shop: httpx.Client) -> None:
    empty = shop.post("/carts").json()["cart_id"]
    fill(shop, "sixth", film=1)
    assert quantities(merge(shop, "sixth", empty)) == {"film": 1}
