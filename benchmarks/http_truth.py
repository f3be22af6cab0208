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
_ROUNDING = 1e-5  # of gains in float32


def measure_truth(
    stored: StoredModel, port: int, carts: Sequence[list[int]], paths: Sequence[str]
) -> dict[str, float]:
    """Shares of carts with the right list, and with all probabilities within NEAR; and the errors.

    The last two shares are about what the answers say themselves: that the list is certain, and an estimate
    of the error of the probabilities. They are 0 if the answers say nothing about it.
    """
    answers = uvloop.run(exchange(port, (get(path) for path in paths), 1))
    everything = np.ones(stored.kernel.size)
    same, near, certain, covered, errors = 0, 0, 0, 0, []
    for (_, body), prediction in zip(answers, stored.next_item.given_each(carts), strict=True):
        answer = from_json(body)
        best = best_items(prediction, ITEMS, everything, Order())
        same += [item["item_id"] for item in answer["items"]] == [stored.items.ids[row] for row in best.rows]
        claimed = {item["item_id"]: item["probability"] for item in answer["items"]}
        true = prediction.probabilities[stored.items.rows_of_each(claimed)]
        error = float(np.abs(np.array(list(claimed.values())) / true - 1).max(initial=0.0))
        errors.append(error)
        near += error <= NEAR
        certain += answer.get("exact", False)
        estimate = answer.get("probability_error")
        covered += estimate is not None and error <= estimate + _ROUNDING
    count = len(carts)
    return {
        "carts": count,
        "same ids": same / count,
        "probabilities within 2 %": near / count,
        "mean error": float(np.mean(errors)),
        "largest error": max(errors),
        "said to be exact": certain / count,
        "within the estimated error": covered / count,
    }
