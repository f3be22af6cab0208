"""Refuse requests for bundles that cannot be answered, or that would take too long, before the search."""

from __future__ import annotations

from collections import Counter
from math import comb
from typing import Literal

import numpy as np

from app.bundles.determinant import map_operations, method_of
from app.bundles.personal import known_factors
from app.bundles.schemas import BundleRequest
from app.bundles.together import operations
from app.http.errors import Invalid
from app.recommend.question import Question
from ndpp.bundles.exact import MOST_SETS

Source = Literal["query", "body"]
_MOST_OPERATIONS = 4e9  # multiply-adds of one request: about two seconds


def can_do_together(question: Question[BundleRequest]) -> bool:
    """Whether to estimate P(set | cart): the model was fitted for it, and the request does not want `map`."""
    return question.snapshot.model.sets is not None and not question.options.wants_map


def checked_operations(question: Question[BundleRequest], source: Source) -> float:
    """Estimated multiply-adds; Invalid if there are too many, or if the options contradict each other."""
    request, model = question.options, question.snapshot.model
    if can_do_together(question):
        _check_include(question, source)
        needed = model.operations_of_one(len(question.cart.rows)) + operations(question)
        options = "k, max_k, alternatives or skip"
    else:
        wanted = ["objective"] if request.objective == "together" else request.only_together
        if wanted:
            message = "this model was not fitted for together: train a version with this release"
            raise Invalid((f"{source}.{wanted[0]}", message))
        candidates = int(np.count_nonzero(known_factors(question))) - len(question.cart.rows)
        if request.method == "exact" and (sets := comb(max(candidates, 0), request.k)) > MOST_SETS:
            message = (
                f"exact would try {sets:,} sets of {candidates:,} items, more than {MOST_SETS:,}: "
                "filter more, lower k, or use local_search"
            )
            raise Invalid((f"{source}.method", message))
        needed = map_operations(question, candidates)
        options = "k, alternatives or skip" if method_of(request) != "exact" else "k, or filter more"
    if question.past is not None:
        needed += 2 * model.operations_of_one(len(question.cart.rows))
    if needed > _MOST_OPERATIONS:
        raise Invalid((f"{source}.k", f"this would take too long: lower {options}"))
    return needed


def _check_include(question: Question[BundleRequest], source: Source) -> None:
    """Every included item is known, and together they respect the limits on a bundle."""
    snapshot, request = question.snapshot, question.options
    found = {item_id: snapshot.row_of(item_id) for item_id in request.include}
    for item_id, row in found.items():
        if row is None:
            raise Invalid((f"{source}.include", f"the model does not know item {item_id!r}"))
    rows = [row for row in found.values() if row is not None and row not in question.cart.rows]
    if request.max_total_price is not None and rows:
        total = float(snapshot.prices[rows].sum())
        if not total <= request.max_total_price + 1e-9:
            cost = "the price of an item is unknown" if np.isnan(total) else f"these items cost {total:.2f}"
            raise Invalid((f"{source}.include", f"{cost}: max_total_price is {request.max_total_price:g}"))
    categories = Counter(snapshot.category(row) for row in rows)
    categories.pop(None, None)
    for category, count in categories.items():
        if request.max_per_category is not None and count > request.max_per_category:
            message = f"{count} of these items are in {category!r}: max_per_category is"
            raise Invalid((f"{source}.include", f"{message} {request.max_per_category}"))
