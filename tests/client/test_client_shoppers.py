"""Shoppers and purchases by the client."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tripod_client import AsyncTripod, ProblemError, Tripod
from tripod_client.answers import ShopperAnswer
from tripod_client.arguments import NewPurchase

from tests.app.app_process import eventually

NOW = datetime.now(UTC)


@pytest.fixture
def tripod(personal_served: str, admin_key: str) -> Any:
    with Tripod(personal_served, admin_key=admin_key) as client:
        yield client


def known(tripod: Tripod, shopper_id: str, baskets: int) -> ShopperAnswer:
    """What is stored about the shopper, as soon as it has this many baskets."""

    def found() -> ShopperAnswer | None:
        try:
            stored = tripod.get_shopper(shopper_id)
        except ProblemError:
            return None
        return stored if len(stored["baskets"]) == baskets else None

    stored: ShopperAnswer = eventually(found, f"the profile has not got {baskets} baskets")
    return stored


def sources(items: Any) -> set[str]:
    return {reason["source"] for item in items for reason in item["because"]}


def test_cart_of_a_shopper_from_guest_to_checkout(tripod: Tripod) -> None:
    guest = tripod.add_items("guest", "film-5")
    assert not guest["has_shopper"]
    cart = tripod.create_cart(shopper_id="ada")
    assert cart["has_shopper"]
    merged = tripod.merge_carts(cart["cart_id"], "guest", idempotency_key="once")
    assert [line["item_id"] for line in merged["items"]] == ["film-5"]
    assert tripod.merge_carts(cart["cart_id"], "guest", idempotency_key="once") == merged
    assert tripod.add_items("other", "tripod-5", shopper_id="ada")["has_shopper"]
    tripod.check_out(cart["cart_id"])
    assert tripod.check_out("other", shopper_id="ada")["purchase_id"] is not None
    assert {item["item_id"] for item in known(tripod, "ada", 2)["items"]} == {"film-5", "tripod-5"}


def test_recommendations_for_a_shopper_and_a_history(tripod: Tripod) -> None:
    for number in range(3):
        tripod.record_purchase(
            f"grace-{number}", "film-9", shopper_id="grace", timestamp=NOW - timedelta(days=9 * number)
        )
    known(tripod, "grace", 3)
    first = tripod.recommend(shopper_id="grace", k=3, explain=True)["items"][0]
    own = next(reason for reason in first["because"] if reason["source"] == "own")
    assert (first["item_id"], own["times_bought"], own["last_bought_days"]) == ("film-9", 3, 0)

    told = tripod.recommend(items=["camera-9"], history=[["film-9"], ["film-9"]], explain=True)["items"]
    own = next(reason for item in told for reason in item["because"] if reason["source"] == "own")
    assert (own["times_bought"], own["last_bought_days"]) == (2, None)

    personal, by_name, anybody = tripod.recommend_batch(
        [
            {"items": [], "history": [["film-9"], ["film-9"]]},
            {"items": [], "shopper_id": "grace"},
            [],
        ],
        k=5,
        explain=True,
    )["results"]
    assert personal["items"][0]["item_id"] == by_name["items"][0]["item_id"] == "film-9"
    assert "own" in sources(personal["items"]) and "own" not in sources(anybody["items"])
    bundle = tripod.find_bundles(k=2, shopper_id="grace")["bundles"][0]
    assert bundle == tripod.find_bundles(k=2, shopper_id="grace")["bundles"][0]
    assert tripod.find_bundles(k=2, history=[["film-9"]])["bundles"]
    with pytest.raises(ProblemError, match="either shopper_id or history"):
        tripod.recommend(shopper_id="grace", history=[["film-9"]])


def test_purchases_are_recorded_once_returned_and_cancelled(tripod: Tripod) -> None:
    bought = tripod.record_purchase(
        "order/1 ü", {"item_id": "film-2", "quantity": 3}, "tripod-2", shopper_id="alan"
    )
    assert (bought["status"], bought["has_shopper"]) == ("recorded", True)
    again = tripod.record_purchase(
        "order/1 ü", {"item_id": "film-2", "quantity": 3}, "tripod-2", shopper_id="alan"
    )
    assert again == bought
    with pytest.raises(ProblemError) as caught:
        tripod.record_purchase("order/1 ü", "film-2")
    assert caught.value.status == 409

    for _ in range(2):
        left = tripod.return_items("order/1 ü", "tripod-2", idempotency_key="back")
        assert left["items"] == [{"item_id": "film-2", "quantity": 3}]
    assert left["status"] == "partly_returned"
    eventually(lambda: len(known(tripod, "alan", 1)["items"]) == 1, "the returned item is still there")
    for _ in range(2):
        tripod.cancel_purchase("order/1 ü")
    with pytest.raises(ProblemError) as caught:
        tripod.cancel_purchase("never")
    assert caught.value.status == 404


def test_many_purchases_in_one_request(tripod: Tripod) -> None:
    purchases: list[NewPurchase] = [
        {"order_id": "m-1", "items": ["film-1"], "shopper_id": "many", "timestamp": 1_790_000_000},
        {"order_id": "m-2", "items": ["film-1", {"item_id": "film-2", "quantity": 0}]},
        {"order_id": "m-3", "items": ["film-1"], "shopper_id": "many", "timestamp": NOW},
    ]
    answer = tripod.record_purchases(iter(purchases))
    assert (answer["recorded"], answer["repeated"], answer["failed_count"]) == (2, 0, 1)
    assert answer["failed"][0]["line"] == 2
    assert answer["failed"][0]["errors"][0]["where"] == "items.1.quantity"
    assert tripod.record_purchases(purchases)["repeated"] == 2
    assert [len(basket["items"]) for basket in known(tripod, "many", 2)["baskets"]] == [1, 1]


def test_buy_again_and_forgetting(tripod: Tripod) -> None:
    for days in (30, 20, 10):
        tripod.record_purchase(
            f"b-{days}", "film-7", shopper_id="mary/1", timestamp=NOW - timedelta(days=days)
        )
    known(tripod, "mary/1", 3)
    (due,) = tripod.buy_again("mary/1", limit=5)["items"]
    assert (due["item_id"], due["times"]) == ("film-7", 3)
    assert due["usual_interval_days"] == pytest.approx(10, abs=0.01)
    assert tripod.forget_shopper("mary/1") == {"profile": True, "carts": 0, "purchases": 3, "files": "none"}
    with pytest.raises(ProblemError) as caught:
        tripod.get_shopper("mary/1")
    assert caught.value.type == "urn:tripod:problem:shopper-not-found"
    assert not tripod.forget_shopper("mary/1")["profile"]


def test_routes_of_shoppers_need_the_admin_key(personal_served: str) -> None:
    with Tripod(personal_served) as tripod:
        for call in (
            lambda: tripod.get_shopper("ada"),
            lambda: tripod.forget_shopper("ada"),
            lambda: tripod.record_purchase("x", "film-1"),
            lambda: tripod.record_purchases([]),
        ):
            with pytest.raises(ProblemError) as caught:
                call()
            assert caught.value.status == 401


def test_invalid_arguments_raise_before_anything_is_sent() -> None:
    with Tripod("http://127.0.0.1:1") as tripod:  # nothing listens there
        for history in ("film-1", ["film-1", "film-2"]):
            with pytest.raises(TypeError, match="history must be a list of baskets"):
                tripod.recommend(history=history)
            with pytest.raises(TypeError, match="history must be a list of baskets"):
                tripod.recommend_batch([{"items": [], "history": history}])
        with pytest.raises(TypeError, match="a cart is a list"):
            tripod.recommend_batch([{"shopper_id": "ada"}])
        with pytest.raises(TypeError, match="items must be a list of strings"):
            tripod.record_purchases([{"order_id": "x", "items": "film-1"}])
        with pytest.raises(ValueError, match="a purchase needs items"):
            tripod.record_purchases([{"order_id": "x"}])  # type: ignore[typeddict-item]
        with pytest.raises(ValueError, match="time zone"):
            tripod.record_purchase("x", "film-1", timestamp=datetime(2026, 1, 1))
        with pytest.raises(ValueError, match="cannot be an id"):
            tripod.forget_shopper("..")


def test_async_client_records_purchases(personal_served: str, admin_key: str) -> None:
    async def ask() -> int:
        async with AsyncTripod(personal_served, admin_key=admin_key) as client:
            await client.record_purchase("async-1", "film-1")
            return (await client.record_purchases([{"order_id": "async-1", "items": ["film-1"]}]))["repeated"]

    assert asyncio.run(ask()) == 1
