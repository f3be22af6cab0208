"""Pictures, drawings and marks of items in the storefront."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.app.app_process import Service
from tests.web.test_storefront import put_into_cart
from tests.web.web_shop import Visit

SQUARE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="90"><rect width="40" height="90"/></svg>'
)
HERE = "/static/favicon.svg"
ELSEWHERE = ("https://pictures.example/film.svg", "http://pictures.example/film.svg")


@pytest.fixture(autouse=True)
def no_pictures(own_shop: Service) -> Iterator[None]:
    yield
    items = [{"item_id": f"film-{group}", "image_url": None} for group in range(9)]
    own_shop.client.patch("/items", json={"items": items}).raise_for_status()


def change(shop: Service, item_id: str, **fields: object) -> None:
    shop.client.patch(f"/items/{item_id}", json=fields).raise_for_status()


def search(page: Page, words: str) -> None:
    page.get_by_label("Search the catalogue").fill(words)
    expect(page.locator(".goods li")).to_have_count(1)


def test_picture_is_shown_in_a_box_of_fixed_size(own_shop: Service, visit: Visit) -> None:
    page = visit(own_shop)
    search(page, "film-0")
    box = page.locator(".goods .picture")
    expect(box.locator("svg")).to_be_visible()
    before = box.bounding_box()
    change(own_shop, "film-0", image_url=HERE)
    page.reload()
    search(page, "film-0")
    image = box.locator("img")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    assert image.get_attribute("loading") == "lazy"
    assert image.get_attribute("alt") == ""
    assert box.bounding_box() == before
    put_into_cart(page, "Camera 0")
    expect(page.locator(".picks [data-item=film-0] img")).to_have_attribute("src", HERE)


def test_broken_picture_becomes_a_drawing(own_shop: Service, visit: Visit) -> None:
    change(own_shop, "film-6", image_url="/static/no-such-picture.png")
    page = visit(own_shop, expected="404 (Not Found)")
    search(page, "film-6")
    box = page.locator(".goods .picture")
    expect(box.locator("svg")).to_be_visible()
    expect(box.locator("img")).to_have_count(0)


def test_pictures_of_other_hosts_are_allowed(own_shop: Service, visit: Visit) -> None:
    for item_id, address in zip(("film-7", "film-8"), ELSEWHERE, strict=True):
        change(own_shop, item_id, image_url=address)
    page = visit(own_shop, pictures=dict.fromkeys(ELSEWHERE, SQUARE))
    for item_id, address in zip(("film-7", "film-8"), ELSEWHERE, strict=True):
        search(page, item_id)
        image = page.locator(".goods .picture img")
        expect(image).to_have_attribute("src", address)
        assert image.evaluate("image => image.decode().then(() => image.naturalHeight)") == 90


def test_drawing_depends_on_the_category(own_shop: Service, visit: Visit) -> None:
    categories = {
        "oat": "Drinks > Plant drinks",
        "merlot": "Drinks > Wine",
        "milk": "Dairy",
        "pens": "Stationery",
    }
    for item_id, category in categories.items():
        own_shop.client.put(
            f"/items/{item_id}-x", json={"name": item_id, "category": category}
        ).raise_for_status()
    page = visit(own_shop)
    drawn = {}
    for item_id in categories:
        search(page, f"{item_id}-x")
        expect(page.locator(".goods h3")).to_contain_text(item_id)
        glyph = page.locator(".goods .picture svg")
        drawn[item_id] = glyph.evaluate("svg => svg.firstChild.getAttribute('d') ?? svg.textContent")
    assert drawn["pens"] == "S"
    assert len(set(drawn.values())) == len(drawn)


def test_new_items_and_items_with_rules_have_marks(own_shop: Service, visit: Visit) -> None:
    fields = {"name": "Super film", "category": "Accessories", "price": 5}
    own_shop.client.put("/items/super", json=fields).raise_for_status()
    pin = {"name": "Launch", "then": {"action": "pin", "item_id": "super", "position": 1}}
    own_shop.client.put("/rules/launch", json=pin).raise_for_status()
    page = visit(own_shop)
    search(page, "super")
    expect(page.locator(".goods .mark")).to_have_text("new")
    first = page.locator(".picks > li").first
    expect(first.locator("h3")).to_have_text("Super film")
    expect(first.locator(".mark").first).to_have_text("new")
    expect(first.locator(".mark").last).to_have_attribute(
        "title", "1 rule of the shop acts on this item: launch."
    )
    expect(page.locator(".picks > li").nth(1).locator(".mark")).to_have_count(0)
