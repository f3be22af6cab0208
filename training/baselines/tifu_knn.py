"""TIFU-KNN (Hu et al. 2020): decayed personal item frequency, and that of similar shoppers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from training.baselines.personal import Matrix, PersonalBaseline, Purchases, keep_largest


class TifuKnn(PersonalBaseline):
    """A shopper's vector is a mean over groups of consecutive baskets, each a mean of its baskets.

    A basket counts r_b^(newer baskets in its group), a group r_g^(newer groups). The score is
    α · own vector + (1 − α) · mean of the k nearest training shoppers' vectors (Euclidean).
    """

    name: ClassVar[str] = "tifu_knn"
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "groups": (1, 3, 7, 13, 23),
        "group_decay": (0.3, 0.5, 0.7, 0.8, 0.9, 1.0),
        "basket_decay": (0.5, 0.7, 0.8, 0.9, 0.95, 1.0),
        "own_share": (0.1, 0.3, 0.5, 0.7, 0.9, 1.0),
        "neighbours": (10, 30, 100, 300, 900),
    }

    def __init__(
        self,
        groups: int = 7,
        group_decay: float = 0.7,
        basket_decay: float = 0.9,
        own_share: float = 0.7,
        neighbours: int = 300,
    ) -> None:
        self.groups = groups  # m
        self.group_decay = group_decay  # r_g
        self.basket_decay = basket_decay  # r_b
        self.own_share = own_share  # α
        self.neighbours = neighbours  # k

    def learn(self) -> None:
        """The vectors of the training shoppers."""
        self.vectors = self.vectors_of(self.known)
        self.by_item = self.vectors.T.tocsr()
        self.norms = np.asarray(self.vectors.multiply(self.vectors).sum(axis=1)).ravel()

    def vectors_of(self, past: Purchases) -> sparse.csr_array:
        """The vector of each shopper, sparse (n, M)."""
        return past.matrix(self._weights(past.basket, past.baskets[past.shopper]), len(self.shares))

    def _weights(self, newer: NDArray[np.intp], baskets: NDArray[np.intp]) -> Matrix:
        """The weight of a basket with `newer` ones after it among `baskets`.

        Groups differ by at most one in size, newer ones are not smaller; no group is empty.
        """
        groups = np.minimum(self.groups, baskets)
        size, larger = np.divmod(baskets, groups)  # `larger` groups, the newest, have one basket more
        in_larger = larger * (size + 1)
        is_larger = newer < in_larger
        own_size = np.where(is_larger, size + 1, size)
        newer_groups, newer_in_group = np.divmod(newer - np.where(is_larger, 0, in_larger), own_size)
        newer_groups += np.where(is_larger, 0, larger)
        decay = np.power(self.basket_decay, newer_in_group) * np.power(self.group_decay, newer_groups)
        weights: Matrix = decay / (own_size * groups)
        return weights

    def personal_scores(self, past: Purchases) -> Matrix:
        """α · own + (1 − α) · neighbours."""
        own = self.vectors_of(past)
        if not len(past.baskets):
            return np.empty((0, len(self.shares)))
        closeness = 2 * (own @ self.by_item).toarray() - self.norms  # |own|² minus the squared distance
        nearest = keep_largest(closeness, int(self.neighbours))
        nearest.data = np.full(len(nearest.data), 1 / min(int(self.neighbours), len(self.norms)))
        mixed = self.own_share * own + (1 - self.own_share) * (nearest @ self.vectors)
        return np.asarray(mixed.toarray())
