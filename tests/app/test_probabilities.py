"""Probabilities, boosts, dials, parameters and reasons of recommendations, compared with plain arithmetic."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from app.catalogue.changing import snapshot_of
from app.catalogue.served_model import ServedModel
from app.recommend.question import KnownCart, Question
from app.recommend.request import RecommendRequest
from app.recommend.service import answer_one
from model_store import Knobs, ModelStore
from ndpp import NextItem, condition
from tests.app.app_process import get_json, ids_of
from tests.app.app_shop import (
    GROUPS,
    MIXTURE,
    draft,
    item_ids,
    planted_baskets,
    planted_kernel,
    planted_relevance,
)

SOLD_OUT = 5


def recommend(shop: httpx.Client, **query: Any) -> dict[str, Any]:
    return get_json(shop, "/recommend", **query)


def dense_gains(cart: list[int]) -> np.ndarray:
    """det(L_{Y+i}) / det(L_Y) of every item, by dense determinants."""
    kernel = planted_kernel()
    F = kernel.factors.astype(np.float64)
    L = F @ kernel.core @ F.T + np.diag(kernel.diagonal)
    gains = np.zeros(len(L))
    for row in set(range(len(L))) - set(cart):
        both = [*cart, row]
        gains[row] = max(np.linalg.det(L[np.ix_(both, both)]) / np.linalg.det(L[np.ix_(cart, cart)]), 0)
    return gains


def default_factors() -> np.ndarray:
    factors = np.ones(4 * GROUPS)
    factors[SOLD_OUT] = 0
    return factors


def model() -> NextItem:
    return NextItem(planted_kernel(), MIXTURE, planted_relevance(), planted_baskets())


def assert_ranked(answer: dict[str, Any], scores: np.ndarray, probabilities: np.ndarray) -> None:
    """The response has all items with a positive score, ordered by it, and these probabilities."""
    names = item_ids()
    order = sorted(np.flatnonzero(scores > 0), key=lambda row: (-scores[row], row))
    assert ids_of(answer) == [names[row] for row in order]
    shown = [item["probability"] for item in answer["items"]]
    assert shown == pytest.approx(probabilities[order], rel=1e-4)
    assert [item["rank"] for item in answer["items"]] == list(range(1, len(order) + 1))


@pytest.mark.parametrize("cart", [[], [0], [0, 4, 9, 11, 2]])
def test_kernel_scoring_equals_exact_conditioning(shop: httpx.Client, cart: list[int]) -> None:
    names = item_ids()
    items = ",".join(names[row] for row in cart)
    answer = recommend(shop, items=items, k=100, scoring="kernel")
    gains = dense_gains(cart) * default_factors()
    assert_ranked(answer, gains, gains / gains.sum())
    assert all(item["times_usual"] is None for item in answer["items"])
    assert ids_of(answer)[:10] == ids_of(recommend(shop, items=items, k=10, scoring="kernel"))


@pytest.mark.parametrize("cart", [[], [0], [0, 4, 9, 11, 2]])
def test_probabilities_equal_those_of_the_mixture(shop: httpx.Client, cart: list[int]) -> None:
    names, expected = item_ids(), model().given(cart).probabilities
    answer = recommend(shop, items=",".join(names[row] for row in cart), k=100)
    weighted = expected * default_factors()
    assert_ranked(answer, weighted, weighted / weighted.sum())
    assert sum(item["probability"] for item in answer["items"]) == pytest.approx(1)
    usual = model().given([]).probabilities
    for item in answer["items"]:
        row = names.index(item["item_id"])
        assert item["times_usual"] == pytest.approx(expected[row] / usual[row], rel=1e-4)


def test_filters_exclude_items_and_boosts_multiply_the_odds(shop: httpx.Client) -> None:
    names, cart = item_ids(), [0, 8]
    factors = default_factors()
    factors[[row for row in range(len(names)) if row % 2 == 0]] *= 3  # Photo
    factors[1] *= 7
    factors[[12, 13]] = 0
    prices = 10.0 + np.arange(len(names))
    prices[7] = np.nan
    factors *= (prices >= 11) & (prices <= 60)
    request = {
        "items": [names[row] for row in cart],
        "k": 100,
        "exclude": [names[12], names[13], "unknown-1"],
        "min_price": 11,
        "max_price": 60,
        "boosts": {"items": {names[1]: 7, "unknown-1": 2}, "categories": {"Photo": 3}},
    }
    weighted = model().given(cart).probabilities * factors
    assert_ranked(shop.post("/recommend", json=request).json(), weighted, weighted / weighted.sum())


def test_boost_of_two_doubles_the_odds_and_a_large_boost_ranks_first(shop: httpx.Client) -> None:
    request: dict[str, Any] = {"items": ["camera-3"], "k": 100}
    plain = shop.post("/recommend", json=request).json()["items"]
    last = plain[-1]
    odds = last["probability"] / (1 - last["probability"])
    doubled = shop.post("/recommend", json={**request, "boosts": {"items": {last["item_id"]: 2}}}).json()
    (found,) = (item for item in doubled["items"] if item["item_id"] == last["item_id"])
    assert found["probability"] / (1 - found["probability"]) == pytest.approx(2 * odds)
    assert found["times_usual"] == pytest.approx(last["times_usual"])
    top = shop.post("/recommend", json={**request, "boosts": {"items": {last["item_id"]: 1000}}}).json()
    assert ids_of(top)[0] == last["item_id"]
    shop.patch(f"/items/{last['item_id']}", json={"boost": 1000})
    kept = shop.post("/recommend", json=request).json()
    shop.patch(f"/items/{last['item_id']}", json={"boost": None})
    assert kept["items"] == top["items"]


@pytest.mark.parametrize("discovery", [-1, -0.5, 0.5, 1])
def test_discovery_changes_the_order_by_popularity_but_not_the_probabilities(
    shop: httpx.Client, discovery: float
) -> None:
    expected, usual = (model().given(rows).probabilities for rows in ([0, 8], []))
    weighted = expected * default_factors()
    answer = recommend(shop, items="camera-0,camera-2", k=100, discovery=discovery)
    assert_ranked(answer, weighted * usual ** (-0.8 * discovery), weighted / weighted.sum())
    exact = {"items": ["camera-0", "camera-2"], "k": 100, "knobs": {"popularity": 0.8 * discovery}}
    assert shop.post("/recommend", json=exact).json()["items"] == answer["items"]


@pytest.mark.parametrize(("cohesion", "omega"), [(-1, 1.0), (-0.5, 0.7), (0.5, 0.2), (1, 0.0)])
def test_cohesion_changes_the_decoupling_used_for_the_order(
    shop: httpx.Client, cohesion: float, omega: float
) -> None:
    weighted, moved = (
        replace(model(), mixture=mixture).given([0, 2]).probabilities * default_factors()
        for mixture in (MIXTURE, replace(MIXTURE, decoupling=omega))
    )
    answer = recommend(shop, items="camera-0,compact-0", k=100, cohesion=cohesion)
    assert_ranked(answer, moved, weighted / weighted.sum())
    exact = {"items": ["camera-0", "compact-0"], "k": 100, "knobs": {"decoupling": omega}}
    assert ids_of(shop.post("/recommend", json=exact).json()) == ids_of(answer)


def test_relevance_parameter_sets_the_exponent_used_for_the_order(shop: httpx.Client) -> None:
    together = replace(MIXTURE.together, relevance=(4.0, 0.0))
    strong = replace(model(), mixture=replace(MIXTURE, together=together))
    weighted, moved = (each.given([0]).probabilities * default_factors() for each in (model(), strong))
    answer = shop.post("/recommend", json={"items": ["camera-0"], "k": 100, "knobs": {"relevance": 4}}).json()
    assert_ranked(answer, moved, weighted / weighted.sum())


def test_complements_are_recommended_and_explained(shop: httpx.Client) -> None:
    answer = recommend(shop, items="camera-3,film-9", k=100, explain=True)
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
    empty = recommend(shop, k=3, explain=True)["items"][0]["because"]
    (only,) = empty
    assert (only["source"], only["item_id"], only["share"]) == ("habit", None, pytest.approx(1))
    assert (only["times_bought"], only["last_bought_days"]) == (None, None)
    assert items["tripod-3"]["rank"] < ids_of(recommend(shop, k=100)).index("tripod-3")
    assert all(item["because"] == [] for item in recommend(shop, items="camera-3")["items"])


def test_model_of_release_0_1_ranks_by_its_parameters_without_probabilities(tmp_path: Path) -> None:
    """A model of release 0.1 has the parameters ω, β and γ, but no mixture and no later parts."""
    knobs = Knobs(decoupling=0.5, relevance=2.0, popularity=0.3)
    old = replace(draft(knobs), mixture=None, baskets=None, lifts=None, basket_sizes=None, coherence=None)
    store = ModelStore(tmp_path)
    snapshot = snapshot_of(ServedModel.of(store.open(store.publish(old))), {})
    options = RecommendRequest(k=100, explain=True)
    answer = answer_one(
        Question(snapshot, KnownCart.of(snapshot, (None, ["camera-0", "film-2"]), 50), options)
    )
    kernel, relevance = planted_kernel(), planted_relevance()
    r = np.full(kernel.size, relevance.floor)
    rows, values = relevance.above_floor([0, 11])
    r[rows] = values
    scores = condition(kernel, [0, 11], decoupling=0.5).gains() * r**2 * kernel.weights**-0.3
    scores[SOLD_OUT] = 0
    order = sorted(np.flatnonzero(scores > 0), key=lambda row: (-scores[row], row))
    assert [item.item_id for item in answer.items] == [item_ids()[row] for row in order]
    assert {(item.probability, item.times_usual, item.relation) for item in answer.items} == {
        (None, None, "neutral")
    }
    assert all(item.because == [] for item in answer.items)


def test_item_made_less_likely_by_the_cart_is_not_explained_by_it(shop: httpx.Client) -> None:
    for item in recommend(shop, items="camera-3", k=100, explain=True)["items"]:
        by_cart = sum(reason["share"] for reason in item["because"] if reason["source"] == "cart_item")
        if item["times_usual"] < 0.9:
            assert by_cart < 0.3


def test_discovery_keeps_the_order_for_an_empty_cart(shop: httpx.Client) -> None:
    usual = ids_of(recommend(shop, k=5))
    for discovery in (0.5, 1):
        assert ids_of(recommend(shop, k=5, discovery=discovery)) == usual
