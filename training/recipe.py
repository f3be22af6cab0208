"""How a version is made from data: everything that `fit` can be told, and what a retraining takes over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pydantic import JsonValue

from model_store import Manifest
from training.options import FitOptions
from training.reading import ReadingRules
from training.splitting import HELD_OUT_SHARE, held_out_below
from training.tuning import Tune


@dataclass(frozen=True)
class Recipe:
    """The same data and the same recipe give the same version; None is chosen from the data."""

    options: FitOptions = field(default_factory=FitOptions)
    rules: ReadingRules = field(default_factory=ReadingRules)
    only_listed_items: bool = False
    tune: Tune = "quick"
    validation: int | None = None
    held_out_below: float = HELD_OUT_SHARE

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Recipe:
        """From options by their names on the command line of `fit`; what is left out or None: its default."""
        left = {name: value for name, value in told.items() if value is not None}

        def taken(kind: type[FitOptions | ReadingRules]) -> dict[str, Any]:
            return {part.name: left.pop(part.name) for part in fields(kind) if part.name in left}

        return cls(FitOptions(**taken(FitOptions)), ReadingRules(**taken(ReadingRules)), **left)

    def as_dict(self) -> dict[str, Any]:
        """By the same names, for the manifest."""
        rest = {name: getattr(self, name) for name in _OWN}
        return {**self.options.as_dict(), **asdict(self.rules), **rest}

    def left_to_data(self) -> list[JsonValue]:
        """The options that were not given and have no fixed default."""
        return [name for name in _CHOSEN_FROM_DATA if self.as_dict()[name] is None]


_OWN = ("only_listed_items", "tune", "validation", "held_out_below")
_CHOSEN_FROM_DATA = ("rank", "skew_rank", "validation")
_OF_THE_MACHINE = ("threads",)


def inherited(manifest: Manifest) -> dict[str, Any]:
    """What a retraining takes over from a version, for `Recipe.of`; release 0.1 noted less of it.

    What had been chosen from the data is chosen anew, and what suits a machine says nothing about another.
    """
    noted = manifest.hyperparameters
    left_to_data = noted.get("left_to_data") or []
    assert isinstance(left_to_data, list)
    told = {
        name: noted[name]
        for name in Recipe().as_dict()
        if noted.get(name) is not None and name not in (*left_to_data, *_OF_THE_MACHINE)
    }
    if told.get("skew_rank") == 0:  # a kernel without skew columns, which another kind may have
        del told["skew_rank"]
    return {**told, "held_out_below": held_out_below(manifest) or HELD_OUT_SHARE}
