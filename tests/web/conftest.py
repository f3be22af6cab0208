"""A real browser before a real service. Every visit ends with a look at what the browser complained about."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))  # pytest's importlib mode does not add it
sys.path.insert(0, str(Path(__file__).parents[1] / "app"))

from app_process import Service
from jobs_process import KEY
from web_shop import Visit, publish_shop

from scripts.browser import find_browser

# Nothing but the pages: a browser's own errands are not what is tested.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 30_000  # milliseconds; the machine may be busy

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")  # while it lives, its event loop would disturb other tests' own
def chromium() -> Iterator[Browser]:
    path = find_browser()  # before Playwright runs here: it asks Playwright too
    if path is None:
        pytest.fail("there is no Chromium: `python -m scripts.browser` installs one, as `make test` does")
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


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    """Open a page of a service; at the end: no error, no policy broken, no request to anybody else."""
    contexts, complaints = [], []

    def open_page(
        service: Service, path: str = "/", *, expected: str | None = None, **options: object
    ) -> Page:
        """`expected` is part of the complaints that the test provokes."""
        origin = str(service.client.base_url).rstrip("/")
        context = chromium.new_context(base_url=origin, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)

        def complain(text: str) -> None:
            if expected is None or expected not in text:
                complaints.append(text)

        def check_host(url: str) -> None:
            if urlsplit(url).netloc != urlsplit(origin).netloc:
                complaints.append(f"a request to {url}")

        def watch(page: Page) -> None:
            page.on("console", lambda said: said.type in ("error", "warning") and complain(said.text))
            page.on("pageerror", lambda error: complain(str(error)))
            page.on("request", lambda request: check_host(request.url))

        context.on("page", watch)
        page = context.new_page()
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
