"""The application factory: builds the services and the FastAPI application from the settings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Scope

from app.bundles.routes import router as bundles
from app.bundles.service import Bundles
from app.carts.routes import router as carts
from app.carts.service import Carts
from app.carts.store import CartStore
from app.catalogue.follower import CatalogueFollower
from app.catalogue.holder import SnapshotHolder
from app.catalogue.routes import router as items
from app.catalogue.service import ItemService
from app.dependencies import Services
from app.health.routes import router as health
from app.health.service import Health
from app.http.fast_routes import include_flat
from app.http.middleware import SHOPPERS, RequestMiddleware
from app.http.openapi import describe
from app.http.problems import install_handlers
from app.http.rate_limit import RateLimiter
from app.jobs.routes import router as jobs
from app.jobs.service import Jobs
from app.models.activation import Activations
from app.models.routes import router as model_routes
from app.models.service import Models
from app.purchases.routes import router as purchases
from app.purchases.service import Purchases
from app.purchases.store import OrderStore
from app.recommend.insights import Insights
from app.recommend.question import Questions
from app.recommend.routes import router as recommendations
from app.recommend.service import Recommender
from app.redis.client import RedisLink
from app.rules.routes import router as rules
from app.rules.service import Rules
from app.runtime.compute import Compute
from app.runtime.logs import configure_logs
from app.runtime.parent_process import end_with_parent_process
from app.runtime.watchers import Watchers
from app.settings import Settings, SettingsError, load_settings
from app.shoppers.follower import Follower
from app.shoppers.forgetting import Forgetting
from app.shoppers.histories import Histories
from app.shoppers.ids import ShopperHashes
from app.shoppers.routes import router as shoppers
from app.shoppers.service import Shoppers
from app.shoppers.store import ProfileStore
from app.substitutes.routes import router as substitutes
from app.substitutes.service import Substitutes
from app.web.routes import router as web
from model_store import ModelStore

_FIRST_POLLS_SECONDS = 5.0


def create_app(settings: Settings | None = None) -> FastAPI:
    """The ASGI application; `python -m app serve` runs it."""
    settings = settings or load_settings()
    app = FastAPI(
        lifespan=_lifespan,
        redirect_slashes=False,
        docs_url=None,  # FastAPI's own page loads scripts from a CDN; `web` serves ours
        redoc_url=None,
        # FastAPI creates the traces; export them only if the usual variables are set.
        telemetry={
            "auto_configure": any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ),
            "exclude": _names_a_shopper,
        },
    )
    services = app.state.services = _build(settings)
    limiter = RateLimiter(services.link, settings.rate_limit) if settings.rate_limit else None
    # A recommendation of ten items has 2 to 5 kB: compressing it would take longer than sending it.
    app.add_middleware(GZipMiddleware, minimum_size=6_000, compresslevel=5)
    app.add_middleware(
        RequestMiddleware,
        max_body_bytes=settings.max_body_bytes,
        max_ndjson_bytes=settings.max_ndjson_bytes,
        limiter=limiter,
    )
    install_handlers(app)
    shop = (recommendations, substitutes, carts, purchases, bundles, items, rules, shoppers)
    include_flat(app, *shop, model_routes, jobs, health, web)
    describe(app)
    return app


def _names_a_shopper(scope: Scope) -> bool:
    """Whether the address of a request holds the id of a shopper: traces must not."""
    return scope["path"].startswith(SHOPPERS) or b"shopper" in scope.get("query_string", b"")


def create_worker() -> FastAPI:
    """The application in one of several worker processes of `python -m app serve`."""
    end_with_parent_process()
    return create_app()


def _build(settings: Settings) -> Services:
    if settings.redis_url is None:
        raise SettingsError(
            "REDIS_URL is not set: set it, or use `python -m app serve`, which starts an embedded Valkey."
        )
    link = RedisLink(settings.redis_url)
    compute = Compute(settings.threads, settings.queue)
    snapshots, watchers = SnapshotHolder(settings.cache_mb << 20), Watchers()
    cart_store = CartStore(link, settings)
    model_store = ModelStore(settings.store)
    models = Models(model_store, snapshots, Activations(link), settings.poll_seconds)
    key = settings.shopper_key
    hashes = ShopperHashes(model_store, key.get_secret_value() if key else None)
    profiles = ProfileStore(link, settings.shopper_ttl)
    questions = Questions(cart_store, snapshots, settings.cart_window, Histories(profiles, hashes))
    catalogue = CatalogueFollower(link, snapshots, settings.poll_seconds)
    return Services(
        settings=settings,
        link=link,
        compute=compute,
        snapshots=snapshots,
        shopper_hashes=hashes,
        carts=Carts(cart_store, hashes),
        purchases=Purchases(OrderStore(link, settings), hashes, settings),
        items=ItemService(snapshots, catalogue.records, catalogue, compute, settings.max_body_bytes),
        catalogue=catalogue,
        rules=Rules(catalogue, snapshots, questions, compute),
        models=models,
        recommender=Recommender(questions, compute),
        bundles=Bundles(questions, snapshots, compute),
        insights=Insights(questions, compute),
        substitutes=Substitutes(questions, compute),
        health=Health(link, snapshots, models, watchers),
        jobs=Jobs(link, settings),
        shoppers=Shoppers(profiles, hashes, snapshots, Forgetting(link, settings.shopper_ttl), model_store),
        follower=Follower(link, profiles, hashes, snapshots, catalogue.purchases),
        watchers=watchers,
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    configure_logs(services.settings.log_level)
    models, catalogue, watchers = services.models, services.catalogue, services.watchers
    watchers.start("models", models.poll, models.pause)
    watchers.start("activations", models.activations.listen)
    watchers.start("items", catalogue.poll, catalogue.pause)
    watchers.start("shoppers", services.follower.poll, services.follower.pause)
    await _wait_for_first_polls(services)
    yield
    await watchers.stop()
    await services.follower.release()
    services.compute.close()
    services.jobs.close()
    await services.link.close()


async def _wait_for_first_polls(services: Services) -> None:
    """Accept requests only after the model and the catalogue are loaded, if there are any.

    A model store or a Redis that hangs delays the start by a few seconds only. What they have sent is waited
    for: a shop without its deletions, stock and rules would be wrong.
    """
    deadline, parts = monotonic() + _FIRST_POLLS_SECONDS, (services.models, services.catalogue)
    while not services.watchers.all_have_polled:
        if monotonic() >= deadline and not any(part.loading for part in parts):
            break
        await asyncio.sleep(0.01)
