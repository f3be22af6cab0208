"""UP-CF (Faggioli et al. 2020): user-wise popularity, and that of similar shoppers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from scipy import sparse

from training.baselines.personal import Matrix, PersonalBaseline, Purchases, keep_largest


class UpCf(PersonalBaseline):
    """Scores Σ_v sim(u, v)^q · popularity_v over the shopper u and the k most similar training shoppers.

    popularity_v is the share of v's last r baskets that hold the item; sim(u, v) is the asymmetric cosine
    |I_u ∩ I_v| / (|I_u|^α · |I_v|^(1−α)) of all items that they bought, 1 of a shopper with themselves.
    A shopper who is also in the training baskets is a neighbour of themselves as they were then.
    """

    name: ClassVar[str] = "up_cf"
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "recent": (1, 3, 5, 10, 25, 100),
        "exponent": (1, 2, 5, 10, 20, 50),
        "asymmetry": (0.0, 0.25, 0.5, 0.75, 1.0),
        "neighbours": (10, 30, 100, 300, 900),
    }

    def __init__(
        self, recent: int = 10, exponent: float = 10, asymmetry: float = 0.5, neighbours: int = 300
    ) -> None:
        self.recent = recent  # r
        self.exponent = exponent  # q
        self.asymmetry = asymmetry  # α
        self.neighbours = neighbours  # k

    def learn(self) -> None:
        """The popularity vectors and item sets of the training shoppers."""
        self.popularity = self.popularity_of(self.known)
        bought = self._bought(self.known)
        self.by_item = bought.T.tocsr()
        self.sizes = bought.sum(axis=1)

    def popularity_of(self, past: Purchases) -> sparse.csr_array:
        """The share of each shopper's last r baskets that hold each item, sparse (n, M)."""
        considered = np.minimum(past.baskets, self.recent)[past.shopper]
        return past.matrix((past.basket < self.recent) / considered, len(self.shares))

    def _bought(self, past: Purchases) -> sparse.csr_array:
        bought = past.matrix(np.ones(len(past.item)), len(self.shares))
        bought.data[:] = 1
        return bought

    def personal_scores(self, past: Purchases) -> Matrix:
        """The shopper's own popularity, and that of the neighbours by similarity."""
        if not len(past.baskets):
            return np.empty((0, len(self.shares)))
        bought = self._bought(past)
        ours = np.maximum(bought.sum(axis=1), 1)[:, None] ** self.asymmetry
        theirs = self.sizes ** (1 - self.asymmetry)
        similarity = (bought @ self.by_item).toarray() / (ours * theirs)
        nearest = keep_largest(similarity, int(self.neighbours))
        nearest.data **= self.exponent
        mixed = self.popularity_of(past) + nearest @ self.popularity
        return np.asarray(mixed.toarray())
