"""What routes are handed: the services, and the headers that several routes understand."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Path, Request

from app.bundles.service import Bundles
from app.carts.service import Carts
from app.compute import Compute
from app.errors import Forbidden, Invalid
from app.fields import CartId, ItemId
from app.health.service import Health
from app.items.service import ItemService
from app.jobs.service import Jobs
from app.models.service import Models
from app.recommend.insights import Insights
from app.recommend.service import Recommender
from app.redis_link import RedisLink
from app.settings import Settings
from app.watchers import Watchers

_ETAGS = re.compile(r'\s*(?:W/)?"[\x21\x23-\x7e]*"\s*(?:,\s*(?:W/)?"[\x21\x23-\x7e]*"\s*)*')


@dataclass(frozen=True)
class Services:
    """Everything the service is made of; one per process, in `app.state.services`."""

    settings: Settings
    link: RedisLink
    compute: Compute
    carts: Carts
    items: ItemService
    models: Models
    recommender: Recommender
    bundles: Bundles
    insights: Insights
    health: Health
    jobs: Jobs
    watchers: Watchers


def services_of(request: Request) -> Services:
    """The services of the application that got the request."""
    services: Services = request.app.state.services
    return services


# Dependencies are coroutines: FastAPI hands plain functions to a thread, which costs more than they do.
async def _services(request: Request) -> Services:
    return services_of(request)


ServicesDep = Annotated[Services, Depends(_services)]


async def _if_match(
    if_match: Annotated[
        str | None,
        Header(
            alias="If-Match",
            description="Change the cart only if its ETag is one of these; `*`: only if it exists. Else 412.",
            examples=['"1763259000.123456-3"'],
        ),
    ] = None,
) -> tuple[str, ...] | None:
    if if_match is None:
        return None
    if if_match.strip() == "*":
        return ("*",)
    if not _ETAGS.fullmatch(if_match):
        raise Invalid('header.If-Match: it must be `*` or ETags in quotes, such as "1763259000.123456-3".')
    # A weak ETag never matches: If-Match compares strongly.
    return tuple(re.findall(r'(?<!W/)"([^"]*)"(?=\s*(?:,|$))', if_match))


IfMatch = Annotated[tuple[str, ...] | None, Depends(_if_match)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,255}$",
        description="Repeat a request with the same key and it happens once and is answered the same.",
        examples=["3b241101-e2bb-4255"],
    ),
]
CartIdPath = Annotated[CartId, Path(description="The id of the cart.")]
ItemIdPath = Annotated[ItemId, Path(description="The id of the item.")]


async def _admin(
    services: ServicesDep,
    x_admin_key: Annotated[
        str | None, Header(alias="X-Admin-Key", description="What `TRIPOD_ADMIN_KEY` holds.")
    ] = None,
) -> None:
    expected = services.settings.admin_key
    if expected is None:
        raise Forbidden(
            "This address is closed until TRIPOD_ADMIN_KEY is set: give the service a secret of 16 "
            "characters or more, and send it in the header X-Admin-Key."
        )
    given = (x_admin_key or "").encode("latin-1", "replace")
    if not secrets.compare_digest(given, expected.get_secret_value().encode()):
        raise Forbidden("Send the key that TRIPOD_ADMIN_KEY holds in the header X-Admin-Key.")


AdminKey = Depends(_admin)
