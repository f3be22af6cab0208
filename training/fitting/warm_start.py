"""`--init previous`: start a fit from the parameters of an earlier model, matched by item id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model_store import ModelStore, StoredModel
from ndpp import Kernel
from training.errors import OptionError
from training.fitting.parameters import KernelParameters
from training.options import FitOptions, KernelKind
from training.splitting import held_out_below

_NEW_COLUMN_SCALE = 0.1  # added columns start small, so that they do not drown the earlier kernel


@dataclass(frozen=True, eq=False)
class Previous:
    """An earlier kernel and the item ids of its rows."""

    kernel: Kernel
    kind: KernelKind
    item_ids: Sequence[str]
    held_out_below: float = 0.0  # baskets with a key below this were held out

    @classmethod
    def of(cls, stored: StoredModel) -> Previous:
        """The kernel of a stored model."""
        bound = held_out_below(stored.manifest) or 0.0
        return cls(stored.kernel, stored.manifest.kind, stored.items.ids, bound)

    @property
    def rank(self) -> int:
        """K: only the part of X that belongs to V has ones on its diagonal."""
        return int(np.count_nonzero(np.diag(self.kernel.core)))

    @property
    def skew_rank(self) -> int:
        """The number of columns that do not belong to V."""
        return self.kernel.rank - self.rank


def active_model(store: ModelStore) -> Previous | None:
    """The active model of the model store, or None."""
    return None if store.active() is None else Previous.of(store.open())


def held_out_by_both(below: float, previous: Previous | None) -> float:
    """The hold-out bound of a warm start: what the previous model has learned from cannot be held out."""
    return below if previous is None else min(below, previous.held_out_below)


def like_previous(options: FitOptions, previous: Previous) -> FitOptions:
    """The options with the previous kernel's ranks where none are given."""
    if options.kernel != previous.kind:
        raise OptionError(
            f"--init previous needs --kernel {previous.kind}, the kind of the active model, "
            f"not {options.kernel}: use that kind, or another --init"
        )
    skew_rank = options.skew_rank or previous.skew_rank or None
    return replace(options, rank=options.rank or previous.rank, skew_rank=skew_rank)


def start_from(model: KernelParameters, catalogue: Sequence[str], previous: Previous) -> None:
    """Copy the previous kernel into initialised parameters; rows of new items keep their initial values.

    If the previous rank is larger, the strongest columns are kept; if it is smaller, the remaining columns
    stay random, but small.
    """
    rows = {item: row for row, item in enumerate(previous.item_ids)}
    theirs = np.array([rows.get(item, -1) for item in catalogue], dtype=np.int64)
    known = torch.from_numpy(np.flatnonzero(theirs >= 0))
    F = previous.kernel.factors[theirs[theirs >= 0]]  # (known, R')
    turn = _strongest_directions(previous.kernel.factors[:, : previous.rank], model.rank)
    _set_columns(model.F, known, 0, F[:, : previous.rank] @ turn, model.rank)
    if previous.kind == "tied":
        skew = previous.kernel.core - previous.kernel.core.T
        kept = torch.from_numpy(turn.T @ skew @ turn / 4).to(model.F.dtype)  # X − Xᵀ = 2 (D − Dᵀ)
        model.core.parameters[: len(kept), : len(kept)] = kept
    else:
        _set_pairs(model, known, F, previous)
    if model.log_d is not None:
        d = torch.from_numpy(previous.kernel.diagonal[theirs[theirs >= 0]]).to(model.F.dtype)
        model.log_d[known] = torch.where(d > 0, d.log(), model.log_d[known])


def _strongest_directions(V: NDArray[np.floating], rank: int) -> NDArray[np.float64]:
    """(K', min(K', rank)): V times this spans the best approximation of V Vᵀ of that rank."""
    if V.shape[1] <= rank:
        return np.eye(V.shape[1])
    _, vectors = np.linalg.eigh((V.T @ V).astype(np.float64))
    directions: NDArray[np.float64] = vectors[:, ::-1][:, :rank]
    return directions


def _set_columns(
    target: Tensor, known: Tensor, first: int, values: NDArray[np.floating], columns: int
) -> None:
    given = values.shape[1]
    target[known, first : first + given] = torch.from_numpy(np.ascontiguousarray(values)).to(target.dtype)
    target[known, first + given : first + columns] *= _NEW_COLUMN_SCALE


def _set_pairs(model: KernelParameters, known: Tensor, F: NDArray[np.floating], previous: Previous) -> None:
    """Copy the columns of B and the strength λ of each pair, the strongest pairs first."""
    pairs = len(model.core.parameters)
    if pairs == 0:
        return
    left, right, strengths = _pairs_of(previous.kernel.core, previous.rank)
    norms = np.linalg.norm(previous.kernel.factors, axis=0)
    order = np.argsort(-strengths * norms[left] * norms[right], kind="stable")[:pairs]
    _set_columns(model.F, known, model.rank, F[:, left[order]], pairs)
    _set_columns(model.F, known, model.rank + pairs, F[:, right[order]], pairs)
    model.core.parameters[: len(order)] = torch.from_numpy(np.log(strengths[order])).to(model.F.dtype)


def _pairs_of(
    core: NDArray[np.float64], rank: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Column, paired column and λ of each entry λ > 0 of the skew part, whatever the order of the columns."""
    left, right = np.nonzero(core > 0)
    in_skew_part = left >= rank
    left, right = left[in_skew_part], right[in_skew_part]
    if len(np.unique(np.concatenate([left, right]))) < 2 * len(left):
        raise OptionError(
            "--init previous cannot use the active model: its skew columns do not come in pairs; "
            "use another --init"
        )
    return left, right, core[left, right]
