"""What an answer says when the model alone could not give what was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from app import metrics


@dataclass(slots=True)
class Fallback:
    """Why the model alone did not fill the answer."""

    reason: Annotated[
        Literal["only_unknown_items", "too_few_candidates"],
        Field(
            description="`only_unknown_items`: the model knows no item of the cart, and answers as for an "
            "empty one. `too_few_candidates`: fewer items than asked for fit the cart and the filters."
        ),
    ]
    message: str
    filled: Annotated[int, Field(description="How many popular items fill the end of the list.")]


def only_unknown_items(filled: int = 0) -> Fallback:
    """The cart holds something, but nothing that the model knows."""
    message = "The model knows no item of the cart: this is the answer for an empty one."
    return Fallback("only_unknown_items", message, filled)


def too_few_candidates(message: str, filled: int = 0) -> Fallback:
    """There is less to offer than was asked for; the message has the figures."""
    return Fallback("too_few_candidates", message, filled)


def count(fallback: Fallback | None) -> None:
    """Count an answer in the metrics if it has a fallback."""
    if fallback is not None:
        metrics.FALLBACKS.labels(fallback.reason).inc()
