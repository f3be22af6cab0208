"""The catalogue page in a browser: search, change, create and delete items."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.app_process import Service
from tests.app.jobs_process import KEY
from tests.web.web_shop import HOSTILE, Visit, give_key

PATH = "/dashboard/catalogue"


@pytest.fixture
def page(own_shop: Service, visit: Visit) -> Page:
    opened = visit(own_shop, PATH, expected="422 (Unprocessable")
    give_key(opened, KEY)
    return opened


def find(page: Page, words: str, item_id: str) -> Locator:
    """The row of an item after a search."""
    page.get_by_label("Search items").fill(words)
    row = page.locator(f"[data-item='{item_id}']")
    expect(page.locator(".entries li").first).to_have_attribute("data-item", item_id)
    return row


def change(page: Page, words: str, item_id: str) -> Locator:
    """Open the form of an item."""
    row = find(page, words, item_id)
    row.get_by_role("button", name="Change").click()
    expect(page.locator("#item form")).to_be_visible()
    return row


def save(page: Page) -> Any:
    """Save the form; returns the body that was sent."""
    with page.expect_request(lambda request: request.method in ("PATCH", "PUT")) as sent:
        page.get_by_role("button", name="Save").click()
    expect(page.locator("#item .done")).to_have_text("Saved.")
    return sent.value.post_data_json


def get(shop: Service, item_id: str) -> dict[str, Any]:
    answer = shop.client.get(f"/items/{item_id}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_search_categories_total_and_pages(own_shop: Service, visit: Visit) -> None:
    page = visit(own_shop, PATH)
    expect(page.locator("#total")).to_have_text("60 items")
    expect(page.locator(".entries li")).to_have_count(30)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".entries li")).to_have_count(60)
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    expect(page.locator(".entries")).to_contain_text(HOSTILE)
    page.get_by_label("Category").select_option("Accessories")
    expect(page.locator("#total")).to_have_text("30 items")
    page.get_by_label("Search items").fill("film 1")
    expect(page.locator("#total")).not_to_have_text("30 items")
    expect(page.get_by_label("Category").locator("option:checked")).to_contain_text("Accessories (")
    page.get_by_label("Search items").fill("zzzzzz")
    expect(page.locator("#items .note")).to_contain_text("No items found")
    expect(page.get_by_label("Category")).to_have_value("Accessories")  # stays, though nothing matches
    assert page.evaluate("window.hacked") is None


def test_change_sends_only_what_changed(own_shop: Service, page: Page) -> None:
    row = change(page, "Film 3", "film-3")
    page.get_by_label("Name", exact=True).fill("Colour film 3")
    page.get_by_label("Price").fill("7.5")
    page.get_by_label("Picture").fill("/static/favicon.svg")
    page.get_by_label("Picture").blur()
    expect(page.locator(".preview img")).to_be_visible()
    assert save(page) == {"name": "Colour film 3", "price": 7.5, "image_url": "/static/favicon.svg"}
    expect(row).to_contain_text("Colour film 3")
    expect(row).to_contain_text("$7.50")
    expect(row.locator("img")).to_be_visible()
    stored = get(own_shop, "film-3")
    assert (stored["name"], stored["price"], stored["category"]) == ("Colour film 3", 7.5, "Accessories")

    page.get_by_label("Name", exact=True).fill("")  # back to the model's name
    assert save(page) == {"name": None}
    expect(row).to_contain_text("Film 3")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#item .done")).to_have_text("Nothing has changed.")


def test_attributes_of_each_type(own_shop: Service, page: Page) -> None:
    change(page, "Film 4", "film-4")
    values = [("brand", "text", "Hafer"), ("speed", "number", "400"), ("colour", "boolean", "false")]
    for name, kind, value in [*values, ("tags", "list", "wide\nslow")]:
        page.get_by_role("button", name="Add an attribute").click()
        row = page.locator(".attributes li").last
        row.get_by_label("Name of the attribute").fill(name)
        row.get_by_label("Type").select_option(kind)
        control = row.locator("[data-part=value]")
        control.select_option(value) if kind == "boolean" else control.fill(value)
    expected = {"brand": "Hafer", "speed": 400, "colour": False, "tags": ["wide", "slow"]}
    assert save(page) == {"attributes": expected}
    assert get(own_shop, "film-4")["attributes"] == expected

    speed = page.locator(".attributes li").nth(1)
    speed.locator("[data-part=value]").fill("fast")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("[data-where=attributes] > .wrong")).to_have_text("Speed: “fast” is not a number.")
    speed.locator("[data-part=value]").fill("800")
    page.get_by_role("button", name="Remove the attribute brand").click()
    assert save(page) == {"attributes": {"speed": 800, "brand": None}}
    stored = get(own_shop, "film-4")["attributes"]
    assert stored == {"speed": 800, "colour": False, "tags": ["wide", "slow"]}


def test_new_item_appears_in_the_search_with_a_mark(own_shop: Service, page: Page) -> None:
    page.get_by_role("button", name="New item").click()
    expect(page.get_by_label("Id", exact=True)).to_be_focused()
    page.get_by_label("Id", exact=True).fill("camera-0")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("[data-where=name] .wrong")).to_have_text("An item needs a name.")
    page.get_by_label("Name", exact=True).fill("Zeppelin lens / 50 mm")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("[data-where=item_id] .wrong")).to_contain_text(
        "There is an item with this id already"
    )
    page.get_by_label("Id", exact=True).fill("lens/50 mm")
    page.get_by_label("Category", exact=True).last.fill("Photo > Lenses")
    page.get_by_label("Price").fill("250")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#item .done")).to_have_text("Saved.")
    expect(page.locator("#total")).to_have_text("61 items")
    expect(page.locator(".entries li").first.locator(".mark")).to_have_text("new")

    stored = own_shop.client.get("/items", params={"q": "zeppelin"}).json()["items"][0]
    assert (stored["item_id"], stored["category"], stored["cold"]) == ("lens/50 mm", "Photo > Lenses", True)
    row = find(page, "zeppelin", "lens/50 mm")
    expect(row.locator(".mark")).to_have_text("new")
    expect(row).to_contain_text("Photo > Lenses")
    page.get_by_label("Name", exact=True).fill("")  # the model knows no other name
    page.get_by_role("button", name="Save").click()
    expect(page.locator("[data-where=name] .wrong")).to_have_text("An item needs a name.")
    page.get_by_label("Search items").fill("Film 5")
    expect(page.locator("[data-item=film-5]")).to_be_visible()
    expect(page.locator("[data-item=film-5] .mark")).to_have_count(0)


def test_stock_switch_takes_effect_at_once(own_shop: Service, page: Page) -> None:
    row = find(page, "Film 6", "film-6")
    switch = row.get_by_role("switch", name="Film 6 is in stock")
    expect(switch).to_be_checked()
    switch.click()
    expect(row).to_contain_text("Sold out")
    expect(switch).to_be_focused()
    assert get(own_shop, "film-6")["in_stock"] is False
    switch.click()
    expect(row).to_contain_text("In stock")
    assert get(own_shop, "film-6")["in_stock"] is True


def test_stock_switch_without_the_key_goes_back(own_shop: Service, visit: Visit) -> None:
    page = visit(own_shop, PATH, expected="403 (Forbidden)")
    switch = find(page, "Film 6", "film-6").get_by_role("switch")
    switch.click()
    page.get_by_role("button", name="Cancel").click()
    expect(switch).to_be_checked()
    switch.click()
    page.get_by_role("textbox", name="Key").fill("not the key at all")
    page.keyboard.press("Enter")
    expect(page.locator("#items .note.bad")).to_contain_text("does not match")
    expect(switch).to_be_checked()
    assert get(own_shop, "film-6")["in_stock"] is True


def test_wrong_input_shows_messages_and_keeps_the_form(own_shop: Service, page: Page) -> None:
    change(page, "Film 7", "film-7")
    page.get_by_label("Name", exact=True).fill("Best film")
    page.get_by_label("Price").fill("seven")
    page.get_by_label("Boost").fill("-1")
    page.get_by_label("Picture").fill("somewhere else")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#item .note.bad")).to_have_text("Not saved: 3 entries below are wrong.")
    expect(page.locator("[data-where=price] .wrong")).to_have_text("Input should be a valid number.")
    expect(page.locator("[data-where=boost] .wrong")).to_contain_text("greater than or equal to 0")
    expect(page.locator("[data-where=image_url] .wrong")).to_contain_text("An address begins with https://")
    expect(page.get_by_label("Price")).to_be_focused()
    expect(page.get_by_label("Price")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Best film")
    expect(page.get_by_label("Price")).to_have_value("seven")
    assert get(own_shop, "film-7")["name"] == "Film 7"
    page.get_by_label("Price").fill("7")
    page.get_by_label("Boost").fill("1.5")
    page.get_by_label("Picture").fill("")
    assert save(page) == {"name": "Best film", "price": 7, "boost": 1.5}


def test_another_item_asks_before_changes_are_lost(page: Page) -> None:
    change(page, "Compact 8", "compact-8")
    page.get_by_label("Name", exact=True).fill("Half done")
    find(page, "Compact 9", "compact-9").get_by_role("button", name="Change").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Half done")
    page.get_by_role("button", name="Change Compact 9").click()
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Compact 9")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="Change Compact 9")).to_be_focused()


def test_delete_asks_first(own_shop: Service, page: Page) -> None:
    row = change(page, "Tripod 10", "tripod-10")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("Delete Tripod 10?")
    page.keyboard.press("Escape")
    assert get(own_shop, "tripod-10")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    expect(page.locator("#item .note")).to_contain_text("Choose an item")
    assert own_shop.client.get("/items/tripod-10").status_code == 404


def test_catalogue_by_keyboard(own_shop: Service, page: Page) -> None:
    expect(page.locator(".entries li").first).to_be_visible()

    def tab_to(selector: str) -> None:
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "3px"
                return
        raise AssertionError(f"Tab does not reach {selector}")

    page.get_by_label("Search items").focus()
    page.keyboard.type("film-11")
    expect(page.locator(".entries li")).to_have_count(1)
    tab_to("[role=switch]")
    page.keyboard.press("Space")
    expect(page.locator(".entries li")).to_contain_text("Sold out")
    tab_to(".entries button")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    tab_to("[name=price]")
    page.keyboard.press("Control+A")
    page.keyboard.type("3.25")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Save")).to_be_focused()
    expect(page.locator("#news")).to_contain_text("Film 11 is saved.")
    stored = get(own_shop, "film-11")
    assert (stored["price"], stored["in_stock"]) == (3.25, False)


def test_catalogue_fits_a_phone(own_shop: Service, visit: Visit) -> None:
    page = visit(own_shop, PATH, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    change(page, "Film 12", "film-12")
    page.get_by_role("button", name="Add an attribute").tap()
    expect(page.get_by_label("Name of the attribute")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
