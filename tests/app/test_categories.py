"""Categories of new items: one spelling, and no proposals of what is gone."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.app.app_process import ADMIN_KEY, Service, get_json
from tests.app.app_shop import publish


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service for this file, whose tests change the catalogue."""
    store = tmp_path_factory.mktemp("categories") / "store"
    publish(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        running.client.headers["X-Admin-Key"] = ADMIN_KEY
        yield running.ready().client


def test_category_has_one_spelling(own: httpx.Client) -> None:
    """Upper and lower case are the same, at each level."""
    twin = {"name": "Roll", "price": 8.0}
    own.put("/items/one", json={**twin, "category": "Photo"})
    other = own.put("/items/two", json={**twin, "category": "pHOTO"}).json()
    assert other["category"] == "Photo"
    own.put("/items/three", json={**twin, "category": "PHOTO > Rolls"})
    own.put("/items/four", json={**twin, "category": "photo > rolls"})
    names = [entry["category"] for entry in get_json(own, "/categories")["categories"]]
    assert names == ["Photo", "Accessories", "Photo > Rolls"]
    found = {item["item_id"]: item for item in get_json(own, "/recommend", items="camera-3", k=100)["items"]}
    assert found["one"]["probability"] == pytest.approx(found["two"]["probability"])
    assert found["three"]["probability"] == pytest.approx(found["four"]["probability"])


def test_category_without_items_is_not_proposed(own: httpx.Client) -> None:
    own.put("/items/one", json={"name": "Roll", "category": "Fotos"})
    refused = own.get("/recommend", params={"category": "Foto"})
    assert "'Fotos'" in refused.text
    own.delete("/items/one")
    refused = own.get("/recommend", params={"category": "Foto"})
    assert refused.status_code == 422
    assert "'Fotos'" not in refused.text
