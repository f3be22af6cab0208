"""The small shop with a model that uses histories, and calls of the routes of shoppers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import polars as pl

from model_store import ModelStore
from ndpp.mixture import Own
from tests.app.app_process import ADMIN_KEY, eventually
from tests.app.app_shop import MIXTURE
from tests.app.bundle_shop import bundle_draft

ADMIN = {"X-Admin-Key": ADMIN_KEY}
OWN = Own(
    cart=(0.5, 0.1),
    popularity=(0.3, 0.1),
    recent=(0.4, -0.1),
    often=(0.6, 0.1),
    votes=(0.3, 0.1),
    known=(-0.2, 0.1),
    related=(0.2, 0.0),
    first=(0.1, -0.05),
    weight=(0.3, 0.1),
    baskets=(0.4, -0.1),
    repeats=(0.5, 0.2),
    days=30.0,
    gap_days=10.0,
    longest_gap=100.0,
)


def publish_personal(store: Path) -> str:
    """Publish the planted shop with the expert `own`, and activate it."""
    models = ModelStore(store)
    version = models.publish(replace(bundle_draft(), mixture=replace(MIXTURE, own=OWN)))
    models.activate(version)
    return version


def buy(shop: httpx.Client, shopper_id: str, *item_ids: str) -> str:
    """Check out a cart of the shopper; returns the purchase id."""
    cart_id = shop.post("/carts", json={"shopper_id": shopper_id}).json()["cart_id"]
    lines = [{"item_id": item_id, "quantity": 1} for item_id in item_ids]
    assert shop.post(f"/carts/{cart_id}/items", json={"items": lines}).status_code == 200
    answer = shop.post(f"/carts/{cart_id}/checkout")
    assert answer.status_code == 200, answer.text
    return str(answer.json()["purchase_id"])


def profile(shop: httpx.Client, shopper_id: str) -> dict[str, Any] | None:
    """What is stored about the shopper, None without a profile."""
    answer = shop.get(f"/shoppers/{shopper_id}", headers=ADMIN)
    return None if answer.status_code == 404 else answer.json()


def wait_for_baskets(shop: httpx.Client, shopper_id: str, count: int) -> dict[str, Any]:
    """The profile as soon as it has this many baskets."""

    def found() -> dict[str, Any] | None:
        stored = profile(shop, shopper_id)
        return stored if stored is not None and len(stored["baskets"]) == count else None

    stored = eventually(found, f"the profile has not got {count} baskets")
    assert isinstance(stored, dict)
    return stored


def everything_in(folder: Path) -> str:
    """All bytes of all files; of Parquet files, which are compressed, the decoded values too."""
    texts = []
    for path in folder.rglob("*"):
        if path.is_file():
            texts.append(path.read_bytes().decode("latin-1"))
            if path.suffix == ".parquet":
                texts.append(pl.read_parquet(path).write_csv())
    return "\n".join(texts)
