"""One retraining from data to verdict: read, split, fit, publish, compare with the active model.

It activates nothing: that is the decision of whoever ordered it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from model_store import ModelStore
from training.baskets import Baskets
from training.errors import OptionError
from training.fitting import Progress, resolve_options
from training.gate import Verdict, compare
from training.item_table import describe_items, keep_listed, read_item_table
from training.learning import learn
from training.options import FitOptions
from training.publishing import Publication, publish
from training.reading import ReadingRules, read_baskets
from training.sources import has_data
from training.splitting import split_by_key, validation_size
from training.tuning import Tune
from training.warm_start import Previous


@dataclass(frozen=True)
class Retraining:
    """What to learn from, and how."""

    data: str | None = None
    purchases: str | None = None  # the folder of the drained purchase log
    items: str | None = None  # the item table
    only_listed_items: bool = False
    validation: int | None = None
    tune: Tune = "quick"
    report: bool = True
    rules: ReadingRules = field(default_factory=ReadingRules)
    options: FitOptions = field(default_factory=FitOptions)

    @classmethod
    def of(cls, options: Mapping[str, Any], **sources: Any) -> Retraining:
        """From options by their names on the command line of `fit`."""
        left = dict(options)

        def taken(kind: type[FitOptions | ReadingRules]) -> dict[str, Any]:
            return {part.name: left.pop(part.name) for part in fields(kind) if part.name in left}

        fit_options, rules = FitOptions(**taken(FitOptions)), ReadingRules(**taken(ReadingRules))
        return cls(options=fit_options, rules=rules, **sources, **left)


@dataclass(frozen=True)
class Retrained:
    """What came of it."""

    version: str
    baskets: int
    items: int
    verdict: Verdict | None  # None: nothing to compare with, or nothing to ask
    had_active: bool


def retrain(
    store: ModelStore,
    order: Retraining,
    *,
    tolerance: float,
    callback: Callable[[Progress], None],
    announce: Callable[[str], None],
) -> Retrained:
    """Publish a new version and hold it against the active one; `announce` hears the phase."""
    announce("reading")
    table = None if order.items is None else read_item_table(order.items)
    baskets = _read(order)
    if order.only_listed_items:
        baskets = keep_listed(baskets, table)
    validation = order.validation or validation_size(len(baskets), tuned=order.tune != "none")
    parts = split_by_key(baskets, validation=validation, seed=order.options.seed)
    active = None if store.active() is None else store.open()
    options, previous = order.options, None
    if options.init == "previous":  # the first model of a shop has nothing to begin at
        previous = None if active is None else Previous.of(active)
        options = options if previous else replace(options, init="scaled")
    options = resolve_options(options, parts.train, previous)

    learned = learn(
        parts,
        options,
        effort=order.tune,
        callback=callback,
        announce=announce,
        previous=previous,
    )

    announce("publishing")
    publication = Publication(
        learned, parts, describe_items(baskets, table), baskets.fingerprint(), order.rules, split="by_key"
    )
    version = publish(store, publication, report=order.report)

    announce("comparing")
    verdict = None
    if active is not None:
        verdict = compare(store.open(version), active, parts.test, tolerance=tolerance, seed=options.seed)
    return Retrained(version, len(baskets), len(baskets.catalogue), verdict, active is not None)


def _read(order: Retraining) -> Baskets:
    """The shop's own baskets and the drained ones; either may be missing, but not both."""
    purchases = order.purchases if order.purchases and has_data(order.purchases) else None
    if order.data is not None and (purchases is None or has_data(order.data)):
        return read_baskets(order.data, order.rules, purchases=purchases).baskets
    if purchases is None:
        raise OptionError("there is nothing to learn from: name the baskets, or check out some carts first")
    return read_baskets(
        purchases, ReadingRules(order.rules.max_basket_size, order.rules.min_item_count)
    ).baskets
