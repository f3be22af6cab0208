"""One retraining from data to verdict: read, split, fit, publish, compare with what was live before.

It activates nothing: that is the decision of whoever ordered it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from model_store import ModelStore, ModelStoreError, StoredModel
from training.baskets import Baskets
from training.errors import IncomparableError, OptionError
from training.fitting import Progress, resolve_options
from training.gate import LOOKED_BACK, Verdict, compare
from training.item_table import describe_items, keep_listed, read_item_table
from training.learning import learn
from training.publishing import Publication, publish
from training.reading import ReadingRules, read_baskets
from training.recipe import Recipe, inherited
from training.sources import has_data
from training.splitting import split_by_key, validation_size
from training.warm_start import Previous


@dataclass(frozen=True)
class Retraining:
    """What to learn from, and how."""

    data: str | None = None
    purchases: str | None = None  # the folder of the drained purchase log
    items: str | None = None  # the item table
    report: bool = True
    told: Mapping[str, Any] = field(default_factory=dict)  # see Recipe.of; the rest as the active version


@dataclass(frozen=True)
class Retrained:
    """What came of it."""

    version: str
    baskets: int
    items: int
    had_active: bool
    verdict: Verdict | None = None
    no_verdict: str | None = None  # why there is none although there was an active version


def retrain(
    store: ModelStore,
    order: Retraining,
    *,
    tolerance: float,
    callback: Callable[[Progress], None],
    announce: Callable[[str], None],
    using: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Retrained:
    """Publish a new version and compare it; `announce` hears the phase, `using` the options once chosen."""
    announce("reading")
    active = None if store.active() is None else store.open()
    recipe = Recipe.of({**({} if active is None else inherited(active.manifest)), **order.told})
    table = None if order.items is None else read_item_table(order.items)
    baskets = _read(order, recipe.rules)
    if recipe.only_listed_items:
        baskets = keep_listed(baskets, table)
    validation = recipe.validation or validation_size(len(baskets), tuned=recipe.tune != "none")
    options, previous = recipe.options, None
    parts = split_by_key(baskets, below=recipe.held_out_below, validation=validation, seed=options.seed)
    if options.init == "previous":  # the first model of a shop has nothing to begin at
        previous = None if active is None else Previous.of(active)
        options = options if previous else replace(options, init="scaled")
    options = resolve_options(options, parts.train, previous)
    using(replace(recipe, options=options, validation=validation).as_dict())

    learned = learn(
        parts,
        options,
        effort=recipe.tune,
        callback=callback,
        announce=announce,
        previous=previous,
    )

    announce("publishing")
    publication = Publication(learned, parts, describe_items(baskets, table), baskets.fingerprint(), recipe)
    version = publish(store, publication, report=order.report)

    announce("comparing")
    found = Retrained(version, len(baskets), len(baskets.catalogue), had_active=active is not None)
    if active is None:
        return found
    earlier = list(_earlier(store, active.version))
    try:
        verdict = compare(
            store.open(version), active, earlier, parts.test, tolerance=tolerance, seed=options.seed
        )
    except IncomparableError as error:
        return replace(found, no_verdict=str(error))
    return replace(found, verdict=verdict)


def _earlier(store: ModelStore, active: str) -> Iterator[StoredModel]:
    """The versions that were active lately, as far as they are still there and sound."""
    for version in store.history()[:LOOKED_BACK]:
        if version != active:
            with suppress(ModelStoreError):
                yield store.open(version)


def _read(order: Retraining, rules: ReadingRules) -> Baskets:
    """The shop's own baskets and the drained ones; either may be missing, but not both."""
    purchases = order.purchases if order.purchases and has_data(order.purchases) else None
    if order.data is not None and (purchases is None or has_data(order.data)):
        return read_baskets(order.data, rules, purchases=purchases).baskets
    if purchases is None:
        raise OptionError("there is nothing to learn from: name the baskets, or check out some carts first")
    return read_baskets(purchases, ReadingRules(rules.max_basket_size, rules.min_item_count)).baskets
