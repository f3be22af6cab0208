"""The coefficients of P(next item | cart): a mixture of experts that depends on the cart's size.

    P(i | Y) = Σ_e w_e(Y) P_e(i | Y)

| expert     | P_e(i | Y) ∝                          | in words                          |
|------------|---------------------------------------|-----------------------------------|
| `together` | Δ_i^a · r_i(Y)^b · L_ii^c             | goes with what is in the cart     |
| `baskets`  | (votes of the most similar baskets)^p | people with such carts bought it  |
| `habit`    | Δ_i^h · L_ii^g · f_i^u                | bought anyway                     |

f_i is the share of training baskets, in random order and cut off at a random place, in which item i comes
next to an empty cart. Each exponent and each log-weight is linear in log(1 + |Y|).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Line = tuple[float, float]  # constant and slope: constant + slope · log(1 + |Y|)


def at(line: Line, size: int) -> float:
    """The line's value for a cart of `size` items."""
    return line[0] + line[1] * float(np.log1p(size))


@dataclass(frozen=True)
class Together:
    """Exponents of the gain Δ, the relevance prior r and the item's own weight L_ii."""

    gain: Line
    relevance: Line
    popularity: Line


@dataclass(frozen=True)
class SimilarBaskets:
    """The exponent of the votes, and the expert's log-weight relative to `together`."""

    power: Line
    weight: Line


@dataclass(frozen=True)
class Habit:
    """Exponents of the gain, of L_ii and of f, and the expert's log-weight relative to `together`."""

    gain: Line
    popularity: Line
    first: Line
    weight: Line


@dataclass(frozen=True)
class Mixture:
    """All coefficients; `decoupling` is the ω of conditioning on the cart."""

    decoupling: float
    together: Together
    baskets: SimilarBaskets | None = None
    habit: Habit | None = None
    least_gain: float = 0.0  # the lowest gain, as a share of L_ii: above 0 no item is impossible

    @classmethod
    def plain(cls, decoupling: float = 0.0, relevance: float = 0.0, popularity: float = 0.0) -> Mixture:
        """P ∝ Δ_i · r_i^β · L_ii^(−γ); ω = β = γ = 0 is the paper's exact conditioning."""
        return cls(decoupling, Together((1.0, 0.0), (relevance, 0.0), (-popularity, 0.0)))

    def weights(self, size: int, *, votes: bool) -> tuple[float, float, float]:
        """The weights of `together`, `baskets` and `habit`; that of `baskets` is 0 without votes."""
        logs = [
            0.0,
            at(self.baskets.weight, size) if self.baskets and votes else -np.inf,
            at(self.habit.weight, size) if self.habit else -np.inf,
        ]
        shares = np.exp(np.array(logs) - max(logs))
        together, baskets, habit = (shares / shares.sum()).tolist()
        return together, baskets, habit
