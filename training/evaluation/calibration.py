"""Calibration of all numbers that a version shows: claimed against true values on held-out baskets."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import NamedTuple

from pydantic import JsonValue

from training.evaluation.basket_size_accuracy import SizeAccuracy
from training.evaluation.bundle_accuracy import BundleAccuracies
from training.evaluation.lifts import RARELY_TOGETHER, LiftCheck
from training.evaluation.next_item_calibration import NextItemCalibration


class Row(NamedTuple):
    """One row of the report's table."""

    what: str
    claimed: str
    true: str


@dataclass(frozen=True)
class Calibration:
    """A part is None if the version has no such numbers or no baskets were held out."""

    next_item: NextItemCalibration | None = None
    basket_size: SizeAccuracy | None = None
    lifts: LiftCheck | None = None
    bundles: BundleAccuracies | None = None

    def as_dict(self) -> dict[str, JsonValue] | None:
        """For the manifest and `report.json`; None if nothing was checked."""
        found: dict[str, JsonValue] = json.loads(json.dumps(asdict(self)))  # tuples become lists
        return None if self == Calibration() else found

    def rows(self) -> list[Row]:
        """The rows of the report's table."""
        rows = []
        if (items := self.next_item) is not None:
            rows += [
                _shares("the first suggestion comes next", items.first.claimed, items.first.true),
                _shares("one of the first ten comes next", items.first_ten.claimed, items.first_ten.true),
            ]
        if (size := self.basket_size) is not None:
            rows += [
                _shares("the cart is complete", size.complete_claimed, size.complete_true),
                Row("further items, on average", f"{size.further_claimed:.2f}", f"{size.further_true:.2f}"),
                _shares("the basket's size is in the range", size.range_claimed, size.range_true),
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
                    f"({lifts.judged:,} of {lifts.substitutes:,} pairs have enough data)",
                    "100 %",
                    _percent(lifts.confirmed / lifts.judged),
                )
            )
        if self.bundles is not None:
            for found, given in (
                (self.bundles.single, "one item"),
                (self.bundles.cart, "one to three items"),
            ):
                if found is not None:
                    rows.append(
                        _shares(f"a bundle of two with {given} is bought whole", found.claimed, found.true)
                    )
        return rows


def _shares(what: str, claimed: float, true: float) -> Row:
    return Row(what, _percent(claimed), _percent(true))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
