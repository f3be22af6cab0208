"""Soak test: thousands of carts on one process, whose memory must stay bounded."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.app_process import Service
from tests.app.app_shop import item_ids, publish

pytestmark = pytest.mark.slow


def resident_megabytes(service: Service) -> float:
    fields = Path(f"/proc/{service.process.pid}/status").read_text().split("VmRSS:")[1].split()
    return int(fields[0]) / 1024


def shop_for(service: Service, shoppers: int, chance: random.Random) -> None:
    """Each fills a cart, looks at what goes with it after every item, and checks out."""
    for _ in range(shoppers):
        cart = service.client.post("/carts").raise_for_status().json()["cart_id"]
        for item_id in chance.sample(item_ids(), 3):
            service.client.post(f"/carts/{cart}/items", json={"item_id": item_id}).raise_for_status()
            answer = (
                service.client.get("/recommend", params={"cart_id": cart, "k": 5}).raise_for_status().json()
            )
            assert item_id not in [item["item_id"] for item in answer["items"]]
        service.client.get("/bundles", params={"cart_id": cart, "k": 2}).raise_for_status()
        service.client.post(f"/carts/{cart}/checkout").raise_for_status()


def test_memory_stays_bounded_over_thousands_of_carts(start: Callable[..., Service], tmp_path: Path) -> None:
    publish(tmp_path / "store")
    service = start().ready()
    chance = random.Random(0)
    shop_for(service, 500, chance)  # fills the caches
    before = resident_megabytes(service)
    shop_for(service, 3000, chance)
    assert resident_megabytes(service) < before + 20
