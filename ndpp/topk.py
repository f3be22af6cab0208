"""The next item: exact top-k of a conditioned cart."""

from __future__ import annotations

from ndpp.conditional import Conditional
from ndpp.scan import Ranking, Scoring, best_rows
from ndpp.tilt import NO_TILT, Tilt


def top_k(state: Conditional, k: int, tilt: Tilt | None = None) -> Ranking:
    """The k items with the highest tilted gain. Rows in the cart or with τ² = 0 never appear.

    The scan runs in the precision of F, the finalists are scored again in float64.
    """
    tilt = tilt or NO_TILT
    tilt.check(state.kernel.size)
    return best_rows(gain_scoring(state), k, tilt, state.cart)


def gain_scoring(state: Conditional) -> Scoring:
    """Gains as the bounded scan wants them: Δ_i ≤ L_ii + growth · ‖f_i‖²."""
    form = state.form
    return Scoring(state.kernel, form.scan, form.rounding, form.gains, lambda: (1.0, form.growth))
