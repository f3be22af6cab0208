"""The columns of a few items, for tests of conditions."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.catalogue.attributes import AttributeColumns, Columns
from app.catalogue.categories import Categories
from model_store.columns import Coded

Item = dict[str, Any]


def columns_of(items: list[Item]) -> Columns:
    return Columns(
        ids=[item["id"] for item in items],
        names=[item["name"] for item in items],
        categories=Categories.of(Coded.of(item["category"] for item in items)),
        prices=np.array([np.nan if item["price"] is None else item["price"] for item in items]),
        in_stock=np.array([item["in_stock"] for item in items], dtype=np.bool_),
        parents=[item["parent_id"] for item in items],
        attributes=AttributeColumns.of(
            len(items), {row: item["attributes"] for row, item in enumerate(items) if item["attributes"]}
        ),
    )
