"""Typed example of a program that uses the client; checked by mypy in strict mode and run by a test."""

from __future__ import annotations

from typing import assert_type

from tripod_client import AsyncTripod, Tripod
from tripod_client.answers import (
    BatchAnswer,
    BundlesAnswer,
    CartAnswer,
    ChangesAnswer,
    ForgottenAnswer,
    ImportAnswer,
    ItemAnswer,
    ItemsAnswer,
    Job,
    PreviewAnswer,
    PurchaseAnswer,
    Recommendations,
    RuleAnswer,
    SubstitutesAnswer,
    TopBundlesAnswer,
)
from tripod_client.arguments import NewPurchase, RuleBody
from tripod_client.conditions import Condition


def fill_a_cart(tripod: Tripod, cart_id: str) -> CartAnswer:
    cart = tripod.add_items(cart_id, "camera-0", {"item_id": "film-0"}, {"item_id": "film-1", "quantity": 2})
    assert_type(cart, CartAnswer)
    assert_type(tripod.recommend(cart_id, k=3, exclude=["film-2"], discovery=0.5), Recommendations)
    assert_type(tripod.recommend(cart_id, knobs={"decoupling": 0.5}, scoring="mixture"), Recommendations)
    assert_type(tripod.cart_substitutes(cart_id, ["camera-0"], max_price=20), SubstitutesAnswer)
    assert_type(tripod.find_bundles(cart_id, k=2, alternatives=2, skip=1), BundlesAnswer)
    assert_type(tripod.recommend(items=["film-0"], history=[["film-1"], ["film-1"]]), Recommendations)
    assert_type(tripod.recommend_batch([{"items": [], "shopper_id": "ada"}, ["film-1"]]), BatchAnswer)
    assert_type(tripod.top_bundles(k=3, category="Photo", limit=2), TopBundlesAnswer)
    return tripod.set_quantity(cart_id, "film-0", 3, if_match=cart["etag"])


def shop_history(tripod: Tripod, shopper_id: str) -> ForgottenAnswer:
    bought = tripod.record_purchase("typed-1", "film-0", shopper_id=shopper_id, timestamp=1_790_000_000)
    assert_type(bought, PurchaseAnswer)
    many: list[NewPurchase] = [{"order_id": "typed-2", "items": ["film-0", {"item_id": "film-1"}]}]
    assert_type(tripod.record_purchases(many), ImportAnswer)
    assert_type(tripod.return_items("typed-1", "film-0"), PurchaseAnswer)
    return tripod.forget_shopper(shopper_id)


def change_the_catalogue(tripod: Tripod) -> ItemAnswer:
    cheap: Condition = {"all": [{"field": "price", "lt": 20}, {"not": {"field": "vegan", "is": True}}]}
    assert_type(tripod.recommend(filter=cheap, variants=True), Recommendations)
    assert_type(tripod.search_items("film", filter={"field": "price", "ge": 1, "lt": 9}), ItemsAnswer)
    assert_type(tripod.patch_items(tripod.export_items()), ChangesAnswer)
    assert_type(tripod.patch_items([{"item_id": "film-0", "in_stock": None}]), ChangesAnswer)
    pin: RuleBody = {"name": "Film", "then": {"action": "pin", "item_id": "film-0"}}
    assert_type(tripod.preview_rules(items=["film-1"], draft=pin), PreviewAnswer)
    assert_type(tripod.put_rule("typed", **pin), RuleAnswer)
    tripod.delete_rule("typed")
    return tripod.put_item("typed", name="Typed", attributes={"vegan": True, "sizes": ["S", "M"]})


def states(tripod: Tripod, job_id: str) -> list[str]:
    seen: list[str] = []
    for job in tripod.follow_job(job_id):
        assert_type(job, Job)
        seen.append(job["state"])
    return seen


async def awaited_states(tripod: AsyncTripod, job_id: str) -> list[str]:
    assert_type(await tripod.get_job(job_id), Job)
    return [job["state"] async for job in tripod.follow_job(job_id)]
