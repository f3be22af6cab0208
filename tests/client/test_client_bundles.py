"""Bundles by the client."""

from __future__ import annotations

import asyncio

import pytest
from tripod_client import AsyncTripod, ProblemError, Tripod

from tests.app.bundle_shop import held_by


def test_bundles_that_are_bought_together(bundles_served: str) -> None:
    with Tripod(bundles_served) as tripod:
        tripod.add_items("client", "camera-3")
        answer = tripod.find_bundles("client", k=2)
        (bundle,) = answer["bundles"]
        assert (answer["objective"], answer["method"]) == ("together", None)
        assert {item["item_id"] for item in bundle["items"]} == {"tripod-3", "film-3"}
        assert (bundle["baskets"], bundle["baskets_with_given"]) == (
            held_by("camera-3", "tripod-3", "film-3"),
            held_by("camera-3"),
        )
        assert bundle["probability"] is not None
        partner = bundle["items"][0]["goes_with"]
        assert partner is not None
        assert partner["lift"] > 1


def test_options_of_bundles(bundles_served: str) -> None:
    with Tripod(bundles_served) as tripod:
        two = tripod.find_bundles(k=3, alternatives=2)["bundles"]
        assert tripod.find_bundles(k=3, skip=1)["bundles"] == two[1:]
        limited = tripod.find_bundles(
            k=2, max_k=3, include=["tripod-4"], max_total_price=99, max_per_category=2
        )["bundles"]
        assert limited[0]["items"][0]["item_id"] == "tripod-4"
        largest = tripod.find_bundles(items=["camera-3"], k=2, objective="map", method="exact")
        assert (largest["objective"], largest["method"]) == ("map", "exact")
        assert largest["bundles"][0]["probability"] is None
        with pytest.raises(TypeError, match="include must be a list"):
            tripod.find_bundles(include="tripod-4")
        with pytest.raises(ProblemError, match="method belongs to objective=map"):
            tripod.find_bundles(objective="together", method="greedy")


def test_pages_of_top_bundles(bundles_served: str) -> None:
    with Tripod(bundles_served) as tripod:
        first = tripod.top_bundles(limit=2)
        second = tripod.top_bundles(limit=2, cursor=first["next_cursor"])
        assert [bundle["rank"] for bundle in first["bundles"] + second["bundles"]] == [1, 2, 3, 4]
        assert tripod.top_bundles(limit=3, in_stock=False)["bundles"][2]["rank"] == 3
        with pytest.raises(ProblemError, match="there is no category 'Unknown'"):
            tripod.top_bundles(k=2, category="Unknown")

    async def ask() -> list[str]:
        async with AsyncTripod(bundles_served) as client:
            return [item["item_id"] for item in (await client.top_bundles(k=2))["bundles"][0]["items"]]

    assert asyncio.run(ask()) == ["camera-0", "tripod-0"]


def test_no_top_bundles_of_an_older_model(served: str) -> None:
    with Tripod(served) as tripod:
        assert tripod.top_bundles()["bundles"] == []
        assert tripod.find_bundles(items=["camera-3"], k=2)["objective"] == "map"
