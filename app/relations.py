"""Which items of a set attract or replace each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, Field

from app.fields import KnownItemId
from app.items.catalogue import Catalogue
from ndpp import lifts


class RelatedPair(BaseModel):
    """Two items of a cart or bundle."""

    first: KnownItemId
    second: KnownItemId
    lift: float = Field(description="Above 1 complements, below 1 substitutes.", examples=[1.7])


def pairs_among(catalogue: Catalogue, rows: Sequence[int]) -> list[RelatedPair]:
    """All pairs of the rows, from the highest lift to the lowest."""
    matrix = lifts(catalogue.model.kernel, rows)
    first, second = np.triu_indices(len(rows), 1)
    order = np.argsort(-matrix[first, second], kind="stable")
    return [
        RelatedPair(
            first=catalogue.item_id(rows[i]), second=catalogue.item_id(rows[j]), lift=float(matrix[i, j])
        )
        for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True)
    ]
