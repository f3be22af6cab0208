"""Correct the probability of the best set: the best of many noisy estimates is too high.

    logit P(best | Y) = constant + by_size · log|Y| + slope · logit P(S | Y) + noise · e

e is the part of the counts in P(S | Y), times their relative error. The four coefficients are fitted by
maximum likelihood to the best sets of carts drawn from validation baskets, under a normal prior around no
correction: carts of many items are few, and what comes true for them is mostly chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from ndpp.kernel import Vector
from ndpp.sets.coefficients import Coefficients, SetModel
from ndpp.sets.constraints import Constraints
from ndpp.sets.probability import SetPredictor
from ndpp.sets.search import best_set
from training.sets.queries import Query, predicted

_UNCORRECTED = np.array([0.0, 0.0, 1.0, 0.0])
_PRIOR_VARIANCES = np.array([0.02, 0.02, 0.02, 0.5])
_SINGLE_PRIOR_VARIANCES = np.array([1e-3, 1e-3, 1e-3, 0.5])  # the counts of a single given item are reliable


def correct_best_sets(
    predictor: SetPredictor, fitted: Coefficients, queries: Sequence[Query], sizes: Sequence[int], most: int
) -> Coefficients:
    """Search the best sets of these sizes for all queries, and fit the correction to what came true.

    The queries are either all for single items or all for carts in the making.
    """
    uncorrected = replace(predictor, model=SetModel.of(fitted, fitted))
    everything = Constraints(np.ones(len(predictor.baskets.rarity)))
    features, held = [], []
    for query, prediction in predicted(uncorrected, queries, most):
        inside = np.isin(prediction.candidates, query.basket)
        for size in sizes:
            best = np.searchsorted(prediction.candidates, best_set(prediction, size, everything)).tolist()
            if len(best) == size:
                features.append(prediction.features_of_best(best))
                held.append(bool(inside[best].all()))
    if not held:
        return fitted
    variances = _PRIOR_VARIANCES if queries[0].as_cart else _SINGLE_PRIOR_VARIANCES
    found = _fit(np.array(features), np.array(held, dtype=np.float64), variances)
    constant, by_size, slope, noise = found.tolist()
    return fitted._replace(
        best_constant=constant, best_by_size=by_size, best_slope=max(slope, 0.0), best_noise=noise
    )


def _fit(
    features: np.ndarray[tuple[int, int], np.dtype[np.float64]], held: Vector, variances: Vector
) -> Vector:
    """Logistic regression with a normal prior."""

    def loss(coefficients: Vector) -> tuple[float, Vector]:
        logits, away = features @ coefficients, coefficients - _UNCORRECTED
        value = np.logaddexp(0, logits).sum() - logits @ held + 0.5 * (away**2 / variances).sum()
        errors = 1 / (1 + np.exp(-logits)) - held
        return float(value), features.T @ errors + away / variances

    found: Vector = minimize(loss, _UNCORRECTED, jac=True, method="L-BFGS-B").x
    return found
