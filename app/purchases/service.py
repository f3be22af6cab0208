"""Records, cancels and returns purchases that the shop made elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence

from pydantic import ValidationError

from app.http.errors import (
    BadRequest,
    IdempotencyKeyReused,
    Invalid,
    PurchaseExists,
    PurchaseNotFound,
)
from app.http.inputs import message_of
from app.http.lines import NumberedLine, batches_of_lines
from app.http.problems import InvalidPart, parts_of
from app.purchases.schemas import (
    FailedLine,
    ImportAnswer,
    NewPurchase,
    Returns,
    lines_of,
    milliseconds,
)
from app.purchases.store import Correction, Order, OrderStore, Purchase
from app.settings import Settings
from app.shoppers.ids import ShopperHashes

_FAILURES_SHOWN = 100


class Purchases:
    """Records and corrects purchases."""

    def __init__(self, store: OrderStore, hashes: ShopperHashes, settings: Settings) -> None:
        self._store = store
        self._hashes = hashes
        self._max_line_bytes = settings.max_body_bytes

    async def record(self, body: bytes) -> tuple[bool, Order]:
        """Record the purchase in a JSON body; returns whether it is new, and its order."""
        try:
            given = NewPurchase.model_validate_json(body)
        except ValidationError as error:
            parts = error.errors(include_url=False)
            if parts[0]["type"] == "json_invalid":
                raise BadRequest(f"The body is not valid JSON: {parts[0]['ctx']['error']}.") from None
            raise Invalid(
                *((".".join(map(str, ("body", *part["loc"]))), message_of(part)) for part in parts[:20])
            ) from None
        ((outcome, order),) = await self._store.record([await self._purchase(given)])
        if outcome == "differs":
            raise PurchaseExists(_differs(given.order_id))
        return outcome == "recorded", order

    async def record_lines(self, body: AsyncIterable[bytes]) -> ImportAnswer:
        """Record the purchases in a body of one JSON object a line; bad lines do not stop the others."""
        answer = ImportAnswer(recorded=0, repeated=0, failed_count=0, failed=[])
        async for batch in batches_of_lines(body, self._max_line_bytes):
            await self._record_batch(batch, answer)
        return answer

    async def _record_batch(self, batch: Sequence[NumberedLine], answer: ImportAnswer) -> None:
        numbers, purchases, failed = list[int](), list[Purchase](), list[FailedLine]()
        for line in batch:
            try:
                purchases.append(await self._purchase(self._parsed(line)))
                numbers.append(line.number)
            except ValidationError as error:
                failed.append(FailedLine(line=line.number, errors=parts_of(error)))
            except Invalid as problem:
                failed.append(FailedLine(line=line.number, errors=problem.members["errors"]))
        for number, (outcome, order) in zip(numbers, await self._store.record(purchases), strict=True):
            answer.recorded += outcome == "recorded"
            answer.repeated += outcome == "repeated"
            if outcome == "differs":
                part = InvalidPart(where="order_id", message=_differs(order.order_id).removesuffix("."))
                failed.append(FailedLine(line=number, errors=[part]))
        answer.failed_count += len(failed)
        failed.sort(key=lambda each: each.line)
        answer.failed += failed[: _FAILURES_SHOWN - len(answer.failed)]

    def _parsed(self, line: NumberedLine) -> NewPurchase:
        if line.text is None:
            raise Invalid(("line", f"it has more than {self._max_line_bytes} bytes"))
        return NewPurchase.model_validate_json(line.text)

    async def _purchase(self, given: NewPurchase) -> Purchase:
        return Purchase(
            order_id=given.order_id,
            lines=lines_of(given.items),
            shopper=None if given.shopper_id is None else await self._hashes.of(given.shopper_id),
            timestamp=milliseconds(given.timestamp),
        )

    async def cancel(self, order_id: str) -> None:
        """Cancel a purchase; repeating it changes nothing."""
        await self._correct(Correction(order_id))

    async def take_back(self, order_id: str, returns: Returns, key: str | None) -> Order:
        """Take lines of a purchase back; returns what is left."""
        return await self._correct(Correction(order_id, lines_of(returns.items), key))

    async def _correct(self, correction: Correction) -> Order:
        outcome, order = await self._store.correct(correction)
        if outcome == "key_reused":
            raise IdempotencyKeyReused(
                ("header.Idempotency-Key", "it was used with another request: use a new key")
            )
        if order is None:
            raise PurchaseNotFound(
                f"There is no purchase {correction.order_id!r}: it was never recorded, or it is too old."
            )
        if outcome == "too_many":
            raise _too_many(correction, order)
        return order


def _too_many(correction: Correction, order: Order) -> Invalid:
    left = dict(order.lines)
    item_id, quantity = next(line for line in correction.returned or () if line[1] > left.get(line[0], 0))
    return Invalid(
        ("body.items", f"{quantity} of item {item_id!r} cannot be returned: {left.get(item_id, 0)} are left")
    )


def _differs(order_id: str) -> str:
    return (
        f"Order {order_id!r} was recorded with other content: to change it, cancel it or return lines of it, "
        "and record the rest under a new order_id."
    )
