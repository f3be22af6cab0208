"""Tripod without its determinant: the same mixture, prior, index and tuning over plain popularity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from ndpp import Kernel, NextItem
from training.baselines.base import Baseline, BaselineUnavailableError
from training.basket_index import index_baskets
from training.baskets import Baskets, ItemRows
from training.neighbours import learn_neighbours
from training.recommender import Scores
from training.tuning import tune


class Blend(Baseline):
    """A linear blend of three distributions: EASE-R with similarities, similar baskets, and popularity.

    A diagonal kernel of the items' odds has gains that no cart changes, so what it lacks is what the
    determinant adds.
    """

    name: ClassVar[str] = "blend"
    gives_probabilities = True
    model: NextItem

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:
        """Tune on the validation baskets, as Tripod is."""
        shares = np.clip(baskets.counts / max(len(baskets), 1), 1e-6, 1 - 1e-6)
        kernel = Kernel(np.zeros((len(shares), 1)), np.zeros((1, 1)), shares / (1 - shares))
        tuning = None if validation is None else tune(kernel, baskets, validation, effort="quick")
        if tuning is None:
            raise BaselineUnavailableError("the blend is tuned on validation baskets, and there are none")
        relevance = learn_neighbours(baskets, tuning.choice.neighbours)
        self.model = NextItem(kernel, tuning.mixture, relevance, index_baskets(baskets))
        return self

    def scores(self, carts: Sequence[ItemRows]) -> Scores:
        """The probability of every item, (n, M)."""
        return self.model.probabilities(carts)
