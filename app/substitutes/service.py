"""Substitutes for items of a cart, ordered by how they fit the rest of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.catalogue.filters import selection
from app.catalogue.relations import lift_fields
from app.catalogue.snapshot import Snapshot
from app.http.errors import Invalid
from app.recommend.question import Question, Questions
from app.recommend.request import Basket
from app.runtime import metrics
from app.runtime.compute import Compute
from app.substitutes.schemas import (
    ItemToReplace,
    Replacement,
    Shortage,
    SubstituteOptions,
    SubstitutesAnswer,
)
from ndpp import Prediction
from ndpp.kernel import Indices
from ndpp.lifts import SUBSTITUTE, RelatedItems


class Substitutes:
    """Finds substitutes for items of carts."""

    def __init__(self, questions: Questions, compute: Compute) -> None:
        self._questions = questions
        self._compute = compute

    async def of(self, basket: Basket, options: SubstituteOptions) -> SubstitutesAnswer:
        """Substitutes for the named items of a stored cart or a list, or for those out of stock."""
        question = await self._questions.about(basket, options)
        item_ids = _to_replace(question)
        operations = question.snapshot.model.operations(len(question.cart.rows)) * len(item_ids)
        return await self._compute.run(operations, lambda: _answer(question, item_ids))


def _to_replace(question: Question[SubstituteOptions]) -> list[str]:
    """The ids of the items to replace; Invalid if one of them is not in the cart."""
    snapshot, cart = question.snapshot, question.cart
    rows = [*cart.earlier, *cart.rows]
    if not question.options.replace:
        return [snapshot.item_id(row) for row in rows if not snapshot.in_stock[row]]
    named = list(dict.fromkeys(question.options.replace))
    missing = set(named).difference(map(snapshot.item_id, rows), cart.unknown)
    if missing:
        raise Invalid(
            *(("query.replace", f"{item_id!r} is not in the cart") for item_id in named if item_id in missing)
        )
    return named


def _answer(question: Question[SubstituteOptions], item_ids: Sequence[str]) -> SubstitutesAnswer:
    snapshot = question.snapshot
    found = _replacements(question, snapshot.rows_of(item_ids))
    return SubstitutesAnswer(
        model_version=snapshot.model.version,
        cart=question.cart.considered(snapshot),
        items=[_item(question, item_id, found) for item_id in item_ids],
    )


def _replacements(question: Question[SubstituteOptions], rows: Sequence[int]) -> dict[int, list[Replacement]]:
    """The replacements of each row, best first; none for rows without any."""
    snapshot, cart, options = question.snapshot, question.cart, question.options
    model = snapshot.model
    if (relations := model.relations) is None:
        return {}
    allowed = selection(snapshot, options).factors[: model.kernel.size] > 0
    allowed[[*cart.earlier, *cart.rows]] = False
    substitutes = {row: relations.related(row, SUBSTITUTE) for row in rows}
    offered = {row: others[allowed[others]] for row, others in substitutes.items() if allowed[others].any()}
    rests = [[other for other in cart.rows if other != row] for row in offered]
    metrics.GAINS.inc(model.kernel.size * len(rests))
    predictions = zip(offered.items(), model.next_item.given_each(rests), strict=True)
    return {
        row: _ranked(snapshot, relations, row, others, rest)[: options.k]
        for (row, others), rest in predictions
    }


def _ranked(
    snapshot: Snapshot, relations: RelatedItems, row: int, others: Indices, rest: Prediction
) -> list[Replacement]:
    """The substitutes of a row, ordered by how they fit the rest of the cart."""
    lifts = relations.between(np.full(len(others), row), others)
    fit = rest.expert_shares(others).sum(axis=0)  # P(other | rest of the cart)
    with np.errstate(divide="ignore"):
        times_usual = np.exp(np.log(fit) - rest.model.log_usual[others])
    order = np.lexsort((lifts.high, -fit))
    calibrated, price = snapshot.model.gives_probabilities, snapshot.price(row)
    return [
        Replacement(
            item_id=snapshot.item_id(other),
            name=snapshot.name(other),
            category=snapshot.category(other),
            price=snapshot.price(other),
            **lift_fields(lifts, place),
            price_difference=_difference(snapshot.price(other), price),
            probability=min(float(fit[place]), 1.0) if calibrated else None,
            times_usual=float(times_usual[place]) if calibrated else None,
        )
        for place, other in zip(order.tolist(), others[order].tolist(), strict=True)
    ]


def _difference(price: float | None, other: float | None) -> float | None:
    return None if price is None or other is None else round(price - other, 6)


def _item(
    question: Question[SubstituteOptions], item_id: str, found: dict[int, list[Replacement]]
) -> ItemToReplace:
    snapshot, k = question.snapshot, question.options.k
    version = snapshot.model.version
    if (row := snapshot.row_of(item_id)) is None:
        return ItemToReplace(
            item_id=item_id,
            name=None,
            category=None,
            price=None,
            in_stock=None,
            replacements=[],
            shortage=Shortage(reason="unknown_item", message=f"Model {version} does not know this item."),
        )
    replacements = found.get(row, [])
    return ItemToReplace(
        item_id=item_id,
        name=snapshot.name(row),
        category=snapshot.category(row),
        price=snapshot.price(row),
        in_stock=bool(snapshot.in_stock[row]),
        replacements=replacements,
        shortage=_shortage(snapshot, row, len(replacements), k),
    )


def _shortage(snapshot: Snapshot, row: int, found: int, k: int) -> Shortage | None:
    """Why there are fewer than k replacements, None if there are k."""
    if found == k:
        return None
    if (relations := snapshot.model.relations) is None:
        message = f"Model {snapshot.model.version} was trained by release 0.1, which did not count pairs."
        return Shortage(reason="no_lifts", message=message)
    known = len(relations.related(row, SUBSTITUTE))
    if not known:
        message = "The baskets show no substitute of this item."
        return Shortage(reason="no_substitutes", message=message)
    message = f"This item has {'1 substitute' if known == 1 else f'{known} substitutes'}; "
    if found == known:
        message += f"{k} were requested."
    else:
        message += f"{known - found} left out: in the cart, out of stock, hidden or filtered out."
    return Shortage(reason="too_few_candidates", message=message)
