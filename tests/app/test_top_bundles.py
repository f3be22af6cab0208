"""The best bundles of a catalogue, in pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from app.bundles.schemas import TopBundlesQuery
from app.bundles.service import Bundles
from app.catalogue.categories import Categories
from app.catalogue.holder import SnapshotHolder
from app.catalogue.served_model import ServedModel
from model_store import ModelStore
from ndpp.sets import disjoint
from tests.app.app_process import Service, get_json, ids_of, problem
from tests.app.bundle_shop import held_by


@pytest.fixture
def shop(bundle_service: Service) -> httpx.Client:
    return bundle_service.client


def top(shop: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    bundles: list[dict[str, Any]] = get_json(shop, "/bundles/top", **query)["bundles"]
    return bundles


@pytest.mark.parametrize("k", [2, 3])
def test_top_bundles_are_those_of_the_version(shop: httpx.Client, bundle_store: Path, k: int) -> None:
    stored = ModelStore(bundle_store).open()
    assert stored.top_bundles is not None
    found, ids = top(shop, k=k, in_stock="false", limit=100), stored.items.ids
    assert [ids_of(bundle) for bundle in found] == [
        [ids[row] for row in bundle.rows] for bundle in disjoint(stored.top_bundles.of_size(k), 100)
    ]
    assert [bundle["rank"] for bundle in found] == list(range(1, len(found) + 1))
    for bundle in found:
        assert bundle["baskets"] == held_by(*ids_of(bundle)) > bundle["by_chance"]
        prices = [item["price"] for item in bundle["items"]]
        assert bundle["total_price"] == (None if None in prices else sum(prices))
    names = [name for bundle in found for name in ids_of(bundle)]
    assert len(names) == len(set(names))


def test_pages_of_top_bundles(shop: httpx.Client) -> None:
    pages: list[list[dict[str, Any]]] = []
    query: dict[str, Any] = {"limit": 4}
    while True:
        page = get_json(shop, "/bundles/top", **query)
        pages.append(page["bundles"])
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert [len(page) for page in pages] == [4, 4, 4, 2]
    assert [bundle for page in pages for bundle in page] == top(shop, limit=100)
    assert top(shop, cursor="999") == []


def test_top_bundles_with_sold_out_or_hidden_items_are_left_out(shop: httpx.Client) -> None:
    everything, in_stock = top(shop, in_stock="false"), top(shop)
    shown = [ids_of(bundle) for bundle in in_stock]
    missing = [ids_of(bundle) for bundle in everything if ids_of(bundle) not in shown]
    assert [set(ids) for ids in missing] == [{"camera-1", "tripod-1", "film-1"}]
    assert [bundle["rank"] for bundle in in_stock] == list(range(1, 15))
    shop.patch("/items/film-0", json={"boost": 0})
    assert [ids_of(bundle) for bundle in top(shop)] == [ids_of(bundle) for bundle in in_stock[1:]]
    shop.patch("/items/film-0", json={"boost": None, "price": 20})
    assert top(shop)[0]["total_price"] == 41
    shop.patch("/items/film-0", json={"price": None})
    assert top(shop) == in_stock


def test_next_best_bundle_replaces_one_with_a_hidden_item(shop: httpx.Client) -> None:
    assert set(ids_of(top(shop, k=2)[0])) == {"camera-0", "tripod-0"}
    shop.patch("/items/tripod-0", json={"boost": 0})
    assert {"camera-0", "film-0"} in [set(ids_of(bundle)) for bundle in top(shop, k=2)]
    shop.patch("/items/tripod-0", json={"boost": None})


def test_top_bundles_of_a_category(shop: httpx.Client) -> None:
    assert top(shop, category="Photo") == top(shop)
    assert top(shop, category="photo") == top(shop)
    answer = shop.get("/bundles/top", params={"category": "Foto"})
    assert answer.status_code == 422
    assert "did you mean 'Photo'?" in answer.json()["detail"]
    pairs = top(shop, k=2, category="Accessories", limit=100)
    assert all("Accessories" in {item["category"] for item in bundle["items"]} for bundle in pairs)


@pytest.mark.parametrize(
    "query",
    [{"cursor": "x"}, {"cursor": "-1"}, {"cursor": "٣"}, {"k": 1}, {"k": 5}, {"limit": 0}, {"size": 3}],
)
def test_invalid_requests_for_top_bundles(shop: httpx.Client, query: dict[str, Any]) -> None:
    answer = shop.get("/bundles/top", params=query)
    assert problem(answer) == (422, "invalid-request")
    assert answer.json()["errors"][0]["where"] == f"query.{next(iter(query))}"


def test_no_top_bundles_of_a_size_that_never_belongs_together(shop: httpx.Client) -> None:
    answer = get_json(shop, "/bundles/top", k=4)
    assert (answer["k"], answer["bundles"], answer["next_cursor"]) == (4, [], None)


def test_category_is_looked_up_once_for_all_bundles(
    bundle_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots, unused = SnapshotHolder(1 << 20), cast(Any, None)
    snapshots.use_model(ServedModel.of(ModelStore(bundle_store).open()))
    asked: list[str] = []
    look_up = Categories._codes_in

    def counted(self: Categories, category: str) -> list[int]:
        asked.append(category)
        return look_up(self, category)

    monkeypatch.setattr(Categories, "_codes_in", counted)
    query = TopBundlesQuery.model_validate({"k": 2, "category": "photo", "limit": 100})
    assert len(Bundles(unused, snapshots, unused).top(query).bundles) > 3
    assert len(asked) <= 2
