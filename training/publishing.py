"""Publish a trained model as a new version in the model store, with its report."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from math import exp
from typing import Any

from pydantic import JsonValue

from model_store import Draft, Items, ModelStore
from ndpp import Mixture
from ndpp.mixture import at
from training.arrivals import ArrivalsFit, features_of, fit_arrivals
from training.baskets import Baskets
from training.evaluation.assess import Assessment, Questions, assess, item_names, questions_from
from training.evaluation.queries import Protocol
from training.evaluation.report import CurvePoint, ReportData, write_report
from training.evaluation.sets import log_likelihoods
from training.evaluation.tripod import TripodModel
from training.fitting import FitResult
from training.histories import Histories
from training.next_item.own import OwnFit
from training.next_item.tuning import Tuning
from training.pipeline import TrainedModel
from training.recipe import Recipe
from training.sets.learn import learn_sets
from training.splitting import Split
from training.statistics.collect import collect_statistics

REPORT_TITLE = "How good are the suggestions?"
_SHOWN_CART, _SHOWN_HISTORY = 3, 10


@dataclass(frozen=True)
class Publication:
    """A trained model and what it was trained on."""

    learned: TrainedModel
    parts: Split
    items: Items
    data_fingerprint: str
    recipe: Recipe
    protocol: Protocol = Protocol.PAPER  # of the evaluation; TEMPORAL if `parts` are split in time
    known: Baskets | None = None  # all baskets, for the histories of the protocol TEMPORAL

    @property
    def result(self) -> FitResult:
        """The result of the fit."""
        return self.learned.result

    def metrics(self) -> dict[str, float]:
        """Mean log P(basket | not empty) of the validation baskets, and of the test baskets if any."""
        metrics = {"validation_log_likelihood": round(self.result.validation, 4)}
        if len(self.parts.test):
            kernel = self.result.kernel
            test = log_likelihoods(kernel, list(self.parts.test)) - kernel.log_not_empty
            metrics["test_log_likelihood"] = round(float(test.mean()), 4)
        return metrics


def publish(store: ModelStore, publication: Publication, *, report: bool = True) -> str:
    """Write a new version to the model store, optionally with an evaluation report; returns its name."""
    learned, result, parts = publication.learned, publication.result, publication.parts
    statistics = collect_statistics(parts, result.kernel, result.options.seed)
    sets = learn_sets(learned, parts, statistics)
    arrivals = _arrivals(publication)
    files = {"training_curve.json": _curve(result)}
    metrics: dict[str, JsonValue] = {**publication.metrics()}
    if learned.tuning is not None:
        files["tuning.json"] = json.dumps(_trials(learned), indent=1).encode()
        metrics["tuning"] = learned.tuning.as_dict()
    if learned.own is not None:
        metrics["own"] = {**learned.own.as_dict()}
    if arrivals is not None:
        metrics["arrivals"] = {**arrivals.as_dict()}
    calibration: dict[str, JsonValue] | None = None
    if report and (asked := _questions(publication)):
        # Without test baskets the validation baskets are used, which prior and index must not have seen.
        measured = learned.next_item
        if not len(parts.test):
            measured = learned.before_validation or measured
        found = assess(
            TripodModel(measured),
            item_names(publication.items),
            asked,
            parts.train,
            parts.validation,
            lifts=statistics.lifts,
            basket_sizes=statistics.basket_sizes,
            sets=None if sets is None else sets.predictor,
        )
        calibration = found.calibration.as_dict()
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
        arrivals=None if arrivals is None else arrivals.weights,
        calibration=calibration,
        baskets=learned.baskets,
        lifts=statistics.lifts,
        basket_sizes=statistics.basket_sizes,
        coherence=statistics.coherence,
        sets=None if sets is None else sets.model,
        top_bundles=None if sets is None else sets.top,
        hyperparameters={
            **publication.recipe.as_dict(),
            **result.options.as_dict(),
            "left_to_data": publication.recipe.left_to_data(),
            "split": "temporal" if publication.protocol is Protocol.TEMPORAL else "by_key",
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


def _arrivals(publication: Publication) -> ArrivalsFit | None:
    """The weights of new arrivals, fitted to validation baskets; None without tuning."""
    parts, model = publication.parts, publication.learned.before_validation
    if model is None:
        return None
    seed = publication.result.options.seed
    return fit_arrivals(model, features_of(publication.items), parts.train, parts.validation, seed)


def _questions(publication: Publication) -> Questions | None:
    """Queries from the held-out baskets, or from the validation baskets if none were held out."""
    parts, histories = publication.parts, None
    asked = parts.test if len(parts.test) else parts.validation
    if not (asked.sizes > 1).any():
        return None
    if publication.known is not None:
        histories = Histories(publication.known).before_each(asked)
    questions = questions_from(asked, asked.catalogue, publication.protocol, histories=histories)
    # Lifts and basket sizes are learned from the validation baskets too, so they cannot be checked on them.
    return questions if len(parts.test) else replace(questions, unseen=None)


def _report_data(publication: Publication, asked: Questions, found: Assessment) -> ReportData:
    result, parts, learned = publication.result, publication.parts, publication.learned
    notes = []
    if not len(parts.test):
        notes.append(
            "no baskets were held out: the figures are from the validation baskets, which were also used for "
            "early stopping and tuning, so they are too optimistic"
        )
        if result.options.init == "previous":
            notes.append(
                "the fit started from an earlier model, which may have learned from these baskets too"
            )
    return ReportData(
        title=REPORT_TITLE,
        facts={
            "Kernel": f"{result.options.kernel}, rank {result.kernel.rank}",
            "Next item": mixture_text(learned.next_item.mixture),
            "Items": f"{result.kernel.size:,}",
            "Training baskets": f"{len(parts.train):,}",
            "Queries": f"{len(asked.queries):,}",
        },
        evaluation=found.evaluation,
        curve=[CurvePoint(*point) for point in result.curve],
        relations=found.relations,
        calibration=found.calibration,
        determinant=" ".join(filter(None, [_determinant(learned.tuning), _own(learned.own)])),
        notes=notes,
    )


def _determinant(tuning: Tuning | None) -> str:
    """The contribution of the determinant to next-item prediction, measured on the validation baskets."""
    if tuning is None:
        return ""
    gain = tuning.without_determinant - tuning.negative_log_likelihood
    return (
        f"Contribution of the determinant: on {tuning.queries:,} carts from validation baskets the negative "
        f"log-likelihood of the next item is {tuning.negative_log_likelihood:.3f} nats, and "
        f"{tuning.without_determinant:.3f} for the same mixture without the determinant. With it, the item "
        f"that came next is {100 * (exp(gain) - 1):.1f} % more likely."
    )


def _own(own: OwnFit | None) -> str:
    """The contribution of histories to next-item prediction, measured on the validation baskets."""
    if own is None:
        return ""
    gain = own.without_history - own.with_history
    return (
        f"Contribution of the shopper's history: on {own.queries:,} carts of shoppers with a history the "
        f"negative log-likelihood is {own.with_history:.3f} nats, and {own.without_history:.3f} for the cart "
        f"alone. With the history, the item that came next is {100 * (exp(gain) - 1):.1f} % more likely."
    )


def mixture_text(mixture: Mixture) -> str:
    """The mixture in one line."""
    if mixture.habit is None:
        together = mixture.together
        exponents = f"β {together.relevance[0]:g}, γ {-together.popularity[0]:g}"
        return f"determinant with ω {mixture.decoupling:g}, {exponents}; scores, not fitted probabilities"
    weights = mixture.weights(_SHOWN_CART, votes=True)
    names = ("together", "similar baskets", "habit")
    shares = ", ".join(f"{name} {100 * weight:.0f} %" for name, weight in zip(names, weights, strict=True))
    gain = at(mixture.together.gain, _SHOWN_CART)
    own = ""
    if mixture.own is not None:
        share = mixture.own.share(_SHOWN_CART, _SHOWN_HISTORY, _SHOWN_CART // 2)
        own = f", with {_SHOWN_HISTORY} earlier baskets the shopper's own purchases {100 * share:.0f} %"
    return f"for a cart of {_SHOWN_CART}: {shares}{own}; ω {mixture.decoupling:g}, exponent of Δ {gain:.2f}"


def _trials(learned: TrainedModel) -> dict[str, Any]:
    """All trials, best first."""
    assert learned.tuning is not None
    return {
        "queries": learned.tuning.queries,
        "kernels": [kernel.as_dict() for kernel in learned.kernels],
        "trials": [trial.as_dict() for trial in learned.tuning.trials],
    }


def _curve(result: FitResult) -> bytes:
    steps, values = zip(*result.curve, strict=True)
    return json.dumps({"step": steps, "validation_log_likelihood": values}).encode()
