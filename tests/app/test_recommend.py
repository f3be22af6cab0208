from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from app_process import Service
from app_shop import (
    GROUPS,
    MIXTURE,
    draft,
    item_ids,
    planted_baskets,
    planted_kernel,
    planted_relevance,
    publish,
)
from pydantic import TypeAdapter

from app.baskets import known_cart
from app.items.catalogue import Catalogue
from app.models.loaded import LoadedModel
from app.recommend.answering import Question, answer_one
from app.recommend.schemas import BatchAnswer, Recommendations, RecommendRequest
from model_store import Knobs, ModelStore
from ndpp import Kernel, NextItem, condition

SOLD_OUT = 5


def ask(shop: httpx.Client, **query: Any) -> dict[str, Any]:
    answer = shop.get("/recommend", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["item_id"] for item in answer["items"]]


def dense_gains(cart: list[int]) -> np.ndarray:
    """det(L_{Y+i}) / det(L_Y) of every item by plain determinants."""
    kernel = planted_kernel()
    F = kernel.factors.astype(np.float64)
    L = F @ kernel.core @ F.T + np.diag(kernel.diagonal)
    gains = np.zeros(len(L))
    for row in set(range(len(L))) - set(cart):
        both = [*cart, row]
        gains[row] = max(np.linalg.det(L[np.ix_(both, both)]) / np.linalg.det(L[np.ix_(cart, cart)]), 0)
    return gains


def usual_factors() -> np.ndarray:
    factors = np.ones(4 * GROUPS)
    factors[SOLD_OUT] = 0
    return factors


def model() -> NextItem:
    return NextItem(planted_kernel(), MIXTURE, planted_relevance(), planted_baskets())


def assert_ranked(answer: dict[str, Any], marks: np.ndarray, probabilities: np.ndarray) -> None:
    """The items are in the order of `marks`, all that have one, and show these probabilities."""
    names = item_ids()
    order = sorted(np.flatnonzero(marks > 0), key=lambda row: (-marks[row], row))
    assert ids(answer) == [names[row] for row in order]
    shown = [item["probability"] for item in answer["items"]]
    assert shown == pytest.approx(probabilities[order], rel=1e-4)
    assert [item["rank"] for item in answer["items"]] == list(range(1, len(order) + 1))


@pytest.mark.parametrize("cart", [[], [0], [0, 4, 9, 11, 2]])
def test_scoring_by_the_kernel_is_exact_conditioning(shop: httpx.Client, cart: list[int]) -> None:
    names = item_ids()
    items = ",".join(names[row] for row in cart)
    answer = ask(shop, items=items, k=100, scoring="kernel")
    gains = dense_gains(cart) * usual_factors()
    assert_ranked(answer, gains, gains / gains.sum())
    assert all(item["times_usual"] is None for item in answer["items"])
    assert ids(answer)[:10] == ids(ask(shop, items=items, k=10, scoring="kernel"))


@pytest.mark.parametrize("cart", [[], [0], [0, 4, 9, 11, 2]])
def test_probabilities_are_those_of_the_mixture(shop: httpx.Client, cart: list[int]) -> None:
    names, expected = item_ids(), model().given(cart).probabilities
    answer = ask(shop, items=",".join(names[row] for row in cart), k=100)
    finished = expected * usual_factors()
    assert_ranked(answer, finished, finished / finished.sum())
    assert sum(item["probability"] for item in answer["items"]) == pytest.approx(1)
    usual = model().given([]).probabilities
    for item in answer["items"]:
        row = names.index(item["item_id"])
        assert item["times_usual"] == pytest.approx(expected[row] / usual[row], rel=1e-4)


def test_filters_leave_items_out_and_boosts_multiply_the_odds(shop: httpx.Client) -> None:
    names, cart = item_ids(), [0, 8]
    factors = usual_factors()
    factors[[row for row in range(len(names)) if row % 2 == 0]] *= 3  # Photo
    factors[1] *= 7
    factors[[12, 13]] = 0
    prices = 10.0 + np.arange(len(names))
    prices[7] = np.nan
    factors *= (prices >= 11) & (prices <= 60)
    request = {
        "items": [names[row] for row in cart],
        "k": 100,
        "exclude": [names[12], names[13], "unheard-of"],
        "min_price": 11,
        "max_price": 60,
        "boosts": {"items": {names[1]: 7, "unheard-of": 2}, "categories": {"Photo": 3, "Unheard": 9}},
    }
    finished = model().given(cart).probabilities * factors
    assert_ranked(shop.post("/recommend", json=request).json(), finished, finished / finished.sum())


def test_a_boost_of_two_doubles_the_odds_and_a_large_one_brings_to_the_top(shop: httpx.Client) -> None:
    request: dict[str, Any] = {"items": ["camera-3"], "k": 100}
    plain = shop.post("/recommend", json=request).json()["items"]
    last = plain[-1]
    odds = last["probability"] / (1 - last["probability"])
    doubled = shop.post("/recommend", json={**request, "boosts": {"items": {last["item_id"]: 2}}}).json()
    (found,) = (item for item in doubled["items"] if item["item_id"] == last["item_id"])
    assert found["probability"] / (1 - found["probability"]) == pytest.approx(2 * odds)
    assert found["times_usual"] == pytest.approx(last["times_usual"])
    top = shop.post("/recommend", json={**request, "boosts": {"items": {last["item_id"]: 1000}}}).json()
    assert ids(top)[0] == last["item_id"]
    shop.patch(f"/items/{last['item_id']}", json={"boost": 1000})
    kept = shop.post("/recommend", json=request).json()
    shop.patch(f"/items/{last['item_id']}", json={"boost": None})
    assert kept["items"] == top["items"]


@pytest.mark.parametrize("discovery", [-1, -0.5, 0.5, 1])
def test_the_dial_of_discovery_orders_by_popularity_and_keeps_the_probabilities(
    shop: httpx.Client, discovery: float
) -> None:
    expected, usual = (model().given(rows).probabilities for rows in ([0, 8], []))
    finished = expected * usual_factors()
    answer = ask(shop, items="camera-0,camera-2", k=100, discovery=discovery)
    assert_ranked(answer, finished * usual ** (-0.8 * discovery), finished / finished.sum())
    exact = {"items": ["camera-0", "camera-2"], "k": 100, "knobs": {"popularity": 0.8 * discovery}}
    assert shop.post("/recommend", json=exact).json()["items"] == answer["items"]


@pytest.mark.parametrize(("cohesion", "omega"), [(-1, 1.0), (-0.5, 0.7), (0.5, 0.2), (1, 0.0)])
def test_the_dial_of_cohesion_moves_the_decoupling_of_the_order(
    shop: httpx.Client, cohesion: float, omega: float
) -> None:
    finished, moved = (
        replace(model(), mixture=mixture).given([0, 2]).probabilities * usual_factors()
        for mixture in (MIXTURE, replace(MIXTURE, decoupling=omega))
    )
    answer = ask(shop, items="camera-0,compact-0", k=100, cohesion=cohesion)
    assert_ranked(answer, moved, finished / finished.sum())
    exact = {"items": ["camera-0", "compact-0"], "k": 100, "knobs": {"decoupling": omega}}
    assert ids(shop.post("/recommend", json=exact).json()) == ids(answer)


def test_the_knob_of_relevance_sets_its_exponent_in_the_order(shop: httpx.Client) -> None:
    together = replace(MIXTURE.together, relevance=(4.0, 0.0))
    strong = replace(model(), mixture=replace(MIXTURE, together=together))
    finished, moved = (each.given([0]).probabilities * usual_factors() for each in (model(), strong))
    answer = shop.post("/recommend", json={"items": ["camera-0"], "k": 100, "knobs": {"relevance": 4}}).json()
    assert_ranked(answer, moved, finished / finished.sum())


def test_complements_are_recommended_and_explained(shop: httpx.Client) -> None:
    answer = ask(shop, items="camera-3,film-9", k=100, explain=True)
    items = {item["item_id"]: item for item in answer["items"]}
    assert items["tripod-3"]["relation"] == "complement"
    assert items["compact-3"]["relation"] == "substitute"
    assert items["film-2"]["relation"] == "neutral"
    sources = {reason["item_id"] or reason["source"]: reason for reason in items["tripod-3"]["because"]}
    assert sources["camera-3"]["source"] == "cart_item"
    assert sources["camera-3"]["name"] == "Camera 3"
    assert sources["camera-3"]["share"] > 0.03
    assert sources["camera-3"]["share"] > 9 * sources.get("film-9", {"share": 0})["share"]
    assert sources["similar_baskets"]["item_id"] is None
    for item in answer["items"]:
        shares = [reason["share"] for reason in item["because"]]
        assert sum(shares) == pytest.approx(1)
        assert shares == sorted(shares, reverse=True)
        assert min(shares) > 0
        assert {reason["source"] for reason in item["because"]} <= {"cart_item", "similar_baskets", "habit"}
    empty = ask(shop, k=3, explain=True)["items"][0]["because"]
    assert empty == [{"source": "habit", "item_id": None, "name": None, "share": pytest.approx(1)}]
    assert items["tripod-3"]["rank"] < ids(ask(shop, k=100)).index("tripod-3")
    assert all(item["because"] == [] for item in ask(shop, items="camera-3")["items"])


def test_a_version_without_a_mixture_ranks_as_before_and_shows_no_probability(tmp_path: Path) -> None:
    """As release 0.1 wrote them: knobs, but none of the parts that came later."""
    knobs = Knobs(decoupling=0.5, relevance=2.0, popularity=0.3)
    old = replace(draft(knobs), mixture=None, baskets=None, lifts=None, basket_sizes=None, coherence=None)
    store = ModelStore(tmp_path)
    catalogue = Catalogue.of(LoadedModel.of(store.open(store.publish(old))), {})
    options = RecommendRequest(k=100, explain=True)
    answer = answer_one(Question(catalogue, known_cart(catalogue, None, ["camera-0", "film-2"], 50), options))
    kernel, relevance = planted_kernel(), planted_relevance()
    r = np.full(kernel.size, relevance.floor)
    rows, values = relevance.evidence([0, 11])
    r[rows] = values
    scores = condition(kernel, [0, 11], decoupling=0.5).gains() * r**2 * kernel.weights**-0.3
    scores[SOLD_OUT] = 0
    order = sorted(np.flatnonzero(scores > 0), key=lambda row: (-scores[row], row))
    assert [item.item_id for item in answer.items] == [item_ids()[row] for row in order]
    assert {(item.probability, item.times_usual, item.relation) for item in answer.items} == {
        (None, None, "neutral")
    }
    assert all(item.because == [] for item in answer.items)


def test_an_item_that_the_cart_makes_less_likely_is_not_explained_by_it(shop: httpx.Client) -> None:
    for item in ask(shop, items="camera-3", k=100, explain=True)["items"]:
        by_cart = sum(reason["share"] for reason in item["because"] if reason["source"] == "cart_item")
        if item["times_usual"] < 0.9:
            assert by_cart < 0.3
    for discovery in (0.5, 1):
        empty = ask(shop, k=5)
        assert ids(ask(shop, k=5, discovery=discovery)) == ids(empty)  # there is nothing to discover


def test_the_same_answer_by_cart_list_and_json(shop: httpx.Client) -> None:
    shop.post("/carts/three-ways/items", json={"items": [{"item_id": "camera-1"}, {"item_id": "film-1"}]})
    by_cart = ask(shop, cart_id="three-ways", k=7)
    by_list = ask(shop, items=["camera-1", "film-1"], k=7)
    by_json = shop.post("/recommend", json={"items": ["camera-1", "film-1"], "k": 7}).json()
    assert by_cart["items"] == by_list["items"] == by_json["items"]
    assert by_cart["cart"]["cart_id"] == "three-ways"
    assert by_cart["model_version"] == shop.get("/models/active").json()["version"]


def test_unknown_items_never_break_a_recommendation(shop: httpx.Client) -> None:
    answer = ask(shop, items="camera-2,strange,camera-2,odd")
    assert answer["cart"]["unknown_items"] == ["strange", "odd"]
    assert answer["cart"]["items"] == ["camera-2"]
    assert answer["items"] == ask(shop, items="camera-2")["items"]
    assert answer["fallback"] is None


def test_a_cart_of_unknown_items_is_answered_as_an_empty_one(shop: httpx.Client) -> None:
    empty = ask(shop, k=4)
    unknown = ask(shop, items="strange,odd", k=4)
    assert unknown["items"] == empty["items"]
    assert unknown["cart"]["unknown_items"] == ["strange", "odd"]
    assert empty["fallback"] is None
    assert unknown["fallback"]["reason"] == "only_unknown_items"
    assert unknown["fallback"]["filled"] == 0
    batch = shop.post("/recommend/batch", json={"carts": [{"items": ["strange", "odd"]}, {}], "k": 4}).json()
    first, second = batch["results"]
    assert ids(first) == ids(second) == ids(empty)
    assert (first["fallback"], second["fallback"]) == (unknown["fallback"], None)


def test_filters_that_leave_too_few(shop: httpx.Client) -> None:
    query = {"items": "camera-0", "k": 5, "category": "Photo", "max_price": 16}
    few = ask(shop, **query)
    assert set(ids(few)) == {"compact-0", "camera-1", "compact-1"}
    assert few["fallback"]["reason"] == "too_few_candidates"
    assert "3" in few["fallback"]["message"]
    assert ask(shop, category="Unheard")["items"] == []


def test_filling_up_keeps_every_filter_and_boost_of_zero(shop: httpx.Client) -> None:
    query = {"items": "camera-0", "k": 5, "category": "Photo", "max_price": 16}
    assert ids(ask(shop, **query, fill=True)) == ids(ask(shop, **query))
    hidden = {"items": {"film-0": 0}, "categories": {"Photo": 0}}
    shop.patch("/items/film-1", json={"boost": 0})
    answer = shop.post("/recommend", json={"k": 100, "fill": True, "boosts": hidden}).json()
    shop.patch("/items/film-1", json={"boost": None})
    assert {item["category"] for item in answer["items"]} == {"Accessories"}
    assert not {"film-0", "film-1", "tripod-1"} & set(ids(answer))  # tripod-1 is sold out


def test_popular_items_fill_up_what_the_model_cannot(tmp_path: Path) -> None:
    """A kernel of rank 4 without a diagonal: beside 4 items of the cart nothing has a gain."""
    V = np.random.default_rng(1).normal(size=(4 * GROUPS, 4)).astype(np.float32)
    shop = draft()
    kernel = Kernel.symmetric(V, np.zeros(4 * GROUPS))
    store = ModelStore(tmp_path)
    version = store.publish(replace(shop, kernel=kernel, kind="symmetric", mixture=None))
    catalogue = Catalogue.of(LoadedModel.of(store.open(version)), {})
    options = RecommendRequest(k=3, fill=True, category=["Accessories"], exclude=["film-1"])
    cart = known_cart(catalogue, None, ["camera-0", "tripod-0", "compact-0", "film-0"], window=50)
    answer = answer_one(Question(catalogue, cart, options))
    assert [item.item_id for item in answer.items] == ["tripod-2", "film-2", "tripod-3"]
    assert [item.probability for item in answer.items] == [None, None, None]
    assert answer.fallback is not None
    assert (answer.fallback.reason, answer.fallback.filled) == ("too_few_candidates", 3)


def test_items_of_the_cart_are_never_recommended(shop: httpx.Client) -> None:
    everything = item_ids()
    answer = shop.post("/recommend", json={"items": everything[:50], "k": 100, "in_stock": False}).json()
    assert set(ids(answer)) <= set(everything[50:])
    assert SOLD_OUT not in [everything.index(name) for name in ids(ask(shop, k=100))]
    assert everything[SOLD_OUT] in ids(ask(shop, k=100, in_stock=False))


def test_a_long_cart_counts_its_latest_items(start: Callable[..., Service], tmp_path: Path) -> None:
    publish(tmp_path / "store")
    shop = start(TRIPOD_CART_WINDOW="3").ready().client
    answer = ask(shop, items="camera-0,camera-1,camera-2,camera-3,camera-4", k=100)
    assert answer["cart"]["items"] == ["camera-2", "camera-3", "camera-4"]
    assert answer["cart"]["ignored_items"] == ["camera-0", "camera-1"]
    assert not {"camera-0", "camera-1"} & set(ids(answer))


def test_a_batch_answers_as_single_requests_do(shop: httpx.Client) -> None:
    shop.post("/carts/batched/items", json={"items": [{"item_id": "camera-1"}, {"item_id": "odd"}]})
    carts = [{"items": ["camera-0", "film-4"]}, {"cart_id": "batched"}, {}, {"items": ["odd"]}]
    options = {"k": 6, "cohesion": 0.5, "explain": True, "exclude": ["tripod-0"]}
    batch = shop.post("/recommend/batch", json={"carts": carts, **options}).json()
    singles = [shop.post("/recommend", json={**cart, **options}).json() for cart in carts]
    for together, alone in zip(batch["results"], singles, strict=True):
        for answer in (together, alone):
            answer.pop("took_ms")
        numbers = [
            [(item.pop("probability"), item.pop("times_usual")) for item in answer["items"]]
            for answer in (together, alone)
        ]
        shares = [
            [reason.pop("share") for item in answer["items"] for reason in item["because"]]
            for answer in (together, alone)
        ]
        assert together == alone
        assert np.allclose(*numbers, rtol=1e-5)
        assert np.allclose(*shares, rtol=1e-4, atol=1e-6)
    missing = shop.post("/recommend/batch", json={"carts": [{"cart_id": "batched"}, {"cart_id": "absent"}]})
    assert missing.status_code == 404
    assert "absent" in missing.json()["detail"]
    assert shop.post("/recommend/batch", json={"carts": [{}] * 257}).status_code == 422


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({"k": 0}, "query.k"),
        ({"k": 101}, "query.k"),
        ({"cohesion": 1.1}, "query.cohesion"),
        ({"discovery": "nan"}, "query.discovery"),
        ({"decoupling": 0.5}, "query.decoupling"),
        ({"scoring": "magic"}, "query.scoring"),
        ({"cart_id": "a", "items": "b"}, "either cart_id or items"),
        ({"min_price": 3, "max_price": 2}, "min_price must not be above max_price"),
        ({"kk": 3}, "query.kk"),
    ],
)
def test_nonsense_is_named(shop: httpx.Client, query: dict[str, Any], where: str) -> None:
    answer = shop.get("/recommend", params=query)
    assert answer.status_code == 422
    assert where in answer.json()["detail"]


def test_what_is_asked_again_is_answered_again_until_something_changes(service: Service) -> None:
    shop, again = service.client, "tripod_answers_reused_total"
    shop.post("/carts/asked-1/items", json={"items": [{"item_id": "camera-6"}, {"item_id": "odd"}]})
    shop.post("/carts/asked-2/items", json={"items": [{"item_id": "camera-6"}, {"item_id": "odd"}]})
    first, before = ask(shop, cart_id="asked-1", k=9), service.metric(again)
    second = ask(shop, cart_id="asked-2", k=9)
    assert service.metric(again) == before + 1
    assert second["items"] == first["items"]
    assert (first["cart"]["cart_id"], second["cart"]["cart_id"]) == ("asked-1", "asked-2")
    assert ask(shop, cart_id="asked-1", k=8)["items"] == first["items"][:8]
    shop.post("/carts/asked-1/items", json={"item_id": "tripod-6"})
    assert ask(shop, cart_id="asked-1", k=9)["items"] != first["items"]
    shop.patch(f"/items/{ids(second)[0]}", json={"in_stock": False})
    assert ids(ask(shop, cart_id="asked-2", k=9))[0] == ids(second)[1]
    shop.patch(f"/items/{ids(second)[0]}", json={"in_stock": None})
    assert ask(shop, cart_id="asked-2", k=9)["items"] == first["items"]


@pytest.mark.parametrize("fill", [True, False])
@pytest.mark.parametrize("cart", [["camera-0", "odd", "film-1"], ["odd"], []])
def test_answers_are_what_the_documentation_says(shop: httpx.Client, cart: list[str], fill: bool) -> None:
    options = {"k": 100, "explain": True, "fill": fill}
    answers: list[tuple[type, httpx.Response]] = [
        (Recommendations, shop.get("/recommend", params={"items": ",".join(cart), **options})),
        (Recommendations, shop.post("/recommend", json={"items": cart, **options})),
        (BatchAnswer, shop.post("/recommend/batch", json={"carts": [{"items": cart}] * 2, **options})),
    ]
    for kind, answer in answers:
        adapter = TypeAdapter[Any](kind)
        read = adapter.validate_json(answer.content, strict=True, extra="forbid")
        assert adapter.dump_json(read) == answer.content
        assert answer.headers["content-type"] == "application/json"


def test_a_cart_that_is_not_there(shop: httpx.Client) -> None:
    answer = shop.get("/recommend", params={"cart_id": "absent"})
    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:tripod:problem:cart-not-found"
