"""A real browser and a real service. Every visit fails if the browser logs an unexpected error."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

from scripts.browser import find_browser
from tests.app.app_process import Service
from tests.app.jobs_process import KEY
from tests.web.web_shop import Visit, publish_shop

# Disable the browser's own network traffic.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TIMEOUT = 30_000  # milliseconds; the machine may be busy

expect.set_options(timeout=TIMEOUT)


@pytest.fixture(scope="module")  # not longer: its event loop would disturb the asyncio tests of other modules
def chromium() -> Iterator[Browser]:
    path = find_browser()  # before sync_playwright() below: find_browser starts Playwright too
    if path is None:
        pytest.fail("Chromium is missing: `python -m scripts.browser` installs it, as `make test` does")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    store = tmp_path_factory.mktemp("web") / "store"
    publish_shop(store)
    with Service(store, TRIPOD_ADMIN_KEY=KEY) as running:
        yield running.ready()


@pytest.fixture(scope="module")
def own_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose catalogue and rules the tests of one file may change."""
    store = tmp_path_factory.mktemp("web-own") / "store"
    publish_shop(store)
    with Service(store, TRIPOD_ADMIN_KEY=KEY) as running:
        running.client.headers["X-Admin-Key"] = KEY
        yield running.ready()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    """Open a page of a service; fails on console errors, CSP violations and requests to other hosts."""
    contexts, errors = [], []

    def open_page(
        service: Service,
        path: str = "/",
        *,
        expected: str | None = None,
        pictures: dict[str, bytes] | None = None,
        **options: object,
    ) -> Page:
        """`expected` is part of the console errors that the test provokes; `pictures` are at other hosts."""
        origin = str(service.client.base_url).rstrip("/")
        context = chromium.new_context(base_url=origin, **options)
        context.set_default_timeout(TIMEOUT)
        contexts.append(context)

        def report(text: str) -> None:
            if expected is None or expected not in text:
                errors.append(text)

        def check_host(url: str) -> None:
            if urlsplit(url).netloc != urlsplit(origin).netloc and url not in (pictures or {}):
                errors.append(f"request to {url}")

        def watch(page: Page) -> None:
            page.on("console", lambda message: message.type in ("error", "warning") and report(message.text))
            page.on("pageerror", lambda error: report(str(error)))
            page.on("request", lambda request: check_host(request.url))

        def answer(route: Route) -> None:
            route.fulfill(body=(pictures or {})[route.request.url], content_type="image/svg+xml")

        for url in pictures or {}:
            context.route(url, answer)
        context.on("page", watch)
        page = context.new_page()
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
