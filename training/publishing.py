"""From a fit to a version in the model store."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import exp
from typing import Any

from pydantic import JsonValue

from model_store import Draft, Items, ModelStore
from ndpp import Mixture
from ndpp.mixture import at
from training.evaluation.assess import Assessment, Questions, assess, questions_from
from training.evaluation.report import CurvePoint, ReportData, write_report
from training.evaluation.sets import log_likelihoods
from training.evaluation.tripod import TripodModel
from training.fitting import FitResult
from training.learning import Learned, with_evidence
from training.recipe import Recipe
from training.splitting import Split
from training.statistics import count
from training.tuning import Tuning

REPORT_TITLE = "How good are the suggestions?"
_SHOWN_CART = 3


@dataclass(frozen=True)
class Publication:
    """What was learned, from what."""

    learned: Learned
    parts: Split
    items: Items
    data_fingerprint: str
    recipe: Recipe

    @property
    def result(self) -> FitResult:
        """The fit behind it."""
        return self.learned.result

    def metrics(self) -> dict[str, float]:
        """log P(basket | not empty) of the validation baskets, and of the test ones if there are any."""
        metrics = {"validation_log_likelihood": round(self.result.validation, 4)}
        if len(self.parts.test):
            kernel = self.result.kernel
            test = log_likelihoods(kernel, list(self.parts.test)) - kernel.log_not_empty
            metrics["test_log_likelihood"] = round(float(test.mean()), 4)
        return metrics


def publish(store: ModelStore, publication: Publication, *, report: bool = True) -> str:
    """Write a new version to the store, with a report of how good it is if wanted; returns its name."""
    learned, result, parts = publication.learned, publication.result, publication.parts
    counted = count(parts, result.kernel, result.options.seed)
    files = {"training_curve.json": _curve(result)}
    metrics: dict[str, JsonValue] = {**publication.metrics()}
    if learned.tuning is not None:
        files["tuning.json"] = json.dumps(_trials(learned), indent=1).encode()
        metrics["tuning"] = learned.tuning.as_dict()
    calibration: dict[str, JsonValue] | None = None
    if report and (asked := _questions(parts)):
        names = [
            name or item_id
            for item_id, name in zip(publication.items.ids, publication.items.names, strict=True)
        ]
        # What was learned from the validation baskets cannot be measured on them.
        measured = learned if len(parts.test) else with_evidence(learned, parts.train)
        found = assess(
            TripodModel(measured.next_item),
            names,
            asked,
            parts.train,
            parts.validation,
            lifts=counted.lifts,
            basket_sizes=counted.basket_sizes,
        )
        calibration = found.truth.as_dict()
        pages = write_report(_report_data(publication, asked, found))
        files |= {"report.html": pages.html, "report.json": pages.json}
        metrics["queries"] = len(asked.queries)
        metrics["models"] = {name: {**model.values} for name, model in found.evaluation.models.items()}
    draft = Draft(
        kernel=result.kernel,
        kind=result.options.kernel,
        items=publication.items,
        relevance=learned.relevance,
        knobs=learned.knobs,
        mixture=learned.mixture,
        calibration=calibration,
        baskets=learned.baskets,
        lifts=counted.lifts,
        basket_sizes=counted.basket_sizes,
        coherence=counted.coherence,
        hyperparameters={
            **publication.recipe.as_dict(),
            **result.options.as_dict(),
            "left_to_data": publication.recipe.left_to_data(),
            "split": "by_key",
            "validation": len(parts.validation),
            "holdout": len(parts.test),
            "train_baskets": len(parts.train),
            "best_step": result.best_step,
            "steps_done": result.steps_done,
            "seconds": round(result.seconds, 1),
            "interrupted": learned.interrupted,
        },
        metrics=metrics,
        data_fingerprint=publication.data_fingerprint,
        seed=result.options.seed,
        files=files,
    )
    return store.publish(draft)


def _questions(parts: Split) -> Questions | None:
    """Queries from the held-out baskets, or from the validation ones if none were held out."""
    asked = parts.test if len(parts.test) else parts.validation
    if not (asked.sizes > 1).any():
        return None
    questions = questions_from(asked, asked.catalogue)
    # The counts behind lifts and basket sizes include the validation baskets: no claim can be checked there.
    return questions if len(parts.test) else replace(questions, unseen=None)


def _report_data(publication: Publication, asked: Questions, found: Assessment) -> ReportData:
    result, parts = publication.result, publication.parts
    notes = []
    if not len(parts.test):
        notes.append(
            "no baskets were held out: the figures come from the validation baskets that also steered the "
            "fit and its tuning, so they flatter"
        )
        if result.options.init == "previous":
            notes.append("the fit began at an earlier model, which may have learned from these baskets too")
    return ReportData(
        title=REPORT_TITLE,
        facts={
            "Kernel": f"{result.options.kernel}, rank {result.kernel.rank}",
            "Next item": mixture_text(publication.learned.next_item.mixture),
            "Items": f"{result.kernel.size:,}",
            "Baskets learned from": f"{len(parts.train):,}",
            "Queries": f"{len(asked.queries):,}",
        },
        evaluation=found.evaluation,
        curve=[CurvePoint(*point) for point in result.curve],
        relations=found.relations,
        truth=found.truth,
        determinant=_determinant(publication.learned.tuning),
        notes=notes,
    )


def _determinant(tuning: Tuning | None) -> str:
    """What the determinant adds to the prediction of the next item, measured on the validation baskets."""
    if tuning is None:
        return ""
    gain = tuning.without_determinant - tuning.negative_log_likelihood
    return (
        f"What the determinant adds: on {tuning.queries:,} carts from validation baskets the negative "
        f"log-likelihood of the next item is {tuning.negative_log_likelihood:.3f} nats, and "
        f"{tuning.without_determinant:.3f} for the same mixture without the determinant: the item that came "
        f"next is {100 * (exp(gain) - 1):.1f} % more likely with it."
    )


def mixture_text(mixture: Mixture) -> str:
    """How the probability of the next item is made, on one line."""
    if mixture.habit is None:
        together = mixture.together
        exponents = f"β {together.relevance[0]:g}, γ {-together.popularity[0]:g}"
        return f"determinant with ω {mixture.decoupling:g}, {exponents}; not fitted as a probability"
    weights = mixture.weights(_SHOWN_CART, votes=True)
    names = ("together", "similar baskets", "habit")
    shares = ", ".join(f"{name} {100 * weight:.0f} %" for name, weight in zip(names, weights, strict=True))
    gain = at(mixture.together.gain, _SHOWN_CART)
    return f"for a cart of {_SHOWN_CART}: {shares}; ω {mixture.decoupling:g}, determinant to the {gain:.2f}"


def _trials(learned: Learned) -> dict[str, Any]:
    """Everything that was tried, the best first."""
    assert learned.tuning is not None
    return {
        "queries": learned.tuning.queries,
        "kernels": [kernel.as_dict() for kernel in learned.kernels],
        "trials": [trial.as_dict() for trial in learned.tuning.trials],
    }


def _curve(result: FitResult) -> bytes:
    steps, values = zip(*result.curve, strict=True)
    return json.dumps({"step": steps, "validation_log_likelihood": values}).encode()
