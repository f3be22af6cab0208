"""How true the numbers are that a version shows: claimed against true, on baskets it has not learned from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

from pydantic import JsonValue

from training.evaluation.basket_sizes import SizeAccuracy
from training.evaluation.calibration import NextItemCalibration
from training.evaluation.relations import RARELY_TOGETHER, LiftCheck


class Row(NamedTuple):
    """One line of the report's table."""

    what: str
    claimed: str
    true: str


@dataclass(frozen=True)
class Truth:
    """Each part is None where the version makes no such claim, or where no baskets were held out."""

    next_item: NextItemCalibration | None = None
    basket_size: SizeAccuracy | None = None
    lifts: LiftCheck | None = None

    def as_dict(self) -> dict[str, JsonValue] | None:
        """For the manifest and `report.json`; None if nothing was checked."""
        if self == Truth():
            return None
        return {
            "next_item": None if self.next_item is None else self.next_item.as_dict(),
            "basket_size": None if self.basket_size is None else _plain(asdict(self.basket_size)),
            "lifts": None if self.lifts is None else asdict(self.lifts),
        }

    def rows(self) -> list[Row]:
        """Claimed beside true, in words."""
        rows = []
        if (items := self.next_item) is not None:
            rows += [
                Row(
                    "the first suggestion comes next",
                    _percent(items.first.claimed),
                    _percent(items.first.true),
                ),
                Row(
                    "one of the first ten comes next",
                    _percent(items.first_ten.claimed),
                    _percent(items.first_ten.true),
                ),
            ]
        if (size := self.basket_size) is not None:
            rows += [
                _claim("the cart is complete", size.complete_claimed, size.complete_true),
                Row("further items, on average", f"{size.further_claimed:.2f}", f"{size.further_true:.2f}"),
                Row(
                    "the basket's size lies in the range",
                    _percent(size.range_claimed),
                    _percent(size.range_true),
                ),
            ]
        if (lifts := self.lifts) is not None and lifts.complements:
            rows.append(
                Row(
                    f"baskets that hold both of two complements ({lifts.complements:,} pairs)",
                    f"{lifts.claimed:,.0f}",
                    f"{lifts.counted:,}",
                )
            )
        if lifts is not None and lifts.judged:
            rows.append(
                Row(
                    f"substitutes with a counted lift below {RARELY_TOGETHER} "
                    f"({lifts.judged:,} of {lifts.substitutes:,} can be judged)",
                    "100 %",
                    _percent(lifts.confirmed / lifts.judged),
                )
            )
        return rows


def _claim(what: str, claimed: float, true: float) -> Row:
    return Row(what, _percent(claimed), _percent(true))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _plain(value: JsonValue) -> JsonValue:
    """Tuples as lists, which is what JSON has."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
