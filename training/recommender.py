"""The interface of all models that rank items: Tripod's model and the baselines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ndpp import History
from training.baskets import ItemRows

Scores = NDArray[np.floating[Any]]  # (n, M)
LogLikelihoods = NDArray[np.float64]  # (n,)
Pasts = Sequence[History | None]  # what the shopper of each cart had bought before; None if unknown


class Recommender(ABC):
    """Scores every item of the catalogue for many carts at once.

    Higher is better. Items in the cart get a score too; the caller excludes them from the ranking. The order
    of a cart and repeated items in it make no difference. Models without personalisation ignore histories.
    """

    name: ClassVar[str]
    gives_probabilities: bool = False  # whether the scores are fitted probabilities of the next item
    needs_cart: ClassVar[bool] = False  # whether an empty cart gets the same score for every item

    @abstractmethod
    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:
        """One row of M finite scores for each cart, of a shopper with this history."""

    def log_likelihoods(self, sets: Sequence[ItemRows]) -> LogLikelihoods | None:  # noqa: ARG002
        """The log-probability of each set as a whole basket; None if the model has none."""
        return None
