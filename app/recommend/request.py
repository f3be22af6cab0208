"""From a request to a question: the cart as rows of the snapshot, filters and boosts as factors on its items.

Recommendations, bundles and insights share these types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import ConfigDict, Field, JsonValue, model_validator

from app.carts.store import Cart, CartStore, found_cart
from app.catalogue.snapshot import Snapshot, SnapshotHolder
from app.http.inputs import CartId, Category, ItemFilters, ItemId, ItemIds, ShopperId, Strict
from app.recommend.schemas import ConsideredCart, Fallback
from app.runtime import metrics
from app.shoppers.histories import Histories, Past
from app.shoppers.store import MOST_BASKETS, MOST_LINES
from ndpp import Conditional, History, NextItem
from ndpp.kernel import Vector

Factor = Annotated[float, Field(strict=True, ge=0, le=1000)]
_MAX_POPULARITY = 0.8  # γ at the ends of `discovery`: with 1, nothing would order the items for an empty cart
_EXAMPLE: dict[str, JsonValue] = {
    "items": ["camera", "film"],
    "k": 3,
    "boosts": {"items": {"tripod": 2}},
    "explain": True,
}


class Basket(Strict):
    """What is already in the cart: a stored cart, a list of items, or nothing."""

    cart_id: CartId | None = None
    items: ItemIds = Field(default_factory=list, max_length=500, description="Instead of `cart_id`.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.cart_id is not None and self.items:
            raise ValueError("give either cart_id or items, not both")
        return self


class ShopperBasket(Basket):
    """A cart and what its shopper bought before."""

    shopper_id: ShopperId | None = Field(
        None,
        description="Whose purchases to consider; default: those of the shopper of the cart `cart_id`. "
        "Without purchases, the response is that for any shopper.",
    )
    history: list[list[ItemId]] | None = Field(
        None,
        max_length=MOST_BASKETS,
        description="The shopper's earlier baskets, oldest first, instead of `shopper_id`: for shops that "
        f"keep purchases to themselves. At most {MOST_LINES:,} items.",
        examples=[[["film"], ["film", "camera"]]],
    )

    @model_validator(mode="after")
    def _one_history(self) -> Self:
        if self.history is not None:
            if self.shopper_id is not None:
                raise ValueError("give either shopper_id or history, not both")
            if sum(map(len, self.history)) > MOST_LINES:
                raise ValueError(f"history has more than {MOST_LINES:,} items: send the latest baskets only")
        return self


class Boosts(Strict):
    """Factors on the odds of items: 2 makes an item twice as likely against the others, 0 hides it."""

    items: dict[ItemId, Factor] = Field(default_factory=dict, max_length=10_000, examples=[{"tripod": 2}])
    categories: dict[Category, Factor] = Field(
        default_factory=dict, max_length=100, examples=[{"Photo": 1.5}]
    )


class KnobValues(Strict):
    """Exact parameters for experts, in place of a dial or of what training chose."""

    decoupling: float | None = Field(
        None,
        ge=0,
        le=1,
        description="ω: 0 conditions on the cart exactly, 1 treats its items as independent. Instead of "
        "`cohesion`.",
    )
    relevance: float | None = Field(
        None, ge=0, le=10, description="β: the exponent of the co-purchase evidence beside the determinant."
    )
    popularity: float | None = Field(
        None,
        ge=-2,
        le=2,
        description="γ: orders by P(item | cart) / P(item | empty cart)^γ. Instead of `discovery`.",
    )


class Preferences(ItemFilters):
    """Which items may appear, and in which order."""

    discovery: float = Field(
        0, ge=-1, le=1, description="From bestsellers (−1) to hidden gems (1); 0 orders by probability."
    )
    cohesion: float = Field(
        0,
        ge=-1,
        le=1,
        description="From each cart item by itself (−1) to the cart as one set (1); 0 is as learned.",
    )
    boosts: Boosts | None = None
    knobs: KnobValues | None = None

    def decoupling(self, learned: float) -> float:
        """ω: the exact value, or the learned one moved by `cohesion`."""
        if self.knobs is not None and self.knobs.decoupling is not None:
            return self.knobs.decoupling
        return learned * (1 - self.cohesion) if self.cohesion > 0 else learned - (1 - learned) * self.cohesion

    def relevance(self) -> float | None:
        """β, if the request sets it."""
        return None if self.knobs is None else self.knobs.relevance

    def popularity(self) -> float:
        """γ: the exact value, or that of `discovery`."""
        if self.knobs is not None and self.knobs.popularity is not None:
            return self.knobs.popularity
        return _MAX_POPULARITY * self.discovery


class RecommendOptions(Preferences):
    """How many items, and what to include about them."""

    k: int = Field(10, ge=1, le=100, description="How many items.")
    explain: bool = Field(False, description="Include the sources of each item's probability in `because`.")
    fill: bool = Field(
        False,
        description="If fewer than k items have a probability, add popular items that pass the filters.",
    )
    scoring: Literal["mixture", "kernel"] = Field(
        "mixture",
        description="`mixture` is the model's fitted probability; `kernel` is the paper's exact "
        "conditioning, P ∝ det(L_Y+i)/det(L_Y), which is not calibrated.",
    )


class RecommendRequest(ShopperBasket, RecommendOptions):
    """A request for recommendations."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})


class BatchRequest(RecommendOptions):
    """The same request for many carts."""

    carts: list[ShopperBasket] = Field(
        min_length=1, max_length=256, examples=[[{"items": ["camera"]}, {"items": ["film", "tripod"]}]]
    )


@dataclass(frozen=True, slots=True)
class KnownCart:
    """The items of a cart that the model knows, as rows, and the ids of the others."""

    cart_id: str | None
    rows: list[int]  # distinct, in the cart's order, at most the latest TRIPOD_CART_WINDOW
    earlier: list[int]  # known items before these
    unknown: list[str]

    @classmethod
    def of(cls, snapshot: Snapshot, cart_id: str | None, item_ids: Sequence[str], window: int) -> KnownCart:
        """Look the items up; duplicates count once."""
        rows: dict[int, None] = {}
        unknown: dict[str, None] = {}
        for item_id in item_ids:
            row = snapshot.row_of(item_id)
            if row is None:
                unknown[item_id] = None
            else:
                rows[row] = None
        known = list(rows)
        return cls(cart_id, known[-window:], known[:-window], list(unknown))

    def considered(self, snapshot: Snapshot, conditional: Conditional | None = None) -> ConsideredCart:
        """The cart as the response shows it; `conditional` knows which rows added no information."""
        some_ignored = conditional is not None and len(conditional.used) < len(conditional.cart)
        ignored = set(conditional.ignored.tolist()) if conditional is not None and some_ignored else set()
        return ConsideredCart(
            cart_id=self.cart_id,
            items=[snapshot.item_id(row) for row in self.rows if row not in ignored],
            unknown_items=self.unknown,
            ignored_items=[snapshot.item_id(row) for row in (*self.earlier, *sorted(ignored))],
        )

    def fallback(self, shortage: str | None, filled: int = 0) -> Fallback | None:
        """The fallback of a response, None if nothing is missing. `shortage` is a sentence with figures."""
        if self.unknown and not self.rows:
            unknown = "The model knows no item of the cart: this is the response for an empty cart."
            return Fallback("only_unknown_items", " ".join(filter(None, [unknown, shortage])), filled)
        return None if shortage is None else Fallback("too_few_candidates", shortage, filled)


Options = TypeVar("Options", bound=Strict)
Options_co = TypeVar("Options_co", bound=Strict, covariant=True)


@dataclass(frozen=True, slots=True)
class Question(Generic[Options_co]):
    """A cart in a snapshot, with the options of the request."""

    snapshot: Snapshot
    cart: KnownCart
    options: Options_co
    past: Past | None = None

    @property
    def history(self) -> History | None:
        """What the shopper bought before; None if that is unknown or the model does not use it."""
        return None if self.past is None else self.past.history

    def cache_key(self) -> tuple[object, ...]:
        """Equal for questions without a history that have the same response but for `cart_id`."""
        cart = self.cart
        options = self.options.model_dump_json(exclude={"cart_id", "items", "shopper_id", "history"})
        return tuple(cart.rows), tuple(cart.earlier), tuple(cart.unknown), options


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


def factors_of(question: Question[Preferences]) -> Vector:
    """The factor on the odds of every item: boosts multiplied, 0 for items that are filtered out."""
    snapshot, boosts = question.snapshot, question.options.boosts
    factors = snapshot.factors(question.options)
    factors[question.cart.earlier] = 0.0
    if boosts is not None:
        for category, factor in boosts.categories.items():
            factors[snapshot.model.rows_in(category)] *= factor
        for item_id, factor in boosts.items.items():
            if (row := snapshot.row_of(item_id)) is not None:
                factors[row] *= factor
    return factors


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
        known = KnownCart.of(snapshot, basket.cart_id, item_ids, self._window)
        return Question(snapshot, known, options, past)

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
        return [
            Question(snapshot, KnownCart.of(snapshot, *cart, self._window), options, each)
            for cart, each in zip(carts, past, strict=True)
        ]
