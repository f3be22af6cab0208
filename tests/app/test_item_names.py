"""An item that only the shop knows is there because it has a name, so a change cannot take the name away."""

from __future__ import annotations

import httpx

from tests.app.app_process import problem


def test_name_of_an_item_unknown_to_the_model_cannot_be_removed(shop: httpx.Client) -> None:
    shop.put("/items/oat", json={"name": "Oat drink", "price": 2}).raise_for_status()
    refused = shop.patch("/items/oat", json={"name": None, "price": 3})
    assert problem(refused) == (422, "invalid-request")
    assert refused.json()["errors"][0]["where"] == "body.name"
    together = shop.patch("/items", json={"items": [{"item_id": "oat", "name": None}]}).json()
    assert (together["changed"], together["failed_count"]) == (0, 1)
    kept = shop.get("/items/oat").json()
    assert (kept["name"], kept["price"]) == ("Oat drink", 2)
    assert problem(shop.patch("/items/never", json={"name": None})) == (404, "item-not-found")
    shop.delete("/items/oat").raise_for_status()


def test_null_restores_the_name_that_the_model_has(shop: httpx.Client) -> None:
    shop.patch("/items/film-9", json={"name": "Other"}).raise_for_status()
    assert shop.patch("/items/film-9", json={"name": None}).json()["name"] == "Film 9"
