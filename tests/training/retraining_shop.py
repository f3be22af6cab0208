"""A shop that is retrained in this process, without a worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model_store import Draft, Knobs, ModelStore, StoredModel
from ndpp import Mixture
from training.baskets import Baskets
from training.retraining import Retrained, Retraining, retrain

Shop = tuple[ModelStore, str, Baskets]  # the store, the data, and the baskets that are held out
QUICK: dict[str, Any] = {"rank": 6, "skew_rank": 8, "steps": 80, "batch_size": 200, "learning_rate": 0.03}


def written(baskets: Baskets) -> str:
    return "".join(" ".join(baskets.catalogue[row] for row in basket) + "\n" for basket in baskets)


def ordered(store: ModelStore, order: Retraining, phases: list[str] | None = None) -> Retrained:
    heard = [] if phases is None else phases
    return retrain(store, order, tolerance=1.0, callback=lambda _: None, announce=heard.append)


def noted(store: ModelStore, version: str) -> Mapping[str, Any]:
    return store.manifest(version).hyperparameters


def changed(
    store: ModelStore,
    version: str,
    *,
    knobs: Knobs | None = None,
    mixture: Mixture | None = None,
    **noted: Any,
) -> StoredModel:
    """The same model again under another name, with other knobs, another mixture or another manifest."""
    model = store.open(version)
    draft = Draft(
        kernel=model.kernel,
        kind=model.manifest.kind,
        items=model.items,
        relevance=model.relevance,
        knobs=knobs or model.manifest.knobs,
        hyperparameters={**model.manifest.hyperparameters, **noted},
        metrics={},
        data_fingerprint=model.manifest.data_fingerprint,
        seed=model.manifest.seed,
        mixture=mixture,
        baskets=model.baskets,
    )
    return store.open(store.publish(draft))
