"""Swagger UI, which must work on a machine without a network."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.app.app_process import Service
from tests.web.web_shop import Visit


def test_swagger_ui_lists_every_operation_and_executes_one(shop: Service, visit: Visit) -> None:
    page = visit(shop, "/docs")
    document = shop.client.get("/openapi.json").json()
    operations = sum(len(methods) for methods in document["paths"].values())
    expect(page.locator(".opblock")).to_have_count(operations)
    block = page.locator(".opblock", has_text="Is the process alive?")
    block.click()
    block.get_by_role("button", name="Execute").click()
    expect(block.locator(".live-responses-table")).to_contain_text('"status": "alive"')
