from __future__ import annotations

import asyncio
import inspect
import json
import re
from pathlib import Path
from typing import get_type_hints

import pytest
from tripod_client import AsyncTripod, Tripod, TripodError, answers, calls

OPENAPI = json.loads((Path(__file__).parents[1] / "app" / "openapi.json").read_text())


def test_a_cart_from_the_first_item_to_the_checkout(served: str) -> None:
    with Tripod(served) as tripod:
        cart = tripod.create_cart()["cart_id"]
        tripod.add_items(cart, "camera-0", {"item_id": "film-0", "quantity": 2})
        tripod.set_quantity(cart, "film-0", 3)
        assert tripod.get_cart(cart)["items"] == [
            {"item_id": "camera-0", "quantity": 1},
            {"item_id": "film-0", "quantity": 3},
        ]
        tripod.remove_item(cart, "film-0")
        answer = tripod.recommend(cart, k=3, explain=True)
        assert answer["items"][0]["item_id"] == "tripod-0"
        assert answer["items"][0]["because"][0]["item_id"] == "camera-0"
        assert tripod.cart_insights(cart)["cart"]["items"] == ["camera-0"]
        assert tripod.check_out(cart)["status"] == "checked_out"
        tripod.delete_cart(cart)
        with pytest.raises(TripodError) as caught:
            tripod.get_cart(cart)
    assert caught.value.status == 404
    assert caught.value.type == "urn:tripod:problem:cart-not-found"
    assert cart in str(caught.value)


def test_filters_boosts_batches_and_bundles(served: str) -> None:
    with Tripod(served) as tripod:
        boosted = tripod.recommend(items=["camera-0"], k=1, boosts={"items": {"film-9": 1000}})
        assert boosted["items"][0]["item_id"] == "film-9"
        only = tripod.recommend(items=["camera-0"], category=["Photo"], exclude=["compact-0"])
        assert {item["category"] for item in only["items"]} == {"Photo"}
        batch = tripod.recommend_batch([["camera-0"], ["camera-1"]], k=1)
        assert [result["cart"]["items"] for result in batch["results"]] == [["camera-0"], ["camera-1"]]
        bundle = tripod.find_bundles(items=["camera-0"], k=2, method="local_search")
        assert len(bundle["bundles"][0]["items"]) == 2


def test_items_and_models(served: str, admin_key: str) -> None:
    with Tripod(served, admin_key=admin_key) as tripod:
        page = tripod.search_items(q="tripod", limit=2)
        assert [item["item_id"] for item in page["items"]] == ["tripod-0", "tripod-1"]
        assert (
            tripod.search_items(q="tripod", cursor=page["next_cursor"])["items"][0]["item_id"] == "tripod-2"
        )
        assert tripod.related_items("camera-3", k=1)["items"][0]["item_id"] == "tripod-3"
        assert tripod.patch_item("film-3", price=9.5, boost=None)["price"] == 9.5
        assert tripod.get_item("film-3")["price"] == 9.5
        version = tripod.active_model()["version"]
        assert tripod.list_models()["in_use"] == version == tripod.ready()["model_version"]
    with Tripod(served) as stranger, pytest.raises(TripodError, match="X-Admin-Key"):
        stranger.patch_item("film-3", price=1)


def test_jobs_are_started_read_and_cancelled(served: str, admin_key: str) -> None:
    """No worker is alive here: the job waits."""
    with Tripod(served, admin_key=admin_key) as tripod:
        job = tripod.start_job(data="baskets.txt", activate="never", options={"steps": 25})
        assert job["request"]["options"]["steps"] == 25
        assert tripod.get_job(job["job_id"])["state"] == "queued"
        assert tripod.list_jobs()["worker_alive"] is False
        assert tripod.cancel_job(job["job_id"])["state"] == "cancelled"
        version = tripod.active_model()["version"]
        assert tripod.activate_model(version)["version"] == version
        with pytest.raises(TripodError) as caught:
            tripod.delete_model(version)
    assert caught.value.status == 409


def test_conditions_travel_as_headers(served: str) -> None:
    with Tripod(served) as tripod:
        first = tripod.create_cart(idempotency_key="once")
        assert tripod.create_cart(idempotency_key="once") == first
        with pytest.raises(TripodError) as caught:
            tripod.add_items(first["cart_id"], "camera-0", if_match='"another-state"')
    assert caught.value.status == 412


def test_ids_with_any_characters(served: str) -> None:
    with Tripod(served) as tripod:
        tripod.add_items("odd", "a/b c?d")
        assert tripod.remove_item("odd", "a/b c?d")["items"] == []


def test_async_answers_the_same(served: str) -> None:
    async def ask() -> tuple[answers.Recommendations, TripodError]:
        async with AsyncTripod(served) as tripod:
            with pytest.raises(TripodError) as caught:
                await tripod.get_item("nothing")
            return await tripod.recommend(items=["camera-0"], k=3), caught.value

    awaited, error = asyncio.run(ask())
    with Tripod(served) as tripod:
        assert tripod.recommend(items=["camera-0"], k=3)["items"] == awaited["items"]
    assert error.type == "urn:tripod:problem:item-not-found"


def test_answers_have_the_members_of_the_api() -> None:
    types = {name: kind for name, kind in vars(answers).items() if inspect.isclass(kind) and name != "Any"}
    types = {name: kind for name, kind in types.items() if kind.__module__ == answers.__name__}
    assert len(types) > 20
    for name, kind in types.items():
        assert set(get_type_hints(kind)) == members(name), name


def test_requests_have_the_members_of_the_api() -> None:
    assert set(get_type_hints(calls.FitOptions)) == members("FitOptions")
    assert set(get_type_hints(calls.JobRequest)) == members("JobRequest")
    assert set(get_type_hints(calls.ItemChange)) == members("ItemPatch")
    basket = {"cart_id", "items", "k"}
    assert set(get_type_hints(calls.RecommendOptions)) | basket == members("RecommendRequest")
    assert set(get_type_hints(calls.BundleOptions)) | basket == members("BundleRequest")


def members(schema: str) -> set[str]:
    return set(OPENAPI["components"]["schemas"][schema]["properties"])


def test_every_route_of_the_api_is_a_method() -> None:
    """By the name of the route's function, which its operation id begins with."""
    not_for_clients = {"alive", "metrics", "follow_job"}
    same_question = {"recommend_json": "recommend", "find_bundles_json": "find_bundles"}
    for path, methods in OPENAPI["paths"].items():
        for operation in methods.values():
            suffix = re.sub(r"\W", "_", path)
            name = operation["operationId"].rsplit(suffix, 1)[0]
            name = same_question.get(name, name)
            if name not in not_for_clients:
                assert hasattr(calls, name), name
                assert hasattr(Tripod, name), name
