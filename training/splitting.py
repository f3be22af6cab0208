"""Which baskets are learned from, which steer the learning, and which only measure the result."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model_store import Manifest
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


HELD_OUT_SHARE = 0.05  # one basket in twenty, unless someone says otherwise


def split_by_key(
    baskets: Baskets, *, below: float = HELD_OUT_SHARE, validation: int | None = None, seed: int = 0
) -> Split:
    """A split whose test part are the baskets with a key below `below`.

    However the data grows, a basket held out once is held out in every later split with this bound or a
    higher one: no version that was fitted on such a split has learned from another one's test baskets.
    """
    keys = _keys(baskets)
    rest = baskets.select(np.flatnonzero(keys >= below))
    held_out = baskets.select(np.flatnonzero(keys < below))
    if validation is None:
        validation = validation_size(len(rest), tuned=False)
    if validation >= len(rest):
        raise OptionError(
            f"{len(baskets)} baskets are too few for --validation {validation} and {len(held_out)} held-out "
            "baskets"
        )
    return split(rest, validation=validation, seed=seed)._replace(test=held_out)


def bound_for(baskets: Baskets, holdout: int | None) -> float:
    """The bound below which so many keys lie; None: the usual share of all keys, whatever the data."""
    if holdout is None:
        return HELD_OUT_SHARE
    if holdout >= len(baskets):
        raise OptionError(f"{len(baskets)} baskets are too few for --holdout {holdout}")
    return float(np.sort(_keys(baskets))[holdout]) if holdout else 0.0


def held_out_below(manifest: Manifest) -> float | None:
    """The bound of a version's own split; None if it does not say what it held out, or held out nothing."""
    bound = manifest.hyperparameters.get("held_out_below")
    return float(bound) if isinstance(bound, int | float) and bound > 0 else None


def _keys(baskets: Baskets) -> NDArray[np.float64]:
    if baskets.keys is None:
        raise OptionError("baskets without ids cannot be held out by id")
    return baskets.keys
