"""Model and types for the browser tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from playwright.sync_api import Page
from pydantic import JsonValue

from model_store import ModelStore
from ndpp import Mixture
from ndpp.mixture import Habit, SimilarBaskets, Together
from tests.app.app_shop import GROUPS, KINDS, draft, item_ids
from training.baskets import Baskets
from training.next_item.basket_index import index_baskets

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
CALIBRATION: dict[str, JsonValue] = {
    "next_item": {
        "queries": 1234,
        "first": {"claimed": 0.056, "true": 0.054},
        "first_ten": {"claimed": 0.214, "true": 0.211},
        "expected_error": 0.002,
        "nll": 3.0,
        "bins": [],
    }
}
# Chosen so that the tripod is the likelier recommendation for a camera, and film the more unusual one.
MIXTURE = Mixture(
    decoupling=0.5,
    together=Together(gain=(1.0, 0.0), relevance=(0.45, 0.0), popularity=(0.0, 0.0)),
    baskets=SimilarBaskets(power=(1.0, 0.0), weight=(-3.5, 0.0)),
    habit=Habit(gain=(0.0, 0.0), popularity=(1.0, 0.0), first=(0.0, 0.0), weight=(-1.0, 0.0)),
    least_gain=1e-4,
)

Visit = Callable[..., Page]


def give_key(page: Page, key: str) -> None:
    page.locator("#admin").click()
    page.get_by_role("textbox", name="Key").fill(key)
    page.keyboard.press("Enter")


def planted_baskets() -> Baskets:
    """One basket per group: its camera and its tripod."""
    first = len(KINDS) * np.arange(GROUPS)
    items = np.stack([first, first + 1], axis=1).ravel()
    return Baskets(tuple(item_ids()), items.astype(np.int32), np.arange(0, 2 * GROUPS + 1, 2))


def publish_shop(store: Path, *, probabilities: bool = True) -> str:
    """Publish the test catalogue; the name of its third camera contains markup.

    Without `probabilities` the model is like those of release 0.1.
    """
    planted = draft()
    names = [HOSTILE if name == "Camera 2" else name for name in planted.items.names]
    planted = replace(planted, items=replace(planted.items, names=tuple(names)))
    if probabilities:
        index = index_baskets(planted_baskets())
        planted = replace(planted, mixture=MIXTURE, baskets=index, calibration=CALIBRATION)
    else:
        later = dict.fromkeys(("mixture", "baskets", "lifts", "basket_sizes", "coherence"))
        planted = replace(planted, **later)
    models = ModelStore(store)
    version = models.publish(planted)
    models.activate(version)
    return version
