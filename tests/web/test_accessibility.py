"""axe-core finds no serious violation on any page, light or dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.app.app_process import Service
from tests.app.jobs_process import KEY
from tests.web.web_shop import Visit, give_key

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_catalogue_accessibility(own_shop: Service, visit: Visit, scheme: str) -> None:
    own_shop.client.put(
        "/items/oat", json={"name": "Oat drink", "category": "Drinks", "attributes": {"tags": ["a"]}}
    )
    page = visit(
        own_shop, "/dashboard/catalogue", expected="422", color_scheme=scheme, reduced_motion="reduce"
    )
    give_key(page, KEY)
    page.get_by_label("Search items").fill("oat")
    expect(page.locator(".entries .mark")).to_have_text("new")
    page.get_by_role("button", name="Change Oat drink").click()
    page.get_by_label("Price").fill("abc")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".wrong").filter(has_text="number")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rules_accessibility(own_shop: Service, visit: Visit, scheme: str) -> None:
    films = {"field": "id", "in": ["film-0"]}
    rule = {"name": "Films first", "then": {"action": "boost", "items": films, "factor": 50}}
    own_shop.client.put("/rules/films", json=rule).raise_for_status()
    own_shop.client.put("/rules/off", json={**rule, "enabled": False}).raise_for_status()
    page = visit(own_shop, "/dashboard/rules", color_scheme=scheme, reduced_motion="reduce")
    assert violations(page) == []
    give_key(page, KEY)
    page.get_by_role("button", name="Change Films first").first.click()
    page.get_by_label("The cart has", exact=True).select_option("field")
    page.get_by_label("Items in the cart").fill("Camera")
    for place in (".found button", ".ranks .moved", ".rules .state", ".effects li"):
        expect(page.locator(place).first).to_be_visible()
    assert violations(page) == []
