"""Personal frequency: what this shopper bought most often."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from training.baselines.personal import Matrix, PersonalBaseline, Purchases


class PersonalFrequency(PersonalBaseline):
    """Items of the history by the number of baskets, ties by recency, then by popularity; then the others."""

    name: ClassVar[str] = "personal_frequency"

    def personal_scores(self, past: Purchases) -> Matrix:
        """Places among the items of each history, the last one is 1."""
        scores = np.zeros((len(past.baskets), len(self.shares)))
        ends = np.searchsorted(past.shopper, np.arange(len(past.baskets) + 1))
        for row, start, end in zip(scores, ends[:-1], ends[1:], strict=True):
            items, place, counts = np.unique(past.item[start:end], return_inverse=True, return_counts=True)
            latest = np.full(len(items), np.iinfo(np.intp).max)
            np.minimum.at(latest, place, past.basket[start:end])
            keys = np.column_stack([counts, -latest, self.shares[items]])
            row[items] = 1 + np.unique(keys, axis=0, return_inverse=True)[1]  # equal keys, equal places
        return scores
