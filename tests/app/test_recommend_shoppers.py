"""Recommendations and bundles for a shopper: by id, by the cart's shopper, by a history in the body."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from redis import Redis

from app.redis.embedded import find_running
from model_store import ModelStore
from ndpp import History, NextItem
from ndpp.next_item import BASKETS, OWN
from tests.app.app_process import Service, get_json, ids_of, problem
from tests.app.app_shop import item_ids, publish
from tests.app.bundle_shop import rows_of
from tests.app.shopper_shop import ADMIN, ADMIN_KEY, buy, publish_personal, wait_for_baskets

DAY = 86_400
# Days ago, and what was bought then.
ANNA: list[tuple[float, list[str]]] = [
    (40.0, ["film-9", "tripod-6"]),
    (12.0, ["film-9", "gone-1", "compact-3"]),
    (3.5, ["film-9"]),
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    store = tmp_path_factory.mktemp("personal") / "store"
    publish_personal(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        running.client.headers.update(ADMIN)
        running.ready()
        shopper = ModelStore(store).shopper_ids().hashed("anna")
        with Redis.from_url(find_running(store.parent / "valkey")) as redis:
            for number, (days, items) in enumerate(ANNA):
                fields = {
                    "shopper": shopper,
                    "order_id": f"anna-{number}",
                    "timestamp": round(1000 * (time.time() - days * DAY)),
                    "lines": json.dumps([[item, 1] for item in items]),
                }
                redis.xadd("tripod:purchases", fields)
        wait_for_baskets(running.client, "anna", len(ANNA))
        yield running


@pytest.fixture(scope="module")
def shop(service: Service) -> httpx.Client:
    return service.client


@pytest.fixture(scope="module")
def model(service: Service) -> NextItem:
    return ModelStore(service.log_path.parent / "store").open().next_item


def history() -> History:
    found = History.of(
        [rows_of([i for i in items if i != "gone-1"]) for _, items in ANNA], [d for d, _ in ANNA]
    )
    assert found is not None
    return found


def expected(model: NextItem, cart: list[str], past: History | None) -> dict[str, float]:
    """The probabilities of all items in stock."""
    found = model.given(rows_of(cart), past).probabilities
    found[item_ids().index("tripod-1")] = 0  # sold out
    found = found / found.sum()
    return {item: float(p) for item, p in zip(item_ids(), found, strict=True) if p > 0}


def probabilities(answer: dict[str, Any]) -> dict[str, float]:
    return {item["item_id"]: item["probability"] for item in answer["items"]}


@pytest.mark.parametrize("cart", [[], ["camera-3"], ["compact-3", "film-1"]], ids=str)
def test_shopper_id_changes_the_probabilities_as_the_model_says(
    shop: httpx.Client, model: NextItem, cart: list[str]
) -> None:
    answer = get_json(shop, "/recommend", items=",".join(cart), shopper_id="anna", k=100)
    # The ages move on with the clock.
    assert probabilities(answer) == pytest.approx(expected(model, cart, history()), rel=1e-3)
    plain = get_json(shop, "/recommend", items=",".join(cart), k=100)
    assert probabilities(plain) == pytest.approx(expected(model, cart, None), rel=1e-6)
    assert probabilities(answer)["film-9"] > 5 * probabilities(plain)["film-9"]


def test_empty_cart_of_a_known_shopper_gets_what_they_buy(shop: httpx.Client) -> None:
    first = ids_of(get_json(shop, "/recommend", shopper_id="anna", k=2))
    assert set(first) == {"compact-3", "film-9"}
    assert not set(first) & set(ids_of(get_json(shop, "/recommend", k=2)))


def test_unknown_shopper_gets_the_usual(shop: httpx.Client) -> None:
    plain = get_json(shop, "/recommend", items="camera-3")
    assert get_json(shop, "/recommend", items="camera-3", shopper_id="nobody")["items"] == plain["items"]


def test_shopper_of_the_cart_is_considered_and_the_request_beats_it(shop: httpx.Client) -> None:
    shop.post("/carts/annas/items", json={"item_id": "camera-3", "shopper_id": "anna"})
    answer = get_json(shop, "/recommend", cart_id="annas", k=100)
    named = get_json(shop, "/recommend", items="camera-3", shopper_id="anna", k=100)
    assert probabilities(answer) == pytest.approx(probabilities(named), rel=1e-4)
    both = get_json(shop, "/recommend", cart_id="annas", shopper_id="anna", k=100)
    assert probabilities(both) == pytest.approx(probabilities(named), rel=1e-4)
    other = get_json(shop, "/recommend", cart_id="annas", shopper_id="nobody", k=100)
    assert other["items"] == get_json(shop, "/recommend", items="camera-3", k=100)["items"]
    assert problem(shop.get("/recommend?cart_id=missing&shopper_id=anna")) == (404, "cart-not-found")


def test_history_in_the_body(shop: httpx.Client, model: NextItem) -> None:
    baskets = [["film-9", "film-9"], ["unknown"], ["film-9", "camera-0"]]
    body = {"items": ["camera-3"], "history": baskets, "k": 100, "explain": True}
    answer = shop.post("/recommend", json=body).json()
    own = model.mixture.own
    assert own is not None
    past = History.of(
        [rows_of(["film-9"]), rows_of(["film-9", "camera-0"])], [3 * own.gap_days, own.gap_days]
    )
    assert probabilities(answer) == pytest.approx(expected(model, ["camera-3"], past), rel=1e-6)
    film = next(item for item in answer["items"] if item["item_id"] == "film-9")
    reason = next(reason for reason in film["because"] if reason["source"] == "own")
    assert (reason["times_bought"], reason["last_bought_days"]) == (2, None)
    for nothing in ([], [[]], [["unknown"]]):
        plain = shop.post("/recommend", json={"items": ["camera-3"], "history": nothing}).json()
        assert plain["items"] == get_json(shop, "/recommend", items="camera-3")["items"]


def test_invalid_histories(shop: httpx.Client) -> None:
    for body, where in (
        ({"history": [["film-9"]], "shopper_id": "anna"}, "either shopper_id or history"),
        ({"history": [["a"]] * 101}, "body.history"),
        ({"history": [["a"] * 1001, ["a"] * 1000]}, "2,000 items"),
        ({"history": ["film-9"]}, "body.history.0"),
        ({"shopper_id": ""}, "body.shopper_id"),
        ({"shopper_id": "x" * 257}, "body.shopper_id"),
    ):
        for path in ("/recommend", "/bundles"):
            answer = shop.post(path, json=body)
            assert problem(answer) == (422, "invalid-request")
            assert where in answer.text
    answer = shop.get('/recommend?history=[["film-9"]]')
    assert problem(answer) == (422, "invalid-request")
    assert "JSON body of a POST" in answer.text
    assert problem(shop.get("/insights?shopper_id=anna")) == (422, "invalid-request")


def test_shares_of_reasons_add_up_and_name_own_purchases(shop: httpx.Client, model: NextItem) -> None:
    cart = ["camera-3", "film-1"]
    query = {"items": ",".join(cart), "k": 100, "explain": True}
    answer = get_json(shop, "/recommend", shopper_id="anna", **query)
    prediction = model.given(rows_of(cart), history())
    bought = {"film-9": (3, 3), "tripod-6": (1, 40), "compact-3": (1, 12)}
    for item in answer["items"]:
        reasons = {reason["item_id"] or reason["source"]: reason for reason in item["because"]}
        assert sum(reason["share"] for reason in item["because"]) == pytest.approx(1)
        assert min(reason["share"] for reason in item["because"]) > 0
        assert ("own" in reasons) == (item["item_id"] in bought)
        parts = prediction.expert_shares(np.array(rows_of([item["item_id"]])))[:, 0]
        if own := reasons.pop("own", None):
            assert (own["times_bought"], own["last_bought_days"]) == bought[item["item_id"]]
            assert own["share"] == pytest.approx(parts[OWN] / parts.sum(), rel=1e-3)
        similar = reasons.get("similar_baskets", {"share": 0.0})["share"]
        assert similar == pytest.approx(parts[BASKETS] / parts.sum(), rel=1e-3)
        for reason in reasons.values():
            assert (reason["times_bought"], reason["last_bought_days"]) == (None, None)
    plain = get_json(shop, "/recommend", **query)
    assert not any(reason["source"] == "own" for item in plain["items"] for reason in item["because"])


def test_filters_dials_and_kernel_scoring_work_with_a_shopper(shop: httpx.Client) -> None:
    query = {"items": "camera-3", "shopper_id": "anna", "k": 100}
    photo = get_json(shop, "/recommend", category="Photo", **query)
    assert {item["category"] for item in photo["items"]} == {"Photo"}
    assert sum(item["probability"] for item in photo["items"]) == pytest.approx(1)
    usual = probabilities(get_json(shop, "/recommend", **query))
    dialled = get_json(shop, "/recommend", cohesion=-1, discovery=0.5, **query)
    assert ids_of(dialled) != list(usual)
    assert probabilities(dialled) == pytest.approx(usual, rel=1e-4)
    kernel = get_json(shop, "/recommend", scoring="kernel", **query)
    plain = get_json(shop, "/recommend", scoring="kernel", items="camera-3", k=100)
    assert kernel["items"] == plain["items"]


def test_batch_takes_a_shopper_or_history_of_each_cart(shop: httpx.Client) -> None:
    shop.post("/carts/batch-anna/items", json={"item_id": "camera-3", "shopper_id": "anna"})
    shop.post("/carts/batch-guest/items", json={"item_id": "camera-3"})
    past = [["film-9"], ["film-9"]]
    carts: list[dict[str, Any]] = [
        {"items": ["camera-3"], "shopper_id": "anna"},
        {"cart_id": "batch-anna"},
        {"cart_id": "batch-guest", "shopper_id": "anna"},
        {"items": ["camera-3"], "history": past},
        {"cart_id": "batch-anna", "history": past},
        {"cart_id": "batch-guest"},
        {"items": ["camera-3"], "shopper_id": "nobody"},
    ]
    answer = shop.post("/recommend/batch", json={"carts": carts, "k": 100})
    assert answer.status_code == 200, answer.text
    results = [probabilities(result) for result in answer.json()["results"]]
    named = probabilities(get_json(shop, "/recommend", items="camera-3", shopper_id="anna", k=100))
    body = {"items": ["camera-3"], "history": past, "k": 100}
    given = probabilities(shop.post("/recommend", json=body).json())
    plain = probabilities(get_json(shop, "/recommend", items="camera-3", k=100))
    for found, wanted in zip(results, [named] * 3 + [given] * 2 + [plain] * 2, strict=True):
        assert found == pytest.approx(wanted, rel=1e-3)


def test_personal_answers_have_no_etag_and_are_not_cached(service: Service, shop: httpx.Client) -> None:
    for path in ("/recommend?items=camera-5", "/bundles?items=camera-5&k=2"):
        assert "etag" in shop.get(path).headers
        personal = shop.get(f"{path}&shopper_id=anna")
        assert "etag" not in personal.headers
        assert personal.headers["cache-control"] == "no-store"
        reused = service.metric("^tripod_answers_reused_total")
        shop.get(f"{path}&shopper_id=anna")
        assert service.metric("^tripod_answers_reused_total") == reused
        shop.get(path)
        assert service.metric("^tripod_answers_reused_total") == reused + 1


def test_shopper_costs_one_call_to_redis(service: Service, shop: httpx.Client) -> None:
    shop.post("/carts/counted/items", json={"item_id": "camera-3"})
    shop.post("/carts/counted-own/items", json={"item_id": "camera-3", "shopper_id": "anna"})

    def calls(query: str) -> int:
        """Commands that Redis has run for one request; GETEX is used by nothing else."""
        with Redis.from_url(find_running(service.log_path.parent / "valkey")) as redis:
            before = redis.info("commandstats")["cmdstat_getex"]["calls"]
            assert shop.get(f"/recommend?{query}").status_code == 200
            return int(redis.info("commandstats")["cmdstat_getex"]["calls"] - before)

    assert calls("cart_id=counted") == 1
    assert calls("cart_id=counted&shopper_id=anna") == 2
    assert calls("cart_id=counted-own") == 2
    assert calls("items=camera-3&shopper_id=anna") == 1


def test_bundles_prefer_what_the_shopper_buys(shop: httpx.Client) -> None:
    plain = get_json(shop, "/bundles", items="compact-3", k=2)["bundles"][0]
    baskets = [["tripod-12"], ["film-12"], ["film-12", "tripod-12"]] * 10
    answer = shop.post("/bundles", json={"items": ["compact-3"], "k": 2, "history": baskets}).json()
    (personal,) = answer["bundles"]
    assert set(ids_of(personal)) == {"film-12", "tripod-12"}
    assert not set(ids_of(plain)) & set(ids_of(personal))
    # The figures are those of all shoppers: the same bundle has the same ones without a history.
    fixed = {"items": ["compact-3"], "k": 2, "include": ids_of(personal)}
    all_shoppers = shop.post("/bundles", json=fixed).json()["bundles"][0]
    for name in ("baskets", "by_chance", "baskets_with_given"):
        assert personal[name] == all_shoppers[name]
    assert personal["probability"] <= plain["probability"]
    singles = {item["item_id"]: item["probability"] for item in all_shoppers["items"]}
    for item in personal["items"]:
        assert item["probability"] == pytest.approx(singles[item["item_id"]])


def test_bundles_for_the_shopper_of_a_cart_from_nothing_and_with_map(shop: httpx.Client) -> None:
    shop.post("/carts/bundle-anna/items", json={"item_id": "camera-9", "shopper_id": "anna"})
    body = {"k": 1, "history": [[f"film-{n}"] for n in range(9, 14)] + [["film-14"]] * 30}
    stored = get_json(shop, "/bundles", cart_id="bundle-anna", k=1)["bundles"][0]
    named = get_json(shop, "/bundles", cart_id="bundle-anna", shopper_id="anna", k=1)["bundles"][0]
    assert ids_of(stored) == ids_of(named) == ["film-9"]
    for objective in ("together", "map"):
        personal = shop.post("/bundles", json={**body, "objective": objective}).json()["bundles"][0]
        plain = get_json(shop, "/bundles", k=1, objective=objective)["bundles"][0]
        assert ids_of(personal) != ids_of(plain)
    nothing = shop.post("/bundles", json={"k": 3, "history": [["unknown"]]}).json()
    assert nothing["bundles"] == get_json(shop, "/bundles", k=3)["bundles"]


def test_model_without_the_expert_ignores_shoppers(tmp_path: Path) -> None:
    publish(tmp_path / "store")
    with Service(tmp_path / "store", TRIPOD_ADMIN_KEY=ADMIN_KEY) as service:
        shop = service.ready().client
        buy(shop, "anna", "film-9")
        wait_for_baskets(shop, "anna", 1)
        plain = get_json(shop, "/recommend", items="camera-3", explain=True)
        answer = get_json(shop, "/recommend", items="camera-3", explain=True, shopper_id="anna")
        assert answer["items"] == plain["items"]
        body = {"items": ["camera-3"], "explain": True, "history": [["film-9"]]}
        assert shop.post("/recommend", json=body).json()["items"] == plain["items"]
