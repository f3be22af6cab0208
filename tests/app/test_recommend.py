from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from app_process import Service
from app_shop import GROUPS, draft, item_ids, planted_kernel, planted_relevance, publish
from pydantic import TypeAdapter

from app.baskets import known_cart
from app.items.catalogue import Catalogue
from app.models.loaded import LoadedModel
from app.recommend.answering import Question, answer_one
from app.recommend.schemas import BatchAnswer, Recommendations, RecommendRequest
from model_store import ModelStore
from ndpp import Kernel

SOLD_OUT = 5


def ask(shop: httpx.Client, **query: Any) -> dict[str, Any]:
    answer = shop.get("/recommend", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["item_id"] for item in answer["items"]]


def dense_scores(cart: list[int], tilt: np.ndarray, decoupling: float = 0.0) -> np.ndarray:
    """τ² det(L_{Y+i}) / det(L_Y) of every item by plain determinants (ω by its definition)."""
    kernel = planted_kernel()
    F = kernel.factors.astype(np.float64)
    L = F @ kernel.core @ F.T + np.diag(kernel.diagonal)
    block = L[np.ix_(cart, cart)]
    block = (1 - decoupling) * block + decoupling * np.diag(np.diag(block))
    scores = np.zeros(len(L))
    for row in set(range(len(L))) - set(cart):
        bordered = np.block([[block, L[cart, row][:, None]], [L[row, cart][None], L[row, row]]])
        scores[row] = tilt[row] * max(np.linalg.det(bordered) / np.linalg.det(block), 0)
    return scores


def plain_tilt() -> np.ndarray:
    tilt = np.ones(4 * GROUPS)
    tilt[SOLD_OUT] = 0
    return tilt


@pytest.mark.parametrize("decoupling", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("cart", [[], [0], [0, 4, 9, 11, 2]])
def test_scores_and_probabilities_are_those_of_dense_determinants(
    shop: httpx.Client, cart: list[int], decoupling: float
) -> None:
    names = item_ids()
    items = ",".join(names[row] for row in cart)
    answer = ask(shop, items=items, k=100, decoupling=decoupling)
    expected = dense_scores(cart, plain_tilt(), decoupling)
    got = {item["item_id"]: item for item in answer["items"]}
    assert set(got) == {names[row] for row in np.flatnonzero(expected > 0)}
    for name, item in got.items():
        row = names.index(name)
        assert item["score"] == pytest.approx(expected[row], rel=1e-5)
        assert item["probability"] == pytest.approx(expected[row] / expected.sum(), rel=1e-5)
    assert sum(item["probability"] for item in answer["items"]) == pytest.approx(1)
    assert [item["rank"] for item in answer["items"]] == list(range(1, len(got) + 1))
    assert ids(answer)[:10] == ids(ask(shop, items=items, k=10, decoupling=decoupling))


def test_every_wish_of_a_request_becomes_one_tilt(shop: httpx.Client) -> None:
    names, cart = item_ids(), [0, 8]
    tilt = plain_tilt()
    kernel, relevance = planted_kernel(), planted_relevance()
    tilt *= kernel.weights**-0.5
    rows, evidence = relevance.evidence(cart)
    everyones = np.full(len(names), relevance.floor)
    everyones[rows] = evidence
    tilt *= everyones**1.5
    tilt[[row for row in range(len(names)) if row % 2 == 0]] *= 3  # Photo
    tilt[1] *= 7
    tilt[[12, 13]] = 0
    prices = 10.0 + np.arange(len(names))
    prices[7] = np.nan
    tilt *= (prices >= 11) & (prices <= 60)
    request = {
        "items": [names[row] for row in cart],
        "k": 100,
        "popularity": 0.5,
        "relevance": 1.5,
        "exclude": [names[12], names[13], "unheard-of"],
        "min_price": 11,
        "max_price": 60,
        "boosts": {"items": {names[1]: 7, "unheard-of": 2}, "categories": {"Photo": 3, "Unheard": 9}},
    }
    answer = shop.post("/recommend", json=request).json()
    expected = dense_scores(cart, tilt)
    order = sorted(np.flatnonzero(expected > 0), key=lambda row: (-expected[row], row))
    assert ids(answer) == [names[row] for row in order]
    shares = [item["probability"] for item in answer["items"]]
    assert shares == pytest.approx(expected[order] / expected.sum(), rel=1e-5)
    assert [item["score"] for item in answer["items"]] == pytest.approx(expected[order], rel=1e-5)


def test_complements_are_recommended_and_explained(shop: httpx.Client) -> None:
    answer = ask(shop, items="camera-3,film-9", k=100, explain=True)
    items = {item["item_id"]: item for item in answer["items"]}
    assert items["tripod-3"]["relation"] == "complement"
    assert items["compact-3"]["relation"] == "substitute"
    assert items["film-2"]["relation"] == "neutral"
    strongest = items["tripod-3"]["because"][0]
    assert strongest["item_id"] == "camera-3"
    assert strongest["name"] == "Camera 3"
    assert strongest["effect"] > 0.5
    assert items["compact-3"]["because"][0]["effect"] < -0.1
    assert items["tripod-3"]["rank"] < ask(shop, k=100)["items"].index(
        next(item for item in ask(shop, k=100)["items"] if item["item_id"] == "tripod-3")
    )
    assert all(item["because"] == [] for item in ask(shop, items="camera-3")["items"])


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
    version = store.publish(replace(shop, kernel=kernel, kind="symmetric"))
    catalogue = Catalogue.of(LoadedModel.of(store.open(version)), {})
    options = RecommendRequest(k=3, fill=True, category=["Accessories"], exclude=["film-1"])
    cart = known_cart(catalogue, None, ["camera-0", "tripod-0", "compact-0", "film-0"], window=50)
    answer = answer_one(Question(catalogue, cart, options))
    assert [item.item_id for item in answer.items] == ["tripod-2", "film-2", "tripod-3"]
    assert [item.probability for item in answer.items] == [0, 0, 0]
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
    options = {"k": 6, "decoupling": 0.5, "explain": True, "exclude": ["tripod-0"]}
    batch = shop.post("/recommend/batch", json={"carts": carts, **options}).json()
    singles = [shop.post("/recommend", json={**cart, **options}).json() for cart in carts]
    for together, alone in zip(batch["results"], singles, strict=True):
        for answer in (together, alone):
            answer.pop("took_ms")
        numbers = [
            [(item.pop("score"), item.pop("probability")) for item in answer["items"]]
            for answer in (together, alone)
        ]
        effects = [
            [reason.pop("effect") for item in answer["items"] for reason in item["because"]]
            for answer in (together, alone)
        ]
        assert together == alone
        assert np.allclose(*numbers, rtol=1e-9)
        assert np.allclose(*effects, rtol=1e-6, atol=1e-9)
    missing = shop.post("/recommend/batch", json={"carts": [{"cart_id": "batched"}, {"cart_id": "absent"}]})
    assert missing.status_code == 404
    assert "absent" in missing.json()["detail"]
    assert shop.post("/recommend/batch", json={"carts": [{}] * 257}).status_code == 422


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({"k": 0}, "query.k"),
        ({"k": 101}, "query.k"),
        ({"decoupling": 1.1}, "query.decoupling"),
        ({"relevance": -1}, "query.relevance"),
        ({"popularity": "nan"}, "query.popularity"),
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


def test_insights_look_into_a_cart(service: Service) -> None:
    shop = service.client
    coherent = {"items": [{"item_id": name} for name in ("camera-0", "tripod-0", "odd")]}
    shop.post("/carts/coherent/items", json=coherent)
    shop.post("/carts/torn/items", json={"items": [{"item_id": n} for n in ("camera-0", "compact-0")]})
    good, bad = (shop.get(f"/carts/{name}/insights").json() for name in ("coherent", "torn"))
    assert good["cart"]["unknown_items"] == ["odd"]
    assert (good["complements"][0]["first"], good["complements"][0]["second"]) == ("camera-0", "tripod-0")
    assert good["complements"][0]["lift_low"] > 1
    assert good["complements"][0]["together"] == 80
    assert good["substitutes"] == []
    assert bad["complements"] == []
    assert bad["substitutes"][0]["lift_high"] < 0.7
    assert good["coherence"]["percentile"] > bad["coherence"]["percentile"]
    kernel = planted_kernel()
    F = kernel.factors.astype(np.float64)
    L = F @ kernel.core @ F.T + np.diag(kernel.diagonal)
    likelihood = np.log(np.linalg.det(L[:2, :2])) - np.linalg.slogdet(L + np.eye(len(L)))[1]
    assert good["coherence"]["log_likelihood"] == pytest.approx(likelihood, rel=1e-5)
    rest = L[2:, 2:] - L[2:, :2] @ np.linalg.inv(L[:2, :2]) @ L[:2, 2:]
    assert good["probability_complete"] == pytest.approx(
        1 / np.linalg.det(np.eye(len(rest)) + rest), rel=1e-4
    )
    further = np.trace(rest @ np.linalg.inv(np.eye(len(rest)) + rest))
    assert good["expected_further_items"] == pytest.approx(further, rel=1e-4)
    shop.post("/carts/strange/items", json={"item_id": "odd"})
    assert shop.get("/carts/strange/insights").json()["coherence"] is None
    assert shop.get("/carts/absent/insights").status_code == 404
