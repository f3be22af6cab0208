"""Helpers for tests of retraining, in this process instead of a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from model_store import Draft, Knobs, ModelStore, StoredModel
from ndpp import Mixture
from training.baskets import Baskets
from training.retraining import Retrained, Retraining, retrain

Shop = tuple[ModelStore, str, Baskets]  # model store, data, held-out baskets
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
    **hyperparameters: Any,
) -> StoredModel:
    """A copy of a version with other parameters, another mixture or other hyperparameters."""
    manifest = store.manifest(version)
    return republished(
        store,
        version,
        knobs=knobs or manifest.knobs,
        mixture=mixture,
        hyperparameters={**manifest.hyperparameters, **hyperparameters},
    )


def republished(store: ModelStore, version: str, **changes: Any) -> StoredModel:
    """A copy of a version, without its mixture and lifts, with these fields of its draft changed."""
    model = store.open(version)
    draft = Draft(
        kernel=model.kernel,
        kind=model.manifest.kind,
        items=model.items,
        relevance=model.relevance,
        knobs=model.manifest.knobs,
        hyperparameters=model.manifest.hyperparameters,
        metrics={},
        data_fingerprint=model.manifest.data_fingerprint,
        seed=model.manifest.seed,
        baskets=model.baskets,
    )
    return store.open(store.publish(replace(draft, **changes)))
