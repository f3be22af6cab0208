"""From a fit to a version in the model store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from model_store import Draft, Items, Knobs, ModelStore
from training.evaluation.sets import log_likelihoods
from training.fitting import FitResult
from training.splitting import Split


@dataclass(frozen=True)
class Publication:
    """What a fit has to say for itself."""

    result: FitResult
    parts: Split
    items: Items
    data_fingerprint: str
    split: Literal["random", "by_key"] = "random"

    def metrics(self) -> dict[str, float]:
        """The log-likelihoods, and the test one if baskets were held out."""
        metrics = {"validation_log_likelihood": round(self.result.validation, 4)}
        if len(self.parts.test):
            test = log_likelihoods(self.result.kernel, list(self.parts.test))
            metrics["test_log_likelihood"] = round(float(test.mean()), 4)
        return metrics


def publish(store: ModelStore, publication: Publication) -> str:
    """Write a new version to the store; returns its name."""
    result, parts = publication.result, publication.parts
    draft = Draft(
        kernel=result.kernel,
        kind=result.options.kernel,
        items=publication.items,
        relevance=None,
        knobs=Knobs(),
        hyperparameters={
            **result.options.as_dict(),
            "split": publication.split,
            "validation": len(parts.validation),
            "holdout": len(parts.test),
            "train_baskets": len(parts.train),
            "best_step": result.best_step,
            "steps_done": result.steps_done,
            "seconds": round(result.seconds, 1),
            "interrupted": result.interrupted,
        },
        metrics=dict(publication.metrics()),
        data_fingerprint=publication.data_fingerprint,
        seed=result.options.seed,
        files={"training_curve.json": _curve(result)},
    )
    return store.publish(draft)


def _curve(result: FitResult) -> bytes:
    steps, values = zip(*result.curve, strict=True)
    return json.dumps({"step": steps, "validation_log_likelihood": values}).encode()
