"""Dependencies of routes: the services, and headers that several routes share."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated

from fastapi import Depends, Header, Path, Request, Response, Security
from fastapi.security import APIKeyHeader

from app.bundles.service import Bundles
from app.carts.service import Carts
from app.carts.store import Conditions
from app.catalogue.follower import CatalogueFollower
from app.catalogue.holder import SnapshotHolder
from app.catalogue.service import ItemService
from app.health.service import Health
from app.http.errors import Forbidden, Invalid, Unauthorized
from app.http.etags import list_header, parse_etags, revalidated
from app.http.inputs import IDEMPOTENCY_KEY, CartId, PathItemId
from app.jobs.service import Jobs
from app.models.service import Models
from app.purchases.service import Purchases
from app.recommend.insights import Insights
from app.recommend.service import Recommender
from app.redis.client import RedisLink
from app.rules.effects import active_rules
from app.rules.service import Rules
from app.runtime.compute import Compute
from app.runtime.watchers import Watchers
from app.settings import Settings
from app.shoppers.follower import Follower
from app.shoppers.ids import ShopperHashes
from app.shoppers.service import Shoppers
from app.substitutes.service import Substitutes


@dataclass(frozen=True)
class Services:
    """All services of a process, in `app.state.services`."""

    settings: Settings
    link: RedisLink
    compute: Compute
    snapshots: SnapshotHolder
    shopper_hashes: ShopperHashes
    carts: Carts
    purchases: Purchases
    items: ItemService
    catalogue: CatalogueFollower
    rules: Rules
    models: Models
    recommender: Recommender
    bundles: Bundles
    insights: Insights
    substitutes: Substitutes
    health: Health
    jobs: Jobs
    shoppers: Shoppers
    follower: Follower
    watchers: Watchers


services_of: Callable[[Request], Services] = attrgetter("app.state.services")


# Dependencies are coroutines: FastAPI runs plain functions in a thread, which costs more than they do.
async def _services(request: Request) -> Services:
    return services_of(request)


ServicesDep = Annotated[Services, Depends(_services)]


def catalogue_headers(request: Request) -> dict[str, str]:
    """Caching headers of a response that depends on the snapshot and the URL only; may raise NotModified.

    Call it before computing the response: if the snapshot changes meanwhile, the response is newer than its
    ETag, never older.
    """
    services = services_of(request)
    snapshot = services.snapshots.current()
    active = active_rules(snapshot) if snapshot.rules else ()  # they also depend on the time
    rules = ",".join(rule.rule_id for rule in active)
    window = services.settings.cart_window
    return revalidated(request, snapshot.model.version, snapshot.revision, window, rules)


async def _from_catalogue(request: Request, response: Response) -> None:
    response.headers.update(catalogue_headers(request))


FromCatalogue = Depends(_from_catalogue)


# The two parameters are for the documentation only: FastAPI passes just one of several header lines.
async def _conditions(
    request: Request,
    _if_match: Annotated[
        str | None,
        Header(
            alias="If-Match",
            description="Change the cart only if its ETag is one of these (`*`: if it exists), else 412.",
            examples=['"1763259000.123456-3"'],
        ),
    ] = None,
    _if_none_match: Annotated[
        str | None,
        Header(
            alias="If-None-Match",
            description="Change the cart only if its ETag is none of these (`*`: if it does not exist), "
            "else 412.",
            examples=["*"],
        ),
    ] = None,
) -> Conditions:
    match, none_match = _tags(request, "If-Match"), _tags(request, "If-None-Match")
    return Conditions(
        # If-Match compares strongly, so weak tags never match; If-None-Match compares weakly.
        None if match is None else tuple(tag for tag in match if not tag.startswith("W/")),
        None if none_match is None else tuple(tag.removeprefix("W/") for tag in none_match),
    )


def _tags(request: Request, name: str) -> tuple[str, ...] | None:
    header = list_header(request, name)
    if header is None:
        return None
    if (tags := parse_etags(header)) is None:
        raise Invalid((f"header.{name}", 'it must be `*` or ETags in quotes, such as "1763259000.123456-3"'))
    return tags


CartConditions = Annotated[Conditions, Depends(_conditions)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=IDEMPOTENCY_KEY,
        description="A request repeated with the same key is executed once: the repetition gets the current "
        "cart, or 404 if it no longer exists. A key is valid for one route and one cart; with another body "
        "the response is 422.",
        examples=["3b241101-e2bb-4255"],
    ),
]
CartIdPath = Annotated[CartId, Path(description="The id of the cart.")]
ItemIdPath = Annotated[PathItemId, Path(description="The id of the item.")]


_ADMIN_KEY = APIKeyHeader(
    name="X-Admin-Key",
    scheme_name="AdminKey",
    description="The value of `TRIPOD_ADMIN_KEY`.",
    auto_error=False,
)


async def _admin(services: ServicesDep, key: Annotated[str | None, Security(_ADMIN_KEY)]) -> None:
    expected = services.settings.admin_key
    if expected is None:
        raise Forbidden(
            "This route is disabled until TRIPOD_ADMIN_KEY is set: give the service a secret of at least 16 "
            "characters, and send it in the X-Admin-Key header."
        )
    if not key:
        raise Unauthorized("Send the value of TRIPOD_ADMIN_KEY in the X-Admin-Key header.")
    if not secrets.compare_digest(key.encode("latin-1", "replace"), expected.get_secret_value().encode()):
        raise Forbidden("The X-Admin-Key header does not match TRIPOD_ADMIN_KEY.")


AdminKey = Depends(_admin)
