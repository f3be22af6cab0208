"""How two items relate, as every answer says it: the lift, its interval, and the counts behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from app.fields import KnownItemId
from app.items.catalogue import Catalogue
from ndpp.lifts import COMPLEMENT, SUBSTITUTE, PairLifts

Relation = Literal["complement", "substitute", "neutral"]
RELATIONS: dict[int, Relation] = {0: "neutral", COMPLEMENT: "complement", SUBSTITUTE: "substitute"}
CODES: dict[Relation, int] = {name: code for code, name in RELATIONS.items()}


class Lift(BaseModel):
    """How much more often two items are together than by chance."""

    lift: float = Field(
        description="`together` / `by_chance`, shrunk towards what the model expects where counts are small: "
        "above 1 the two attract, below 1 they avoid each other.",
        examples=[1.8],
    )
    lift_low: float = Field(description="Lower end of the 95 % interval of the lift.", examples=[1.5])
    lift_high: float = Field(description="Upper end of the 95 % interval of the lift.", examples=[2.1])
    together: int | None = Field(
        description="Training baskets that hold both; null if this rare pair's count was not kept.",
        examples=[96],
    )
    by_chance: float = Field(
        description="Training baskets that would hold both if the two were unrelated, given how large the "
        "baskets are that hold each.",
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


def pairs_among(catalogue: Catalogue, rows: Sequence[int]) -> list[RelatedPair]:
    """All pairs of the rows, from the highest lift to the lowest; none if the model has no lifts."""
    if (relations := catalogue.model.relations) is None:
        return []
    index = np.asarray(rows, dtype=np.intp)
    one, other = np.triu_indices(len(index), 1)
    found = relations.between(index[one], index[other])
    return [
        RelatedPair(
            first=catalogue.item_id(rows[one[pair]]),
            second=catalogue.item_id(rows[other[pair]]),
            relation=RELATIONS[int(found.relation[pair])],
            **lift_fields(found, pair),
        )
        for pair in np.argsort(-found.lift, kind="stable").tolist()
    ]


def surest(pairs: list[RelatedPair], relation: Literal["complement", "substitute"]) -> list[RelatedPair]:
    """The pairs of this relation, the surest first."""
    stated = [pair for pair in pairs if pair.relation == relation]
    if relation == "complement":
        return sorted(stated, key=lambda pair: -pair.lift_low)
    return sorted(stated, key=lambda pair: pair.lift_high)


def relations_to_cart(catalogue: Catalogue, rows: Sequence[int], cart: Sequence[int]) -> list[Relation]:
    """For each row `substitute` if it replaces a cart item, else `complement` if it goes with one."""
    if (relations := catalogue.model.relations) is None or not cart:
        return ["neutral"] * len(rows)
    return [RELATIONS[code] for code in relations.to_cart(rows, cart).tolist()]
