"""axe-core finds no serious violation on either page, light or dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.app.app_process import Service
from tests.web.web_shop import Visit

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()


def violations(page: Page) -> list[tuple[str, Any]]:
    page.evaluate(AXE)
    found = page.evaluate("axe.run()")
    return [
        (violation["id"], [node["html"] for node in violation["nodes"]])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_storefront_accessibility(shop: Service, visit: Visit, scheme: str) -> None:
    page = visit(shop, color_scheme=scheme, reduced_motion="reduce")
    page.get_by_role("button", name="Add Camera 0 to the cart").first.click()
    page.get_by_text("Change the order").click()
    page.locator("[data-item='tripod-0'] .because summary").click()
    page.get_by_role("button", name="Swap Camera 0").click()
    page.locator("#suggestions .request summary").click()
    for place in (".swaps li", ".picks .relation", ".picks .shares", ".gauge", ".bundle li"):
        expect(page.locator(place).first).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dashboard_accessibility(shop: Service, visit: Visit, scheme: str) -> None:
    page = visit(shop, "/dashboard", color_scheme=scheme, reduced_motion="reduce")
    for place in (".big", "#versions tr", "#rate .chart", ".graph .node", "#routes td"):
        expect(page.locator(place).first).to_be_visible()
    assert violations(page) == []
    page.locator("#admin").click()
    expect(page.get_by_role("textbox", name="Key")).to_be_focused()
    assert violations(page) == []
