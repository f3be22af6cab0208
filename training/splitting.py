"""Which baskets are learned from, which steer the learning, and which only measure the result."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from training.baskets import Baskets
from training.errors import OptionError


class Split(NamedTuple):
    """Three disjoint parts of the baskets."""

    train: Baskets
    validation: Baskets
    test: Baskets


_USUAL_VALIDATION = 300  # the paper's
_TUNING_VALIDATION = 2000  # choosing knobs by held-out items takes more, but at most a twentieth of all


def validation_size(baskets: int, *, tuned: bool) -> int:
    """How many baskets validate unless someone says otherwise: 300, or a tenth where that is less."""
    usual = max(1, min(_USUAL_VALIDATION, baskets // 10))
    return max(usual, min(_TUNING_VALIDATION, baskets // 20)) if tuned else usual


def split(baskets: Baskets, *, validation: int | None = None, holdout: int = 0, seed: int = 0) -> Split:
    """A random split: `validation` and `holdout` baskets are taken out, the rest is for learning."""
    if validation is None:
        validation = validation_size(len(baskets), tuned=False)
    if validation < 1 or holdout < 0:
        raise OptionError("--validation must be at least 1 and --holdout at least 0")
    if validation + holdout >= len(baskets):
        raise OptionError(
            f"{len(baskets)} baskets are too few for --validation {validation} and --holdout {holdout}"
        )
    order = np.random.default_rng(seed).permutation(len(baskets))
    return Split(
        train=baskets.select(order[validation + holdout :]),
        validation=baskets.select(order[:validation]),
        test=baskets.select(order[validation : validation + holdout]),
    )


_KEPT_ASIDE = 20  # one basket in this many


def split_by_key(baskets: Baskets, *, validation: int | None = None, seed: int = 0) -> Split:
    """A split whose test part, a twentieth, is chosen by the baskets' own keys.

    However the data grows, a basket kept aside once is kept aside in every later split: no version that was
    fitted on such a split has learned from another one's test baskets.
    """
    if baskets.keys is None:
        raise OptionError("baskets without ids cannot be kept aside by id")
    aside = baskets.keys % _KEPT_ASIDE == 0
    rest = split(baskets.select(np.flatnonzero(~aside)), validation=validation, seed=seed)
    return rest._replace(test=baskets.select(np.flatnonzero(aside)))
