"""Tripod's own model behind the contract that the baselines keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import ClassVar, Self

import numpy as np

from model_store import Knobs
from ndpp import Kernel, Tilt, condition_many
from ndpp.relevance import Relevance
from training.baselines.base import LogLikelihoods, Recommender, Scores
from training.baskets import ItemRows
from training.evaluation.sets import log_likelihoods


class TripodModel(Recommender):
    """A kernel with its knobs; all knobs zero is the paper's greedy conditioning."""

    name: ClassVar[str] = "tripod"

    def __init__(
        self,
        kernel: Kernel,
        evidence: Relevance | None = None,
        *,
        decoupling: float = 0.0,
        relevance: float = 0.0,
        popularity: float = 0.0,
    ) -> None:
        self.kernel = kernel
        self.evidence = evidence
        self.decoupling = decoupling  # ω
        self.relevance = relevance if evidence is not None else 0.0  # β
        self.standing = Tilt.popularity(kernel, popularity).base  # L_ii^(−γ)

    @classmethod
    def of(cls, kernel: Kernel, evidence: Relevance | None, knobs: Knobs) -> Self:
        """With the knobs that are stored with a model."""
        return cls(kernel, evidence, **asdict(knobs))

    def scores(self, carts: Sequence[ItemRows]) -> Scores:
        """The tilted gain of every item."""
        gains = condition_many(self.kernel, carts, decoupling=self.decoupling).gains()  # (n, M)
        if self.standing is not None:
            gains = gains * self.standing
        if self.evidence is not None and self.relevance:
            for row, cart in zip(gains, carts, strict=True):
                tilt = Tilt.relevance(self.evidence, np.unique(cart), self.relevance)
                row[tilt.rows] *= tilt.factors
        return gains

    def log_likelihoods(self, sets: Sequence[ItemRows]) -> LogLikelihoods:
        """log det(L_Y + εI) − log det(I + L); the knobs have no part in it."""
        return log_likelihoods(self.kernel, sets)
