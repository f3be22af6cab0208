"""The shop that the browser visits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from app_shop import GROUPS, KINDS, draft, item_ids
from playwright.sync_api import Page
from pydantic import JsonValue

from model_store import ModelStore
from ndpp import Mixture
from ndpp.mixture import Habit, SimilarBaskets, Together
from training.basket_index import index_baskets
from training.baskets import Baskets

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
# Exponents: film is tied to the camera more than it is worth by itself, the tripod is the likelier one.
MIXTURE = Mixture(
    decoupling=0.5,
    together=Together(gain=(1.0, 0.0), relevance=(0.45, 0.0), popularity=(0.0, 0.0)),
    baskets=SimilarBaskets(power=(1.0, 0.0), weight=(-3.5, 0.0)),
    habit=Habit(gain=(0.0, 0.0), popularity=(1.0, 0.0), first=(0.0, 0.0), weight=(-1.0, 0.0)),
    least_gain=1e-4,
)

Visit = Callable[..., Page]


def planted_baskets() -> Baskets:
    """The camera of each group together with its tripod."""
    first = len(KINDS) * np.arange(GROUPS)
    items = np.stack([first, first + 1], axis=1).ravel()
    return Baskets(tuple(item_ids()), items.astype(np.int32), np.arange(0, 2 * GROUPS + 1, 2))


def publish_shop(store: Path, *, probabilities: bool = True) -> str:
    """The planted shop; its third camera has a name that would be a script if it were ever markup.

    Without `probabilities` it is a model as release 0.1 made them.
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
