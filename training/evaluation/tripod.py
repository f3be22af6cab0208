"""Tripod's model with the interface of the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ndpp import Kernel, Mixture, NextItem
from training.baskets import ItemRows
from training.evaluation.sets import log_likelihoods
from training.recommender import LogLikelihoods, Pasts, Recommender, Scores


class TripodModel(Recommender):
    """P(next item | cart, history) as it is served."""

    name: ClassVar[str] = "tripod"

    def __init__(self, model: NextItem) -> None:
        self.model = model
        self.gives_probabilities = model.mixture.habit is not None

    @classmethod
    def of_kernel(cls, kernel: Kernel) -> TripodModel:
        """The paper's greedy conditioning: P ∝ Δ."""
        return cls(NextItem(kernel, Mixture.plain()))

    @property
    def uses_histories(self) -> bool:
        """Whether the scores depend on histories."""
        return self.model.mixture.own is not None

    @property
    def kernel(self) -> Kernel:
        """The kernel of the model."""
        return self.model.kernel

    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:
        """The probability of every item, (n, M)."""
        return self.model.probabilities(carts, histories)

    def log_likelihoods(self, sets: Sequence[ItemRows]) -> LogLikelihoods:
        """log det(L_Y + εI) − log det(I + L), from the kernel alone."""
        return log_likelihoods(self.kernel, sets)


class CartAlone(Recommender):
    """The same model without histories, to show what they contribute."""

    name: ClassVar[str] = "tripod_cart"

    def __init__(self, tripod: TripodModel) -> None:
        self.tripod = tripod
        self.gives_probabilities = tripod.gives_probabilities

    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:  # noqa: ARG002
        """The probability of every item, (n, M)."""
        return self.tripod.scores(carts)
