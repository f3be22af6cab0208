"""Split baskets into training, validation and test (held-out) baskets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model_store import Manifest
from training.baskets import NOBODY, Baskets
from training.errors import OptionError
from training.histories import has_histories


class Split(NamedTuple):
    """Three disjoint parts of the baskets."""

    train: Baskets
    validation: Baskets
    test: Baskets


_USUAL_VALIDATION = 300  # as in the paper
_TUNING_VALIDATION = 2000  # tuning needs more, but at most a twentieth of all baskets


def validation_size(baskets: int, *, tuned: bool) -> int:
    """The default number of validation baskets: 300, at most a tenth of all; more if tuned."""
    usual = max(1, min(_USUAL_VALIDATION, baskets // 10))
    return max(usual, min(_TUNING_VALIDATION, baskets // 20)) if tuned else usual


def split(baskets: Baskets, *, validation: int | None = None, holdout: int = 0, seed: int = 0) -> Split:
    """A random split into `validation`, `holdout` and the remaining training baskets."""
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


HELD_OUT_SHARE = 0.05  # by default one basket in twenty is held out


def split_by_key(
    baskets: Baskets, *, below: float = HELD_OUT_SHARE, validation: int | None = None, seed: int = 0
) -> Split:
    """A split that holds out the baskets with a key below `below`.

    A basket that was held out once is held out in every later split with the same or a higher bound, even
    when the data grows. So no version fitted to such a split has learned from another version's test baskets.
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


_MOST_SHOPPERS = 2000  # asked about by default in a temporal split, at most a third of those with a history


def split_temporal(
    baskets: Baskets,
    *,
    below: float = HELD_OUT_SHARE,
    validation: int | None = None,
    holdout: int | None = None,
) -> Split:
    """A split in time: learn from the past, ask about the last basket of each of `holdout` shoppers.

    The shoppers are those whose last basket is latest. All baskets before the first of these are the past; of
    them, those with a key below `below` are left out as in `split_by_key`, so that versions fitted to either
    split can be compared. The validation baskets are the newest ones of the past, one for each shopper.
    """
    last = last_baskets(baskets)
    wanted = min(_MOST_SHOPPERS, len(last) // 3) if holdout is None else holdout
    if not 0 < wanted <= len(last):
        raise OptionError(
            f"--protocol temporal cannot ask about {wanted} shoppers: {len(last)} have bought two baskets, "
            "the last one with two items or more"
        )
    test, times = last[-wanted:], baskets.timestamps
    assert times is not None
    past = baskets.select(np.flatnonzero((times < times[test[0]]) & (_keys(baskets) >= below)))
    newest = last_baskets(past)
    if validation is None:
        validation = validation_size(len(past), tuned=True)
    asked = newest[-min(validation, len(newest) // 2) :] if len(newest) > 1 else newest[:0]
    if not len(asked):
        raise OptionError("too few shoppers have two baskets before the held-out ones: lower --holdout")
    rest = np.setdiff1d(np.arange(len(past)), asked)
    return Split(past.select(rest), past.select(asked), baskets.select(test))


def last_baskets(baskets: Baskets) -> NDArray[np.int64]:
    """The last basket of each shopper who has bought before, in order of time; of two items or more."""
    if not has_histories(baskets):
        raise OptionError("the protocol temporal needs a shopper_id and a timestamp in the baskets")
    assert baskets.shoppers is not None
    assert baskets.timestamps is not None
    found: dict[int, int] = {}
    first: dict[int, np.datetime64] = {}
    order, sizes = np.argsort(baskets.timestamps, kind="stable"), baskets.sizes
    for number in order[baskets.shoppers[order] != NOBODY].tolist():
        shopper, time = int(baskets.shoppers[number]), baskets.timestamps[number]
        if first.setdefault(shopper, time) < time and sizes[number] > 1:
            found[shopper] = number
    chosen = np.array(sorted(found.values()), dtype=np.int64)
    return chosen[np.argsort(baskets.timestamps[chosen], kind="stable")]


def bound_for(baskets: Baskets, holdout: int | None) -> float:
    """The bound that holds out `holdout` baskets; the default share if that is None."""
    if holdout is None:
        return HELD_OUT_SHARE
    if holdout >= len(baskets):
        raise OptionError(f"{len(baskets)} baskets are too few for --holdout {holdout}")
    return float(np.sort(_keys(baskets))[holdout]) if holdout else 0.0


def held_out_below(manifest: Manifest) -> float | None:
    """The hold-out bound of a version's split; None if it is not recorded, or nothing was held out."""
    bound = manifest.hyperparameters.get("held_out_below")
    return float(bound) if isinstance(bound, int | float) and bound > 0 else None


def _keys(baskets: Baskets) -> NDArray[np.float64]:
    if baskets.keys is None:
        raise OptionError("baskets without keys cannot be held out by key")
    return baskets.keys
