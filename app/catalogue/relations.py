"""How two items relate: the lift, its interval, and the counts behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from app.catalogue.snapshot import Snapshot
from app.http.inputs import KnownItemId
from ndpp.lifts import COMPLEMENT, SUBSTITUTE, PairLifts

Relation = Literal["complement", "substitute", "neutral"]
RELATIONS: dict[int, Relation] = {0: "neutral", COMPLEMENT: "complement", SUBSTITUTE: "substitute"}
CODES: dict[Relation, int] = {name: code for code, name in RELATIONS.items()}


class Lift(BaseModel):
    """How much more often two items are bought together than by chance."""

    lift: float = Field(
        description="`together` / `by_chance`, shrunk towards the model's expectation if counts are small: "
        "above 1, the two attract each other; below 1, they avoid each other.",
        examples=[1.8],
    )
    lift_low: float = Field(description="Lower end of the 95 % interval of the lift.", examples=[1.5])
    lift_high: float = Field(description="Upper end of the 95 % interval of the lift.", examples=[2.1])
    together: int | None = Field(
        description="Training baskets with both; null if the count of this rare pair was not kept.",
        examples=[96],
    )
    by_chance: float = Field(
        description="Training baskets expected to have both if the two were unrelated, given the sizes of "
        "the baskets that have each.",
        examples=[52.4],
    )


class _TwoItems(BaseModel):
    first: KnownItemId
    second: KnownItemId
    relation: Relation = Field(description="As in `/items/{item_id}/related`.")


class RelatedPair(Lift, _TwoItems):  # the fields of the last base come first
    """Two items of a cart or bundle."""


def lift_fields(lifts: PairLifts, pair: int) -> dict[str, Any]:
    """The fields of `Lift` for one of the pairs."""
    return {
        "lift": float(lifts.lift[pair]),
        "lift_low": float(lifts.low[pair]),
        "lift_high": float(lifts.high[pair]),
        "together": lifts.counted(pair),
        "by_chance": float(lifts.by_chance[pair]),
    }


def pairs_among(snapshot: Snapshot, rows: Sequence[int]) -> list[RelatedPair]:
    """All pairs of the rows, highest lift first; none if the model has no lifts."""
    if (relations := snapshot.model.relations) is None:
        return []
    index = np.asarray(rows, dtype=np.intp)
    one, other = np.triu_indices(len(index), 1)
    found = relations.between(index[one], index[other])
    return [
        RelatedPair(
            first=snapshot.item_id(rows[one[pair]]),
            second=snapshot.item_id(rows[other[pair]]),
            relation=RELATIONS[int(found.relation[pair])],
            **lift_fields(found, pair),
        )
        for pair in np.argsort(-found.lift, kind="stable").tolist()
    ]


def most_certain(
    pairs: list[RelatedPair], relation: Literal["complement", "substitute"]
) -> list[RelatedPair]:
    """The pairs with this relation, most certain first."""
    matching = [pair for pair in pairs if pair.relation == relation]
    if relation == "complement":
        return sorted(matching, key=lambda pair: -pair.lift_low)
    return sorted(matching, key=lambda pair: pair.lift_high)
