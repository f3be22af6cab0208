"""The percentile of a cart among real baskets of similar size."""

from __future__ import annotations

import numpy as np
import pytest

from ndpp.coherence import CoherenceScale, size_class

POINTS = np.array([-1.0, 0.0, 0.0, 0.0, 2.0])
SCALE = CoherenceScale(
    np.array([POINTS, POINTS + 1, *np.full((4, 5), np.nan)]), np.array([50, 60, 3, 0, 0, 0])
)


def test_size_classes_double() -> None:
    sizes = [2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 500]
    assert [size_class(size) for size in sizes] == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize(
    ("value", "size", "percentile"),
    [(-2.0, 2, 0), (-1.0, 2, 10), (-0.5, 2, 20), (0.0, 2, 50), (1.0, 2, 80), (9.0, 2, 100), (1.0, 4, 50)],
)
def test_percentile_counts_ties_half(value: float, size: int, percentile: float) -> None:
    assert SCALE.percentile(value, size) == pytest.approx(percentile)


def test_no_percentile_for_single_items_and_rare_sizes() -> None:
    for size in (0, 1, 5, 40):
        assert SCALE.percentile(0.0, size) is None


def test_invalid_coherence_scale_is_refused() -> None:
    SCALE.check(3)
    for quantiles in (SCALE.quantiles[:5], SCALE.quantiles[:, ::-1], np.full((6, 0), 1.0)):
        with pytest.raises(ValueError, match="coherence scale"):
            CoherenceScale(quantiles, SCALE.baskets).check(3)
    with pytest.raises(ValueError, match="coherence scale"):
        CoherenceScale(SCALE.quantiles, SCALE.baskets[:3]).check(3)
