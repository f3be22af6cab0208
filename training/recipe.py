"""All options of a training run, and those that a retraining inherits from the active version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pydantic import JsonValue

from model_store import Manifest
from training.options import FitOptions, Tune
from training.reading import ReadingRules
from training.splitting import HELD_OUT_SHARE, held_out_below


@dataclass(frozen=True)
class Recipe:
    """All options of a training run: the same data and recipe give the same model.

    None means chosen from the data.
    """

    options: FitOptions = field(default_factory=FitOptions)
    rules: ReadingRules = field(default_factory=ReadingRules)
    only_listed_items: bool = False
    tune: Tune = "quick"
    validation: int | None = None
    held_out_below: float = HELD_OUT_SHARE

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Recipe:
        """From options named as on the command line of `fit`; missing ones and None have their defaults."""
        left = {name: value for name, value in options.items() if value is not None}

        def taken(kind: type[FitOptions | ReadingRules]) -> dict[str, Any]:
            return {part.name: left.pop(part.name) for part in fields(kind) if part.name in left}

        return cls(FitOptions(**taken(FitOptions)), ReadingRules(**taken(ReadingRules)), **left)

    def as_dict(self) -> dict[str, Any]:
        """The options by name, for the manifest."""
        rest = {name: getattr(self, name) for name in _OWN}
        return {**self.options.as_dict(), **asdict(self.rules), **rest}

    def left_to_data(self) -> list[JsonValue]:
        """The options that are chosen from the data."""
        return [name for name in _CHOSEN_FROM_DATA if self.as_dict()[name] is None]


_OWN = ("only_listed_items", "tune", "validation", "held_out_below")
_CHOSEN_FROM_DATA = ("rank", "skew_rank", "validation")
_OF_THE_MACHINE = ("threads",)


def inherited(manifest: Manifest) -> dict[str, Any]:
    """The options that a retraining inherits from a version, for `Recipe.of`; release 0.1 recorded fewer.

    Options that were chosen from the data are chosen again. Options of the machine are not inherited.
    """
    recorded = manifest.hyperparameters
    left_to_data = recorded.get("left_to_data") or []
    assert isinstance(left_to_data, list)
    options = {
        name: recorded[name]
        for name in Recipe().as_dict()
        if recorded.get(name) is not None and name not in (*left_to_data, *_OF_THE_MACHINE)
    }
    if (
        options.get("skew_rank") == 0
    ):  # recorded for a kernel without skew columns; another kind may have some
        del options["skew_rank"]
    return {**options, "held_out_below": held_out_below(manifest) or HELD_OUT_SHARE}
