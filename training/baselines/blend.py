"""Tripod without the determinant: the same mixture, prior, index and tuning on item popularity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from ndpp import Kernel, NextItem
from training.baselines.base import Baseline, BaselineUnavailableError
from training.baskets import Baskets, ItemRows
from training.next_item.basket_index import index_baskets
from training.next_item.relevance_prior import learn_relevance_prior
from training.next_item.tuning import tune
from training.recommender import Pasts, Scores


class Blend(Baseline):
    """A linear blend of three distributions: EASE-R with similarities, similar baskets, and popularity.

    Its kernel is diagonal, with the odds of each item. The gains then do not depend on the cart, so the
    difference to Tripod is the contribution of the determinant.
    """

    name: ClassVar[str] = "blend"
    gives_probabilities = True
    model: NextItem

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:
        """Tune on the validation baskets, like Tripod."""
        shares = np.clip(baskets.counts / max(len(baskets), 1), 1e-6, 1 - 1e-6)
        kernel = Kernel(np.zeros((len(shares), 1)), np.zeros((1, 1)), shares / (1 - shares))
        tuning = None if validation is None else tune(kernel, baskets, validation, effort="quick")
        if tuning is None:
            raise BaselineUnavailableError(
                "the blend needs validation baskets to tune on, and there are none"
            )
        relevance = learn_relevance_prior(baskets, tuning.choice.prior)
        self.model = NextItem(kernel, tuning.mixture, relevance, index_baskets(baskets))
        return self

    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:
        """The probability of every item, (n, M)."""
        return self.model.probabilities(carts, histories)
