"""The coefficients of P(next item | cart, history): a mixture of experts that depends on the cart's size.

    P(i | Y) = Σ_e w_e(Y) P_e(i | Y)                      without a history
    P(i | Y, h) = (1 − w(Y, h)) P(i | Y) + w(Y, h) P_own(i | Y, h)

| expert     | P_e(i | Y) ∝                          | in words                          |
|------------|---------------------------------------|-----------------------------------|
| `together` | Δ_i^a · r_i(Y)^b · L_ii^c             | goes with what is in the cart     |
| `baskets`  | (votes of the most similar baskets)^p | people with such carts bought it  |
| `habit`    | Δ_i^h · L_ii^g · f_i^u                | bought anyway                     |
| `own`      | see `Own`                             | this shopper buys it              |

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
class Own:
    """The shopper's own purchases, beside what goes with the cart.

    P_own(i | Y, h) ∝ P(i | Y)^a · L_ii^c · f_i^u · r_i(h)^e, and for an item of the history also times
    (1 + recent_i / s_i)^p · (1 + count_i / s_i)^o · (1 + votes_i)^q · L_ii^k with
    s_i = 0.15 √(share of baskets with i), so that what is rare elsewhere says more. P(i | Y) is that of the
    other experts, r_i(h) the relevance of i to the items that the shopper buys most, recent_i the count with
    weights exp(−age / days), and votes_i = Σ s_b² the votes of the shopper's own baskets with i by their
    similarity to the cart.
    logit w = weight + baskets · log(number of baskets in h) + repeats · logit(share of the cart in h).
    """

    cart: Line
    popularity: Line
    first: Line
    related: Line
    recent: Line
    often: Line
    votes: Line
    known: Line
    weight: Line
    baskets: Line
    repeats: Line
    days: float  # of the recency weights
    gap_days: float  # the usual time between two baskets, for histories without dates
    longest_gap: float  # days since the last basket, at most: nothing was learned about longer absences

    def share(self, size: int, baskets: int, repeats: int) -> float:
        """w for a cart of `size` items, `repeats` of which are among those of the history's baskets."""
        logit = at(self.weight, size)
        logit += at(self.baskets, size) * float(np.log(baskets))
        logit += at(self.repeats, size) * repeat_logit(size, repeats)
        return float(1 / (1 + np.exp(-logit)))


def repeat_logit(size: int, repeats: int) -> float:
    """The logit of the share of the cart that was bought before, with one item added to either side."""
    return float(np.log((repeats + 1) / (size - repeats + 1)))


@dataclass(frozen=True)
class Mixture:
    """All coefficients; `decoupling` is the ω of conditioning on the cart."""

    decoupling: float
    together: Together
    baskets: SimilarBaskets | None = None
    habit: Habit | None = None
    least_gain: float = 0.0  # the lowest gain, as a share of L_ii: above 0 no item is impossible
    own: Own | None = None  # None: histories change nothing
    own_first: Own | None = None  # for an empty cart, in place of `own`

    @classmethod
    def plain(cls, decoupling: float = 0.0, relevance: float = 0.0, popularity: float = 0.0) -> Mixture:
        """P ∝ Δ_i · r_i^β · L_ii^(−γ); ω = β = γ = 0 is the paper's exact conditioning."""
        return cls(decoupling, Together((1.0, 0.0), (relevance, 0.0), (-popularity, 0.0)))

    def own_at(self, size: int) -> Own | None:
        """The coefficients of `own` for a cart of `size` items."""
        return self.own_first if size == 0 and self.own_first is not None else self.own

    def weights(self, size: int, *, votes: bool) -> tuple[float, float, float]:
        """The weights of `together`, `baskets` and `habit` without a history; no votes, no `baskets`."""
        logs = [
            0.0,
            at(self.baskets.weight, size) if self.baskets and votes else -np.inf,
            at(self.habit.weight, size) if self.habit else -np.inf,
        ]
        shares = np.exp(np.array(logs) - max(logs))
        together, baskets, habit = (shares / shares.sum()).tolist()
        return together, baskets, habit
