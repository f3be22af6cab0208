"""The client against a running service."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from tripod_client import (
    AsyncTripod,
    ConnectionFailed,
    ProblemError,
    Tripod,
    TripodError,
    answers,
    arguments,
    conditions,
)
from tripod_client.arguments import AnyCart

from tests.app.other_server import server_of

OPENAPI = json.loads((Path(__file__).parents[1] / "app" / "openapi.json").read_text())
SCHEMAS = OPENAPI["components"]["schemas"]


def test_cart_lifecycle(served: str) -> None:
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
        assert {item["item_id"] for item in answer["items"][:2]} == {"tripod-0", "film-0"}
        assert "camera-0" in {reason["item_id"] for reason in answer["items"][0]["because"]}
        assert sum(reason["share"] for reason in answer["items"][0]["because"]) == pytest.approx(1)
        stored, listed = tripod.cart_insights(cart), tripod.insights(items=["camera-0"])
        assert stored == tripod.insights(cart)
        assert stored == {**listed, "cart": {**listed["cart"], "cart_id": cart}}
        assert tripod.insights(items=["a,b"])["cart"]["unknown_items"] == ["a,b"]
        assert tripod.insights()["probability_complete"] == 0
        assert tripod.check_out(cart)["status"] == "checked_out"
        tripod.delete_cart(cart)
        with pytest.raises(TripodError) as caught:
            tripod.get_cart(cart)
    assert caught.value.status == 404
    assert caught.value.type == "urn:tripod:problem:cart-not-found"
    assert cart in str(caught.value)


def test_substitutes_of_carts_and_lists(served: str, admin_key: str) -> None:
    with Tripod(served, admin_key=admin_key) as tripod:
        tripod.add_items("repair", "camera-5", "film-5", "a,b")
        tripod.patch_item("camera-5", in_stock=False)
        stored = tripod.cart_substitutes("repair")
        (camera,) = stored["items"]
        (compact,) = camera["replacements"]
        assert (camera["in_stock"], compact["item_id"], compact["price_difference"]) == (
            False,
            "compact-5",
            2,
        )
        assert camera["shortage"] is not None
        assert camera["shortage"]["reason"] == "too_few_candidates"
        assert stored == tripod.substitutes("repair")
        listed = tripod.substitutes(items=["camera-5", "film-5", "a,b"])
        assert stored == {**listed, "cart": {**listed["cart"], "cart_id": "repair"}}
        tripod.patch_item("camera-5", in_stock=None)
        assert tripod.cart_substitutes("repair")["items"] == []
        for named in (
            tripod.cart_substitutes("repair", ["a,b", "camera-5"], k=1, exclude=["compact-5"]),
            tripod.substitutes("repair", replace=["a,b", "camera-5"], category=["Accessories"], max_price=99),
        ):
            assert [item["item_id"] for item in named["items"]] == ["a,b", "camera-5"]
            assert [item["replacements"] for item in named["items"]] == [[], []]
        with pytest.raises(TripodError, match="'film-9' is not in the cart"):
            tripod.substitutes(items=["camera-5"], replace=["film-9"])


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


def test_dials_knobs_and_scoring(served: str) -> None:
    with Tripod(served) as tripod:
        plain = tripod.recommend(items=["camera-0"], k=60)
        assert sum(item["probability"] or 0.0 for item in plain["items"]) == pytest.approx(1)
        kernel = tripod.recommend(items=["camera-0"], k=60, scoring="kernel")
        probabilities = [item["probability"] or 0.0 for item in kernel["items"]]
        assert sum(probabilities) == pytest.approx(1)
        dialled = tripod.recommend(items=["camera-0"], k=60, scoring="kernel", discovery=1)
        exact = tripod.recommend(items=["camera-0"], k=60, scoring="kernel", knobs={"popularity": 0.8})
        assert dialled["items"] == exact["items"] != kernel["items"]
        together = tripod.recommend(items=["camera-0", "film-0"], k=3, cohesion=0.5)
        assert len(together["items"]) == 3
        bundle = tripod.find_bundles(items=["camera-0"], k=2, discovery=-1, knobs={"decoupling": 0})
        assert len(bundle["bundles"][0]["items"]) == 2


def test_search_patch_and_models(served: str, admin_key: str) -> None:
    with Tripod(served, admin_key=admin_key) as tripod:
        page = tripod.search_items(q="tripod", limit=2)
        assert [item["item_id"] for item in page["items"]] == ["tripod-0", "tripod-1"]
        assert (
            tripod.search_items(q="tripod", cursor=page["next_cursor"])["items"][0]["item_id"] == "tripod-2"
        )
        assert tripod.related_items("camera-3", k=1)["items"][0]["item_id"] == "tripod-3"
        others = tripod.related_items("camera-3", exclude=["tripod-3"], category=["Accessories"], min_price=5)
        assert [item["item_id"] for item in others["items"]] == ["film-3"]
        assert tripod.patch_item("film-3", price=9.5, boost=None)["price"] == 9.5
        assert tripod.get_item("film-3")["price"] == 9.5
        version = tripod.active_model()["version"]
        assert tripod.list_models()["in_use"] == version == tripod.ready()["model_version"]
    with Tripod(served) as stranger, pytest.raises(TripodError, match="X-Admin-Key"):
        stranger.patch_item("film-3", price=1)


def test_job_start_read_and_cancel(served: str, admin_key: str) -> None:
    """No worker runs in this test, so the job stays queued."""
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


def test_idempotency_key_and_if_match_are_sent_as_headers(served: str) -> None:
    with Tripod(served) as tripod:
        first = tripod.create_cart(idempotency_key="once")
        assert tripod.create_cart(idempotency_key="once") == first
        with pytest.raises(TripodError) as caught:
            tripod.add_items(first["cart_id"], "camera-0", if_match='"another-state"')
    assert caught.value.status == 412


def test_changes_with_a_stale_etag_are_refused(served: str) -> None:
    with Tripod(served) as tripod:
        first = tripod.add_items("conditional", "camera-0")
        second = tripod.add_items("conditional", "film-0", if_match=first["etag"])
        assert second["etag"] != first["etag"] == first["etag"].strip('"')
        for change in (
            lambda: tripod.add_items("conditional", "film-1", if_match=first["etag"]),
            lambda: tripod.set_quantity("conditional", "film-0", 2, if_match=first["etag"]),
            lambda: tripod.remove_item("conditional", "film-0", if_match=first["etag"]),
            lambda: tripod.check_out("conditional", if_match=first["etag"]),
            lambda: tripod.delete_cart("conditional", if_match=first["etag"]),
        ):
            with pytest.raises(ProblemError) as caught:
                change()
            assert caught.value.status == 412
        assert tripod.get_cart("conditional") == second
        tripod.set_quantity("conditional", "film-0", 2, if_match=f'"{second["etag"]}"')
        tripod.delete_cart("conditional", if_match="*")


def test_idempotency_keys_of_add_items_and_check_out(served: str) -> None:
    with Tripod(served) as tripod:
        for _ in range(2):
            tripod.add_items("keyed", "camera-0", idempotency_key="1")
        assert tripod.get_cart("keyed")["items"] == [{"item_id": "camera-0", "quantity": 1}]
        bought = [tripod.check_out("keyed", idempotency_key="2")["purchase_id"] for _ in range(2)]
        assert bought[0] == bought[1]
        with pytest.raises(TypeError, match="idempotency_key"):
            tripod.delete_cart("keyed", idempotency_key="3")  # type: ignore[call-arg]


def test_batch_accepts_lists_items_and_cart_ids(served: str) -> None:
    with Tripod(served) as tripod:
        tripod.add_items("batched", "camera-2")
        carts: list[AnyCart] = [["camera-0"], {"items": ["camera-1"]}, {"cart_id": "batched"}, []]
        results = tripod.recommend_batch(carts, k=1)["results"]
        assert [result["cart"]["items"] for result in results] == [
            ["camera-0"],
            ["camera-1"],
            ["camera-2"],
            [],
        ]
        for wrong in ("camera-0", {"item": ["camera-0"]}, {"items": [], "cart_id": "batched"}, {}, 3):
            with pytest.raises(TypeError, match="a cart is a list of item ids"):
                tripod.recommend_batch([wrong])  # type: ignore[list-item]


@pytest.mark.parametrize("dots", [".", "..", ""])
def test_ids_that_would_change_the_url_are_refused(served: str, dots: str) -> None:
    with Tripod(served) as tripod:
        tripod.set_quantity("safe", "camera-0", 1)
        for call in (
            lambda: tripod.remove_item("safe", dots),
            lambda: tripod.set_quantity("safe", dots, 1),
            lambda: tripod.get_cart(dots),
            lambda: tripod.get_item(dots),
        ):
            with pytest.raises(ValueError, match="cannot be an id"):
                call()
        assert tripod.get_cart("safe")["items"] == [{"item_id": "camera-0", "quantity": 1}]


def test_refused_connection_raises_connection_failed() -> None:
    with socket.socket() as taken:  # bound, but not listening
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with Tripod(url) as tripod, pytest.raises(ConnectionFailed, match=url) as caught:
            tripod.ready()
        assert isinstance(caught.value, TripodError)
        assert caught.value.status is None

        async def ask() -> None:
            async with AsyncTripod(url) as tripod:
                await tripod.ready()

        with pytest.raises(ConnectionFailed):
            asyncio.run(ask())


def test_timeout_raises_connection_failed() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Tripod(url, timeout=0.2) as tripod, pytest.raises(ConnectionFailed):
            tripod.alive()


def test_error_page_of_a_proxy_with_a_date_in_retry_after() -> None:
    date = "Fri, 31 Dec 2027 23:59:59 GMT"
    with (
        server_of(b"<p>busy</p>", status=503, Retry_After=date) as url,
        Tripod(url) as tripod,
        pytest.raises(ProblemError) as caught,
    ):
        tripod.get_cart("busy")
    assert (caught.value.status, caught.value.retry_after) == (503, None)
    assert caught.value.detail == "<p>busy</p>"


def test_follow_job_yields_states_until_the_end(served: str, admin_key: str) -> None:
    with Tripod(served, admin_key=admin_key) as tripod:
        job = tripod.start_job(data="baskets.txt")["job_id"]
        states = []
        for state in tripod.follow_job(job):
            states.append(state["state"])
            if len(states) == 1:
                tripod.cancel_job(job)
        assert states == ["queued", "cancelled"]

        async def follow() -> list[str]:
            async with AsyncTripod(served, admin_key=admin_key) as tripod:
                return [state["state"] async for state in tripod.follow_job(job)]

        assert asyncio.run(follow())[-1] == "cancelled"
        with pytest.raises(ProblemError) as caught:
            next(tripod.follow_job("no-such-job"))
    assert caught.value.status == 404


def test_health_and_metrics(served: str) -> None:
    with Tripod(served) as tripod:
        assert tripod.alive() == {"status": "alive"}
        assert "tripod_request_seconds" in tripod.metrics()


def test_ids_with_any_characters(served: str) -> None:
    with Tripod(served) as tripod:
        for item_id in ("a/b c?d", "x/related", "100%", "a%2Fb", "ü", "a,b"):
            tripod.add_items("odd", item_id)
            assert tripod.remove_item("odd", item_id)["items"] == []


def test_async_client_gives_the_same_answers(served: str) -> None:
    async def ask() -> tuple[answers.Recommendations, TripodError]:
        async with AsyncTripod(served) as tripod:
            with pytest.raises(TripodError) as caught:
                await tripod.get_item("nothing")
            return await tripod.recommend(items=["camera-0"], k=3), caught.value

    awaited, error = asyncio.run(ask())
    with Tripod(served) as tripod:
        assert tripod.recommend(items=["camera-0"], k=3)["items"] == awaited["items"]
    assert error.type == "urn:tripod:problem:item-not-found"


def test_answer_types_match_the_schemas_of_the_api() -> None:
    types = {name: kind for name, kind in vars(answers).items() if inspect.isclass(kind)}
    assert sorted(types) == sorted(answers.__all__)
    assert len(types) > 20
    for name, kind in types.items():
        assert set(get_type_hints(kind)) == members(name), name


def test_argument_types_match_the_schemas_of_the_api() -> None:
    assert set(get_type_hints(arguments.FitOptions)) == members("FitOptions")
    assert set(get_type_hints(arguments.Boosts)) == members("Boosts")
    assert set(get_type_hints(arguments.KnobValues)) == members("KnobValues")
    assert set(get_type_hints(arguments.JobRequest)) == members("JobRequest")
    assert set(get_type_hints(arguments.ItemWrite)) == members("ItemWrite")
    assert set(get_type_hints(arguments.ItemPatch)) == members("ItemPatch")
    assert set(get_type_hints(arguments.ItemChange)) == members("ItemPatch") | {"item_id"}
    assert set(get_type_hints(arguments.RuleBody)) == members("RuleBody")
    assert set(get_type_hints(arguments.When)) == members("When-Input")
    for then, names in (
        (arguments.Pin, ["Pin"]),
        (arguments.BoostOrBury, ["Boost-Input", "Bury-Input"]),
        (arguments.Hide, ["Hide-Input"]),
        (arguments.AtMost, ["AtMost-Input"]),
    ):
        assert [set(get_type_hints(then))] * len(names) == [members(name) for name in names]
    for form in get_args(conditions.Condition):
        name = form.__name__ if form.__name__ in SCHEMAS else f"{form.__name__}-Input"
        assert set(get_type_hints(form)) == members(name), name
    cart = set(get_type_hints(arguments.CartName)) | set(get_type_hints(arguments.CartItems))
    assert cart == members("ShopperBasket")
    substitutes = {part["name"] for part in OPENAPI["paths"]["/substitutes"]["get"]["parameters"]}
    own = {"cart_id", "items", "replace", "k", "If-None-Match"}
    assert set(get_type_hints(arguments.InStockFilters)) | own == substitutes
    basket = {"cart_id", "items", "k", "shopper_id", "history"}
    assert set(get_type_hints(arguments.RecommendOptions)) | basket == members("RecommendRequest")
    assert set(get_type_hints(arguments.BundleOptions)) | basket == members("BundleRequest")


def members(schema: str) -> set[str]:
    return set(SCHEMAS[schema]["properties"])


@pytest.mark.parametrize("client", [Tripod, AsyncTripod])
def test_methods_match_the_operations_of_the_api(client: type) -> None:
    operations = {one["operationId"] for path in OPENAPI["paths"].values() for one in path.values()}
    methods = {name for name in dir(client) if not name.startswith("_")} - {"close"}
    assert methods == operations | {"record_purchase"}  # the same operation for one purchase
