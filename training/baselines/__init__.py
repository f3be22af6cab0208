"""Simple recommenders to compare with; `blend` is apart because its tuning needs torch."""

from __future__ import annotations

from collections.abc import Sequence

from training.baselines.als import Als
from training.baselines.base import Baseline, BaselineUnavailableError, LinearBaseline
from training.baselines.confidence import Confidence
from training.baselines.ease import Ease
from training.baselines.item_knn import ItemKNN
from training.baselines.personal_frequency import PersonalFrequency
from training.baselines.popularity import Popularity
from training.baselines.tifu_knn import TifuKnn
from training.baselines.up_cf import UpCf
from training.baskets import Baskets

__all__ = [
    "BASELINES",
    "HISTORY_BASELINES",
    "Als",
    "Baseline",
    "BaselineUnavailableError",
    "Confidence",
    "Ease",
    "ItemKNN",
    "LinearBaseline",
    "PersonalFrequency",
    "Popularity",
    "TifuKnn",
    "UpCf",
    "fit_baselines",
]

BASELINES: tuple[type[Baseline], ...] = (Popularity, ItemKNN, Confidence, Ease, Als)
HISTORY_BASELINES: tuple[type[Baseline], ...] = (PersonalFrequency, ItemKNN, Ease, TifuKnn, UpCf, Popularity)


def fit_baselines(
    baskets: Baskets,
    validation: Baskets | None = None,
    kinds: Sequence[type[Baseline]] = BASELINES,
) -> tuple[list[Baseline], dict[str, str]]:
    """The fitted baselines, and for each baseline that cannot be fitted, by name, the reason."""
    fitted, skipped = [], {}
    for make in kinds:
        baseline = make()
        try:
            fitted.append(baseline.fit(baskets, validation))
        except BaselineUnavailableError as reason:
            skipped[baseline.name] = str(reason)
    return fitted, skipped
