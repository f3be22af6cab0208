"""The options of a fit; stored with the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from training.baskets import Baskets
from training.errors import OptionError

KernelKind = Literal["symmetric", "ndpp2019", "scalable", "tied"]
Init = Literal["scaled", "paper", "previous"]
Effort = Literal["quick", "thorough"]
Tune = Literal["none", Effort]

_LARGEST_SKEW_RANK = 300
_LARGEST_RANK = 50
_TRAINING_BYTES = 7 * 2**28  # 1.75 GiB for F, its gradient, Adam's two moments, and two copies
_STEP_COST = 2e9  # limit of M·R² for the skew rank: half a second per step on one core
_LEAST_SKEW_RANK = 100  # allowed at any cost per step


@dataclass(frozen=True, slots=True)
class FitOptions:
    """The options of one fit; a rank of None is chosen from the data by `suggest_ranks`."""

    kernel: KernelKind = "scalable"
    rank: int | None = None  # K, columns of V
    skew_rank: int | None = None  # columns of B (ndpp2019: of B and C together)
    diagonal: bool = True
    alpha: float = 0.01  # regularisation of V
    beta: float = 0.01  # regularisation of B
    init: Init = "scaled"
    steps: int = 1000
    batch_size: int = 400
    learning_rate: float = 0.01
    evaluate_every: int = 25
    patience: int = 24  # evaluations without improvement before stopping early
    half_life_days: float | None = None  # baskets of this age have half the weight
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("rank", "steps", "batch_size", "evaluate_every", "patience", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise OptionError(f"--{name.replace('_', '-')} must be at least 1, not {value}")
        for name in ("alpha", "beta"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise OptionError(f"--{name} must be zero or more, not {getattr(self, name)}")
        for name in ("learning_rate", "half_life_days"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise OptionError(f"--{name.replace('_', '-')} must be above zero, not {value}")
        if self.skew_rank is not None and self.has_pairs and (self.skew_rank < 2 or self.skew_rank % 2):
            raise OptionError(
                f"--skew-rank must be even and at least 2 (columns come in pairs), not {self.skew_rank}"
            )

    @property
    def has_pairs(self) -> bool:
        """Whether the kernel has skew columns apart from V."""
        return self.kernel in ("ndpp2019", "scalable")

    def as_dict(self) -> dict[str, str | int | float | bool | None]:
        """For the manifest."""
        return asdict(self)


def suggest_ranks(baskets: Baskets, rank: int | None = None) -> tuple[int, int]:
    """(rank, skew rank): as large as helped on real data, limited by catalogue size, memory and time."""
    items = len(baskets.catalogue)
    rank = rank or max(2, min(_LARGEST_RANK, items // 2))
    fast_enough = max(_LEAST_SKEW_RANK, int((_STEP_COST / items) ** 0.5) - rank)
    affordable = min(_TRAINING_BYTES // (6 * 4 * items) - rank, fast_enough)
    skew_rank = max(2, min(_LARGEST_SKEW_RANK, items, affordable))
    return rank, skew_rank - skew_rank % 2
