"""What routes are handed: the services, and the headers that several routes understand."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Path, Request, Response, Security
from fastapi.security import APIKeyHeader

from app.bundles.service import Bundles
from app.carts.service import Carts
from app.carts.store import Conditions
from app.compute import Compute
from app.errors import Forbidden, Invalid, Unauthorized
from app.etags import header_of, revalidated, tags_of
from app.fields import IDEMPOTENCY_KEY, CartId, PathItemId
from app.health.service import Health
from app.items.service import Catalogues, ItemService
from app.jobs.service import Jobs
from app.models.service import Models
from app.recommend.insights import Insights
from app.recommend.service import Recommender
from app.redis_link import RedisLink
from app.settings import Settings
from app.watchers import Watchers


@dataclass(frozen=True)
class Services:
    """Everything the service is made of; one per process, in `app.state.services`."""

    settings: Settings
    link: RedisLink
    compute: Compute
    catalogues: Catalogues
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


def catalogue_headers(request: Request) -> dict[str, str]:
    """The headers of an answer that depends on the model and the shop's items alone, or NotModified.

    Ask for them before the answer: should the catalogue change in between, the answer is newer than its tag.
    """
    services = services_of(request)
    catalogue = services.catalogues.current()
    return revalidated(request, catalogue.model.version, catalogue.revision, services.settings.cart_window)


async def _from_catalogue(request: Request, response: Response) -> None:
    response.headers.update(catalogue_headers(request))


FromCatalogue = Depends(_from_catalogue)


# The two headers are parameters for the documentation only: FastAPI hands over one of several lines.
async def _conditions(
    request: Request,
    _if_match: Annotated[
        str | None,
        Header(
            alias="If-Match",
            description="Change the cart only if its ETag is one of these; `*`: only if it exists. Else 412.",
            examples=['"1763259000.123456-3"'],
        ),
    ] = None,
    _if_none_match: Annotated[
        str | None,
        Header(
            alias="If-None-Match",
            description="Change the cart only if its ETag is none of these; `*`: only if there is no such "
            "cart yet. Else 412.",
            examples=["*"],
        ),
    ] = None,
) -> Conditions:
    match, none_match = _tags(request, "If-Match"), _tags(request, "If-None-Match")
    return Conditions(
        # If-Match compares strongly, so that a weak tag never matches; If-None-Match compares weakly.
        None if match is None else tuple(tag for tag in match if not tag.startswith("W/")),
        None if none_match is None else tuple(tag.removeprefix("W/") for tag in none_match),
    )


def _tags(request: Request, name: str) -> tuple[str, ...] | None:
    header = header_of(request, name)
    if header is None:
        return None
    if (tags := tags_of(header)) is None:
        raise Invalid((f"header.{name}", 'it must be `*` or ETags in quotes, such as "1763259000.123456-3"'))
    return tags


CartConditions = Annotated[Conditions, Depends(_conditions)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=IDEMPOTENCY_KEY,
        description="A request repeated with the same key happens once: the repetition is answered with the "
        "cart as it is now, 404 if it is gone. A key counts for one route and one cart; with another body it "
        "is answered 422.",
        examples=["3b241101-e2bb-4255"],
    ),
]
CartIdPath = Annotated[CartId, Path(description="The id of the cart.")]
ItemIdPath = Annotated[PathItemId, Path(description="The id of the item.")]


_ADMIN_KEY = APIKeyHeader(
    name="X-Admin-Key",
    scheme_name="AdminKey",
    description="What `TRIPOD_ADMIN_KEY` holds.",
    auto_error=False,
)


async def _admin(services: ServicesDep, key: Annotated[str | None, Security(_ADMIN_KEY)]) -> None:
    expected = services.settings.admin_key
    if expected is None:
        raise Forbidden(
            "This address is closed until TRIPOD_ADMIN_KEY is set: give the service a secret of 16 "
            "characters or more, and send it in the header X-Admin-Key."
        )
    if not key:
        raise Unauthorized("Send the key that TRIPOD_ADMIN_KEY holds in the header X-Admin-Key.")
    if not secrets.compare_digest(key.encode("latin-1", "replace"), expected.get_secret_value().encode()):
        raise Forbidden("The header X-Admin-Key must hold the same key as TRIPOD_ADMIN_KEY.")


AdminKey = Depends(_admin)
