"""Compares answers over HTTP with the full pass over the catalogue in this process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import uvloop
from pydantic_core import from_json

from benchmarks.http_load import exchange, get
from model_store import StoredModel
from ndpp.ranking import Order, best_items

ITEMS = 10
NEAR = 0.02  # relative error of a probability


def measure_truth(
    stored: StoredModel, port: int, carts: Sequence[list[int]], paths: Sequence[str]
) -> dict[str, float]:
    """Shares of carts with the right list, and with all probabilities within NEAR; and the errors.

    `exact` and `error_covered` are about what the answers say themselves: that the list is certain, and how
    large the error of the probabilities is.
    """
    answers = uvloop.run(exchange(port, (get(path) for path in paths), 1))
    everything = np.ones(stored.kernel.size)
    same, near, exact, covered, errors = 0, 0, 0, 0, []
    for (_, body), prediction in zip(answers, stored.next_item.given_each(carts), strict=True):
        answer = from_json(body)
        best = best_items(prediction, ITEMS, everything, Order())
        same += [item["item_id"] for item in answer["items"]] == [stored.items.ids[row] for row in best.rows]
        claimed = {item["item_id"]: item["probability"] for item in answer["items"]}
        true = prediction.probabilities[stored.items.rows_of_each(claimed)]
        error = float(np.abs(np.array(list(claimed.values())) / true - 1).max(initial=0.0))
        errors.append(error)
        near += error <= NEAR
        exact += answer.get("exact", True)
        covered += error <= (answer.get("probability_error") or 0.0) + 1e-4
    count = len(carts)
    return {
        "carts": count,
        "same ids": same / count,
        "probabilities within 2 %": near / count,
        "mean error": float(np.mean(errors)),
        "largest error": max(errors),
        "exact": exact / count,
        "error covered": covered / count,
    }
