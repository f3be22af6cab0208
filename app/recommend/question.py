"""From a request to a question: the cart as rows of the snapshot, filters and boosts as factors on its items.

Recommendations, bundles and insights share these types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from app.carts.store import Cart, CartStore, found_cart
from app.catalogue.filters import selection
from app.catalogue.holder import SnapshotHolder
from app.catalogue.snapshot import Snapshot
from app.http.inputs import Strict
from app.recommend.request import Basket, Preferences, RecommendOptions, ShopperBasket
from app.recommend.schemas import ConsideredCart, Fallback
from app.rules.effects import NO_EFFECTS, Effects, active_rules, effects_of
from app.rules.rule import Rule
from app.runtime import metrics
from app.shoppers.histories import Histories, Past
from ndpp import Conditional, History, NextItem
from ndpp.kernel import Vector
from ndpp.limits import Limit
from ndpp.selection import Selection


@dataclass(frozen=True, slots=True)
class KnownCart:
    """The items of a cart that the model knows, as rows, and the ids of the others.

    An item that the model does not know but the shop has is represented by the most similar known item, if it
    resembles any.
    """

    cart_id: str | None
    rows: list[int]  # distinct, in the cart's order, at most the latest TRIPOD_CART_WINDOW
    earlier: list[int]  # known items before these
    unknown: list[str]
    listed: list[int] = field(default_factory=list)  # the rows of all its items that the shop has
    represents: dict[int, str] = field(
        default_factory=dict
    )  # the item for which another's row is among `rows`
    repeated: list[str] = field(default_factory=list)  # items whose most similar item is in the cart already

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        basket: tuple[str | None, Sequence[str]],
        window: int,
        *,
        represent: bool = True,
    ) -> KnownCart:
        """Look the items of a cart up, given with its id; duplicates count once.

        Unless `represent`, an item that the model does not know is unknown, although the shop has it.
        """
        cart_id, item_ids = basket
        rows, listed, unknown = dict[int, None](), dict[int, None](), dict[str, None]()
        similar = dict[str, int]()
        for item_id in item_ids:
            row = snapshot.row_of(item_id)
            if row is not None:
                rows[row] = listed[row] = None
                continue
            arrival = snapshot.listed_row(item_id)
            if arrival is not None:
                listed[arrival] = None
                row = snapshot.most_similar(arrival) if represent else None
            if row is None:
                unknown[item_id] = None
            else:
                rows[row] = None
                similar[item_id] = row
        represents = dict[int, str]()
        for item_id, row in similar.items():
            if row not in listed:
                represents.setdefault(row, item_id)
        repeated = [item_id for item_id, row in similar.items() if represents.get(row) != item_id]
        known = list(rows)
        return cls(
            cart_id, known[-window:], known[:-window], list(unknown), list(listed), represents, repeated
        )

    def item_id(self, snapshot: Snapshot, row: int) -> str:
        """The id of the cart's item that a row stands for."""
        return self.represents.get(row) or snapshot.item_id(row)

    def name(self, snapshot: Snapshot, row: int) -> str | None:
        """Its name."""
        if (item_id := self.represents.get(row)) is not None:
            row = snapshot.arrival_rows[item_id]
        return snapshot.name(row)

    def considered(self, snapshot: Snapshot, conditional: Conditional | None = None) -> ConsideredCart:
        """The cart as the response shows it; `conditional` knows which rows added no information."""
        some_ignored = conditional is not None and len(conditional.used) < len(conditional.cart)
        ignored = set(conditional.ignored.tolist()) if conditional is not None and some_ignored else set()
        return ConsideredCart(
            cart_id=self.cart_id,
            items=[self.item_id(snapshot, row) for row in self.rows if row not in ignored],
            unknown_items=self.unknown,
            ignored_items=[
                *(self.item_id(snapshot, row) for row in (*self.earlier, *sorted(ignored))),
                *self.repeated,
            ],
        )

    def fallback(self, shortage: str | None, filled: int = 0) -> Fallback | None:
        """The fallback of a response, None if nothing is missing. `shortage` is a sentence with figures."""
        if self.unknown and not self.rows:
            unknown = "The model knows no item of the cart: this is the response for an empty cart."
            return Fallback("only_unknown_items", " ".join(filter(None, [unknown, shortage])), filled)
        return None if shortage is None else Fallback("too_few_candidates", shortage, filled)


Options = TypeVar("Options", bound=Strict)
Options_co = TypeVar("Options_co", bound=Strict, covariant=True)


@dataclass(frozen=True, eq=False)
class Question(Generic[Options_co]):
    """A cart in a snapshot, with the options of the request and the rules of the shop that are on."""

    snapshot: Snapshot
    cart: KnownCart
    options: Options_co
    past: Past | None = None
    rules: tuple[Rule, ...] = ()

    @cached_property
    def effects(self) -> Effects:
        """What the rules do to the answer."""
        if not self.rules:
            return NO_EFFECTS
        places = self.options.k if isinstance(self.options, RecommendOptions) else 0  # a set has no places
        return effects_of(self.rules, self.snapshot, self.cart.listed, places)

    @property
    def limits(self) -> list[Limit]:
        """Limits on the items of an answer: those of rules, and one variant of each parent."""
        variants = self.snapshot.variants
        one_of_each = [Limit(variants.groups, 1, for_pins=True)] if variants.exist else []
        return [*one_of_each, *self.effects.limits]

    @property
    def history(self) -> History | None:
        """What the shopper bought before; None if that is unknown or the model does not use it."""
        return None if self.past is None else self.past.history

    def cache_key(self) -> tuple[object, ...]:
        """Equal for questions without a history that have the same response but for `cart_id`."""
        cart = self.cart
        # By alias: the fields of the conditions "all" and "any" have the same name.
        options = self.options.model_dump_json(
            exclude={"cart_id", "items", "shopper_id", "history"}, by_alias=True
        )
        shown = tuple(cart.represents.items()), tuple(cart.repeated), tuple(cart.unknown)
        rules = tuple(rule.rule_id for rule in self.rules)
        return tuple(cart.rows), tuple(cart.earlier), shown, rules, options


def count_fallback(fallback: Fallback | None) -> None:
    """Count a response that has a fallback."""
    if fallback is not None:
        metrics.FALLBACKS.labels(fallback.reason).inc()


def reordered(model: NextItem, options: Preferences) -> NextItem | None:
    """The model that orders the items if `cohesion` or `knobs` ask for another one, else None."""
    learned = model.mixture
    omega, beta = options.decoupling(learned.decoupling), options.relevance()
    if omega == learned.decoupling and beta is None:
        return None
    together = learned.together if beta is None else replace(learned.together, relevance=(beta, 0.0))
    return replace(model, mixture=replace(learned, decoupling=omega, together=together))


def selection_of(question: Question[Preferences]) -> Selection:
    """The factor on the odds of every row: boosts multiplied, 0 for items that may not appear."""
    snapshot, options, cart = question.snapshot, question.options, question.cart
    boosts = options.boosts
    found = selection(snapshot, options, None if boosts is None else boosts.categories)
    hidden = [*found.changed, *cart.earlier, *(row for row in cart.listed if snapshot.is_cold(row))]
    if cart.listed and snapshot.variants.exist and not options.variants:
        hidden += np.flatnonzero(snapshot.variants.others(cart.listed)).tolist()
    changed = dict[int, float]()
    for item_id, factor in boosts.items.items() if boosts is not None else ():
        if (row := snapshot.listed_row(item_id)) is not None:
            changed[row] = float(found.pool.factors[row]) * factor
    return Selection(found.pool, changed | dict.fromkeys(hidden, 0.0))


def factors_of(question: Question[Preferences]) -> Vector:
    """The same as one factor a row."""
    return selection_of(question).factors


class Questions:
    """Makes questions from requests: takes the current snapshot and reads stored carts and profiles."""

    def __init__(
        self, carts: CartStore, snapshots: SnapshotHolder, window: int, histories: Histories
    ) -> None:
        self._carts = carts
        self._snapshots = snapshots
        self._window = window
        self._histories = histories

    async def about(self, basket: Basket, options: Options) -> Question[Options]:
        """The question about one basket; CartNotFound if it names a cart that does not exist."""
        snapshot = self._snapshots.current()
        cart, past = await self._read(snapshot, basket)
        item_ids = basket.items if cart is None else cart.item_ids
        # Only probabilities carry over from similar items, not counts: bundles and insights show these.
        represent = isinstance(options, RecommendOptions)
        known = KnownCart.of(snapshot, (basket.cart_id, item_ids), self._window, represent=represent)
        return Question(snapshot, known, options, past, active_rules(snapshot) if snapshot.rules else ())

    async def _read(self, snapshot: Snapshot, basket: Basket) -> tuple[Cart | None, Past | None]:
        """The stored cart and the history; in one round trip if the request names both."""
        personal = basket if isinstance(basket, ShopperBasket) and snapshot.model.uses_histories else None
        cart_id, shopper_id = basket.cart_id, None if personal is None else personal.shopper_id
        if cart_id is not None and shopper_id is not None:
            text, past = await self._histories.with_cart(snapshot, shopper_id, self._carts.reading(cart_id))
            return found_cart(cart_id, text), past
        cart = None if cart_id is None else await self._carts.get(cart_id)
        if personal is None:
            return cart, None
        if cart is not None and cart.shopper is not None and personal.history is None:
            return cart, await self._histories.of_hash(snapshot, cart.shopper)
        return cart, await self._histories.of(snapshot, shopper_id, personal.history)

    async def about_each(self, baskets: Sequence[ShopperBasket], options: Options) -> list[Question[Options]]:
        """The same question about each basket; stored carts and profiles are each read in one round trip."""
        snapshot = self._snapshots.current()
        named = list(dict.fromkeys(basket.cart_id for basket in baskets if basket.cart_id is not None))
        stored = {cart.cart_id: cart for cart in await self._carts.get_many(named)}
        past: Sequence[Past | None] = [None] * len(baskets)
        if snapshot.model.uses_histories:
            owners = [stored[basket.cart_id].shopper if basket.cart_id else None for basket in baskets]
            known = [(basket.shopper_id, basket.history) for basket in baskets]
            past = await self._histories.of_each(snapshot, known, owners)
        carts = (
            (basket.cart_id, basket.items if basket.cart_id is None else stored[basket.cart_id].item_ids)
            for basket in baskets
        )
        rules = active_rules(snapshot) if snapshot.rules else ()
        return [
            Question(snapshot, KnownCart.of(snapshot, cart, self._window), options, each, rules)
            for cart, each in zip(carts, past, strict=True)
        ]
