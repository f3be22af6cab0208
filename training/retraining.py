"""One retraining from data to verdict: read, split, fit, publish, compare with what was live before.

It activates nothing: that is the decision of whoever ordered it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from model_store import DamagedModelError, ModelStore, ModelStoreError, StoredModel, UnknownVersionError
from training.baskets import Baskets
from training.errors import DataError, IncomparableError, OptionError
from training.fitting import Progress, resolve_options
from training.gate import LOOKED_BACK, Verdict, compare
from training.item_table import describe_items, keep_listed, read_item_table
from training.learning import learn
from training.publishing import Publication, publish
from training.reading import ReadingRules, read_baskets
from training.recipe import Recipe, inherited
from training.sources import has_data
from training.splitting import split_by_key, validation_size
from training.warm_start import Previous, held_out_by_both


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
    warn: Callable[[str], None] = lambda _: None,
) -> Retrained:
    """Publish a new version and compare it.

    `announce` hears the phase; `using` the options, before the data is read and again when those that depend
    on it are chosen; `warn` what a person should know about the new version.
    """
    announce("reading")
    try:
        active = _active(store)
    except _UNUSABLE as error:
        warn(
            f"The active version cannot be used ({error}): what the request leaves out has the default of "
            "fit, and the new version is compared with nothing."
        )
        active = None
    from_active = {} if active is None else inherited(active.manifest)
    recipe = Recipe.of({**from_active, **order.told})
    using(recipe.as_dict())
    table = None if order.items is None else read_item_table(order.items)
    with _naming_the_source(active, {name for name in from_active if name not in order.told}, recipe.rules):
        baskets = _read(order, recipe.rules)
    if recipe.only_listed_items:
        baskets = keep_listed(baskets, table)
    options, previous = recipe.options, None
    if options.init == "previous":  # the first model of a shop has nothing to begin at
        previous = None if active is None else Previous.of(active)
        options = options if previous else replace(options, init="scaled")
    recipe = replace(recipe, held_out_below=held_out_by_both(recipe.held_out_below, previous))
    validation = recipe.validation or validation_size(len(baskets), tuned=recipe.tune != "none")
    parts = split_by_key(baskets, below=recipe.held_out_below, validation=validation, seed=options.seed)
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
    found = Retrained(version, len(baskets), len(baskets.catalogue), had_active=True)
    candidate = store.open(version)
    try:
        rival = _active(store)  # perhaps another one than at the beginning
        if rival is None:
            return replace(found, had_active=False)
        verdict = compare(
            candidate,
            rival,
            list(_earlier(store, rival)),
            parts.test,
            tolerance=tolerance,
            seed=options.seed,
        )
    except _UNUSABLE as error:
        return replace(
            found,
            no_verdict=f"the active version cannot be used ({error}), so there is nothing to compare it "
            "with; activate it by hand if you trust it, or train with activate: always",
        )
    except IncomparableError as error:
        return replace(found, no_verdict=str(error))
    if verdict.worse_probabilities is not None:
        warn(verdict.worse_probabilities)
    return replace(found, verdict=verdict)


_UNUSABLE = (DamagedModelError, UnknownVersionError)


def _active(store: ModelStore) -> StoredModel | None:
    return None if store.active() is None else store.open()


def _earlier(store: ModelStore, active: StoredModel) -> Iterator[StoredModel]:
    """What else the candidate must not be worse than, as far as it is still there and sound.

    A version that a person chose counts, and settles all that was active before it.
    """
    for newer, older in pairwise(store.history()[:LOOKED_BACK]):
        if not newer.by_gate:
            return
        if older.version != active.version:
            with suppress(ModelStoreError):
                yield store.open(older.version)


@contextmanager
def _naming_the_source(active: StoredModel | None, taken: set[str], rules: ReadingRules) -> Iterator[None]:
    """Say where format and columns come from if the data cannot be read with those of the active version."""
    try:
        yield
    except DataError as error:
        names = [name for name in ("format", "columns") if name in taken and getattr(rules, name)]
        if active is None or not names:
            raise
        told = " and ".join(f"{name} ({getattr(rules, name)})" for name in names)
        raise OptionError(
            f"{error}; the job read it with {told} of the active version {active.version}: if this data has "
            f"others, set {' and '.join(f'options.{name}' for name in names)} in the request, null for the "
            "default of fit"
        ) from error


def _read(order: Retraining, rules: ReadingRules) -> Baskets:
    """The shop's own baskets and the drained ones; either may be missing, but not both."""
    purchases = order.purchases if order.purchases and has_data(order.purchases) else None
    if order.data is not None and (purchases is None or has_data(order.data)):
        return read_baskets(order.data, rules, purchases=purchases).baskets
    if purchases is None:
        raise OptionError("there is nothing to learn from: name the baskets, or check out some carts first")
    return read_baskets(purchases, ReadingRules(rules.max_basket_size, rules.min_item_count)).baskets
