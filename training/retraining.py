"""One retraining: read, split, fit, publish, and compare the new version with the active one.

It does not activate the new version: the caller decides that by the verdict.
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
from training.fitting.warm_start import Previous, held_out_by_both
from training.gate import ACTIVATIONS_COMPARED, Verdict, compare
from training.pipeline import train_model
from training.publishing import Publication, publish
from training.reading import ReadingRules, ShopperRules, read_baskets
from training.reading.item_table import describe_items, keep_listed, read_item_table
from training.reading.sources import has_data
from training.recipe import Recipe, inherited
from training.splitting import split_by_key, validation_size


@dataclass(frozen=True)
class Retraining:
    """The inputs of a retraining."""

    data: str | None = None
    purchases: str | None = None  # folder of the drained purchase log
    items: str | None = None  # item table
    report: bool = True
    shopper_key: str | None = None  # of shopper ids; None: that of the model store
    options: Mapping[str, Any] = field(default_factory=dict)  # for Recipe.of; the others are inherited


@dataclass(frozen=True)
class Retrained:
    """The result of a retraining."""

    version: str
    baskets: int
    items: int
    had_active: bool
    verdict: Verdict | None = None
    no_verdict: str | None = None  # why the new version could not be compared with the active one


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
    """Publish a new version and compare it with the active one.

    `announce` is called with the name of each phase; `using` with the options, before the data is read and
    again when those that depend on the data are chosen; `warn` with warnings about the new version.
    """
    announce("reading")
    try:
        active = _active(store)
    except _UNUSABLE as error:
        warn(
            f"The active version cannot be used ({error}): options missing from the request have the "
            "defaults of fit, and the new version is not compared."
        )
        active = None
    from_active = {} if active is None else inherited(active.manifest)
    recipe = Recipe.of({**from_active, **order.options})
    using(recipe.as_dict())
    table = None if order.items is None else read_item_table(order.items)
    with _explain_inherited_rules(active, from_active.keys() - order.options.keys(), recipe.rules):
        baskets = _read(order, recipe.rules, ShopperRules.of(store, order.shopper_key))
    if recipe.only_listed_items:
        baskets = keep_listed(baskets, table)
    options, previous = recipe.options, None
    if options.init == "previous":  # the first model has no previous one to start from
        previous = None if active is None else Previous.of(active)
        options = options if previous else replace(options, init="scaled")
    recipe = replace(recipe, held_out_below=held_out_by_both(recipe.held_out_below, previous))
    validation = recipe.validation or validation_size(len(baskets), tuned=recipe.tune != "none")
    parts = split_by_key(baskets, below=recipe.held_out_below, validation=validation, seed=options.seed)
    options = resolve_options(options, parts.train, previous)
    using(replace(recipe, options=options, validation=validation).as_dict())

    learned = train_model(
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
        rival = _active(store)  # another version may have been activated in the meantime
        if rival is None:
            return replace(found, had_active=False)
        verdict = compare(
            candidate,
            rival,
            list(_earlier(store, rival)),
            parts.test,
            known=baskets,
            tolerance=tolerance,
            seed=options.seed,
        )
    except _UNUSABLE as error:
        return replace(
            found,
            no_verdict=f"the active version cannot be used ({error}), so there is nothing to compare it "
            "with; activate the new version by hand if you trust it, or train with activate: always",
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
    """Earlier active versions that the candidate is compared with, as far as they can still be opened.

    They go back to the last version that a person activated, which is included.
    """
    for newer, older in pairwise(store.history()[:ACTIVATIONS_COMPARED]):
        if not newer.by_gate:
            return
        if older.version != active.version:
            with suppress(ModelStoreError):
                yield store.open(older.version)


@contextmanager
def _explain_inherited_rules(
    active: StoredModel | None, taken: set[str], rules: ReadingRules
) -> Iterator[None]:
    """If inherited format and columns do not fit the data, say that they come from the active version."""
    try:
        yield
    except DataError as error:
        names = [name for name in ("format", "columns") if name in taken and getattr(rules, name)]
        if active is None or not names:
            raise
        values = " and ".join(f"{name} ({getattr(rules, name)})" for name in names)
        raise OptionError(
            f"{error}; the job read it with {values} of the active version {active.version}: if this data is "
            f"different, set {' and '.join(f'options.{name}' for name in names)} in the request, null for "
            "the default of fit"
        ) from error


def _read(order: Retraining, rules: ReadingRules, shoppers: ShopperRules) -> Baskets:
    """The baskets of the data and of the drained purchase log; one of them may be missing."""
    purchases = order.purchases if order.purchases and has_data(order.purchases) else None
    if order.data is not None and (purchases is None or has_data(order.data)):
        return read_baskets(order.data, rules, purchases=purchases, shoppers=shoppers).baskets
    if purchases is None:
        raise OptionError("there are no baskets to learn from: set data, or check out some carts first")
    own_rules = ReadingRules(rules.max_basket_size, rules.min_item_count)
    return read_baskets(purchases, own_rules, shoppers=shoppers).baskets
