"""The factory: settings in, application out."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from app.bundles.routes import router as bundles
from app.bundles.service import Bundles
from app.carts.routes import router as carts
from app.carts.service import Carts
from app.carts.store import CartStore
from app.compute import Compute
from app.dependencies import Services
from app.documentation import describe
from app.health.routes import router as health
from app.health.service import Health
from app.items.routes import router as items
from app.items.service import Catalogues, ItemService
from app.items.store import OverrideStore
from app.jobs.routes import router as jobs
from app.jobs.service import Jobs
from app.logs import configure_logs
from app.middleware import AroundRequests
from app.models.activation import ActivationNews
from app.models.routes import router as models
from app.models.service import Models
from app.parent_process import end_with_parent_process
from app.problems import install_handlers
from app.rate_limit import RateLimiter
from app.recommend.insights import Insights
from app.recommend.routes import router as recommendations
from app.recommend.service import Recommender
from app.redis_link import RedisLink
from app.settings import Settings, SettingsError, load_settings
from app.watchers import Watchers
from app.web.routes import router as web
from model_store import ModelStore

_FIRST_LOOKS_SECONDS = 5.0
ROUTERS = (recommendations, carts, bundles, items, models, jobs, health, web)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application; `python -m app serve` runs it, any ASGI server can."""
    settings = settings or load_settings()
    app = FastAPI(
        lifespan=_lifespan,
        redirect_slashes=False,
        docs_url=None,  # FastAPI's own pages load their scripts from elsewhere: ours is in `web`
        redoc_url=None,
        # FastAPI traces by itself; it exports when the usual variables say where to.
        telemetry={"auto_configure": any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ)},
    )
    services = app.state.services = _build(settings)
    limiter = RateLimiter(services.link, settings.rate_limit) if settings.rate_limit else None
    # A recommendation of ten items has 2 to 5 kB: compressing it would cost more time than sending it.
    app.add_middleware(GZipMiddleware, minimum_size=6_000, compresslevel=5)
    app.add_middleware(AroundRequests, max_body_bytes=settings.max_body_bytes, limiter=limiter)
    install_handlers(app)
    # Not `include_router`, which looks for the route of every request twice.
    app.router.routes[:0] = [route for router in ROUTERS for route in router.routes]
    describe(app)
    return app


def create_worker() -> FastAPI:
    """The application in one of several processes of `python -m app serve`."""
    end_with_parent_process()
    return create_app()


def _build(settings: Settings) -> Services:
    if settings.redis_url is None:
        raise SettingsError(
            "REDIS_URL is not set: set it, or use `python -m app serve`, which brings a Valkey."
        )
    link = RedisLink(settings.redis_url)
    compute = Compute(settings.threads, settings.queue)
    catalogues, watchers = Catalogues(), Watchers()
    shelf = Carts(CartStore(link, settings.cart_ttl, settings.idempotency_ttl))
    watched = Models(ModelStore(settings.store), catalogues, ActivationNews(link), settings.poll_seconds)
    return Services(
        settings=settings,
        link=link,
        compute=compute,
        catalogues=catalogues,
        carts=shelf,
        items=ItemService(catalogues, OverrideStore(link), compute, settings.poll_seconds),
        models=watched,
        recommender=Recommender(shelf, catalogues, compute, settings.cart_window),
        bundles=Bundles(shelf, catalogues, compute, settings.cart_window),
        insights=Insights(shelf, catalogues, compute, settings.cart_window),
        health=Health(link, catalogues, watched, watchers),
        jobs=Jobs(link, settings),
        watchers=watchers,
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    configure_logs(services.settings.log_level)
    models, items, watchers = services.models, services.items, services.watchers
    watchers.start("models", models.look, models.pause)
    watchers.start("activations", models.news.listen)
    watchers.start("items", items.look, items.pause)
    await _first_looks(services)
    yield
    await watchers.stop()
    services.compute.close()
    services.jobs.close()
    await services.link.close()


async def _first_looks(services: Services) -> None:
    """No request is answered without the model and the shop's changes, if they are there.

    A store or a Redis that hangs holds this up for a moment only.
    """
    deadline = monotonic() + _FIRST_LOOKS_SECONDS
    while not services.watchers.all_have_looked and (monotonic() < deadline or services.models.loading):
        await asyncio.sleep(0.01)
