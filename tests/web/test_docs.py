"""The documentation of the API, which must work on a machine without a network."""

from __future__ import annotations

from app_process import Service
from playwright.sync_api import expect
from web_shop import Visit


def test_the_documentation_shows_every_route_and_tries_one(shop: Service, visit: Visit) -> None:
    page = visit(shop, "/docs")
    document = shop.client.get("/openapi.json").json()
    operations = sum(len(methods) for methods in document["paths"].values())
    expect(page.locator(".opblock")).to_have_count(operations)
    block = page.locator(".opblock", has_text="Is the process alive?")
    block.click()
    block.get_by_role("button", name="Execute").click()
    expect(block.locator(".live-responses-table")).to_contain_text('"status": "alive"')
