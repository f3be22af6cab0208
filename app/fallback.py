"""What an answer says when the model alone could not give what was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from app import metrics
from app.baskets import KnownCart


@dataclass(slots=True)
class Fallback:
    """Why the model alone did not fill the answer."""

    reason: Annotated[
        Literal["only_unknown_items", "too_few_candidates"],
        Field(
            description="`only_unknown_items`: the model knows no item of the cart, and answers as for an "
            "empty one. `too_few_candidates`: fewer items than asked for fit the cart and the filters. "
            "Should both be so, the first is the reason, and `message` says both."
        ),
    ]
    message: str
    filled: Annotated[int, Field(description="How many popular items fill the end of the list.")]


def fallback_of(cart: KnownCart, shortage: str | None, filled: int = 0) -> Fallback | None:
    """What an answer says if the model knows nothing of the cart, or there is a `shortage` of items.

    `shortage` is a sentence with the figures, None if there is as much as was asked for.
    """
    if cart.only_unknown:
        unknown = "The model knows no item of the cart: this is the answer for an empty one."
        return Fallback("only_unknown_items", " ".join(filter(None, [unknown, shortage])), filled)
    return None if shortage is None else Fallback("too_few_candidates", shortage, filled)


def count(fallback: Fallback | None) -> None:
    """Count an answer in the metrics if it has a fallback."""
    if fallback is not None:
        metrics.FALLBACKS.labels(fallback.reason).inc()
