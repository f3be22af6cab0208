"""The rules page in a browser: rules of each kind, their effect, and the preview."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.app.app_process import Service, get_json, ids_of
from tests.app.jobs_process import KEY
from tests.web.test_storefront import put_into_cart
from tests.web.web_shop import Visit, give_key

PATH = "/dashboard/rules"
FILM_FIRST: dict[str, Any] = {
    "name": "Film first",
    "when": {"cart_has": {"field": "id", "in": ["camera-0"]}},
    "then": {"action": "boost", "items": {"field": "id", "in": ["film-0"]}, "factor": 100},
}


@pytest.fixture(autouse=True)
def no_rules(own_shop: Service) -> Iterator[None]:
    yield
    for rule in own_shop.client.get("/rules").json()["rules"]:
        own_shop.client.delete(f"/rules/{rule['rule_id']}").raise_for_status()


@pytest.fixture
def page(own_shop: Service, visit: Visit) -> Page:
    opened = visit(own_shop, PATH, expected="422 (Unprocessable")
    expect(opened.locator("#rules .note")).to_contain_text("Rules need the admin key.")
    give_key(opened, KEY)
    expect(opened.locator("#rules .note, .rules li").first).to_be_visible()
    return opened


def choose_item(page: Page, label: str, name: str) -> None:
    page.get_by_label(label, exact=True).fill(name)
    page.locator(".found button").filter(has_text=name).first.click()
    expect(page.locator(".chosen").filter(has_text=name).first).to_be_visible()


def new_rule(page: Page, action: str) -> None:
    page.get_by_role("button", name="New rule").click()
    page.get_by_label("What to do").select_option(action)


def create(page: Page) -> str:
    """Create the rule in the form; returns its sentence."""
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#rule")).to_be_hidden()
    expect(page.locator(".rules li")).to_have_count(1)
    expect(page.locator(".rules .state")).to_have_text("active")
    return page.locator(".rules li .entry p").first.inner_text()


def recommended(shop: Service, *cart: str) -> list[str]:
    return ids_of(get_json(shop.client, "/recommend", items=",".join(cart), k=8))


def test_pin_changes_the_storefront(own_shop: Service, page: Page, visit: Visit) -> None:
    new_rule(page, "pin")
    choose_item(page, "Item to pin", "Film 9")
    page.get_by_label("Place").fill("2")
    page.get_by_label("Name").fill("Film of the week")
    assert create(page) == "Show Film 9 at place 2."
    assert recommended(own_shop, "camera-0")[1] == "film-9"
    shop_page = visit(own_shop)
    put_into_cart(shop_page, "Camera 0")
    pick = shop_page.locator(".picks > li").nth(1)
    expect(pick.locator("h3")).to_have_text("Film 9")
    expect(pick.locator(".mark")).to_have_attribute(
        "title", "1 rule of the shop acts on this item: film-of-the-week."
    )


def test_boost_for_some_carts(own_shop: Service, page: Page) -> None:
    assert recommended(own_shop, "camera-0")[0] == "tripod-0"
    new_rule(page, "boost")
    page.get_by_label("Which items", exact=True).select_option("item")
    choose_item(page, "Which items: items", "Film 0")
    page.get_by_label("Factor").fill("100")
    page.get_by_label("The cart has", exact=True).select_option("category")
    page.get_by_label("The cart has: category").select_option("Photo")
    page.get_by_label("The cart has none of", exact=True).select_option("item")
    choose_item(page, "The cart has none of: items", "Camera 5")
    words = "Boost Film 0 ×100 when the cart has Photo and the cart has no Camera 5."
    assert create(page) == words
    assert recommended(own_shop, "camera-0")[0] == "film-0"
    assert recommended(own_shop, "camera-0", "camera-5")[0] != "film-0"
    (rule,) = own_shop.client.get("/rules").json()["rules"]
    assert (rule["name"], rule["rule_id"]) == (
        words,
        "boost-film-0-100-when-the-cart-has-photo-and-the-cart-ha",
    )


def test_bury_by_a_field(own_shop: Service, page: Page) -> None:
    new_rule(page, "bury")
    expect(page.get_by_label("Factor")).to_have_value("0.1")
    page.get_by_label("Which items", exact=True).select_option("field")
    page.get_by_label("Which items: field").fill("price")
    page.get_by_label("Which items: comparison").select_option("le")
    page.get_by_label("Which items: value").fill("12")  # of camera-0, tripod-0 and compact-0
    page.get_by_label("Factor").fill("0.001")
    assert create(page) == "Bury items with price at most 12 ×0.001."
    assert not {"tripod-0", "compact-0"} & set(recommended(own_shop, "camera-0"))


def test_hide_a_category(own_shop: Service, page: Page) -> None:
    new_rule(page, "hide")
    page.get_by_label("Which items: category").select_option("Accessories")
    assert create(page) == "Hide items of Accessories."
    assert {item.split("-")[0] for item in recommended(own_shop, "camera-0")} == {"camera", "compact"}


def test_at_most_by_json(own_shop: Service, page: Page) -> None:
    new_rule(page, "at_most")
    page.get_by_label("Which items", exact=True).select_option("json")
    text = page.get_by_label("Which items: JSON")
    text.fill('{"any": [')
    page.get_by_role("button", name="Create").click()
    expect(page.locator("[data-where='then.items'] .wrong")).to_have_text("This is not valid JSON.")
    text.fill('{"field": "category", "in": ["Accesories"]}')
    page.get_by_role("button", name="Create").click()
    expect(page.locator("[data-where='then.items'] .wrong")).to_contain_text(
        "There is no category 'Accesories'"
    )
    expect(page.locator("#preview .note")).to_contain_text("The rule in the form is not ready")
    expect(text).to_have_value('{"field": "category", "in": ["Accesories"]}')
    text.fill('{"all": [{"field": "category", "in": ["Accessories"]}, {"field": "price", "gt": 1}]}')
    assert create(page) == "Show at most 1 item of Accessories and with price above 1."
    found = recommended(own_shop, "camera-0")
    assert sum(item.split("-")[0] in ("tripod", "film") for item in found) == 1


def test_preview_of_stored_rules_and_of_the_draft(own_shop: Service, page: Page) -> None:
    choose_item(page, "Items in the cart", "Camera 0")
    expect(page.locator("#preview-hint")).to_have_text("With the rules that are on now.")
    expect(page.locator(".effects")).to_have_count(0)
    new_rule(page, "boost")
    page.get_by_label("Which items", exact=True).select_option("item")
    choose_item(page, "Which items: items", "Film 9")
    page.get_by_label("Factor").fill("1000")
    page.get_by_label("Name").fill("Film nine")
    draft = {
        "name": "Film nine",
        "then": {**FILM_FIRST["then"], "items": {"field": "id", "in": ["film-9"]}, "factor": 1000},
    }
    expected = own_shop.client.post("/rules/preview", json={"items": ["camera-0"], "draft": draft}).json()
    (effect,) = expected["effects"]
    with_rules = page.get_by_label("With the rules").locator("li")
    expect(with_rules.first).to_contain_text("Film 9")
    expect(with_rules.first.locator(".moved")).to_have_text("was not in the list")
    expect(with_rules.first.locator(".mark.quiet")).to_have_text("Film nine")
    expect(with_rules.nth(1).locator(".moved")).to_have_text("↓ was 1")
    expect(page.get_by_label("Without rules").locator("li").first).to_contain_text("Tripod 0")
    expect(page.locator("[data-effect=draft]")).to_contain_text(
        "Film nine (in the form)Comes in: Film 9. Goes out:"
    )
    points = f"{100 * effect['cost']:.1f}"
    assert float(points) > 0
    expect(page.locator("[data-effect=draft]")).to_contain_text(
        f"It lowers the chance that the next item is in the list by {float(points):g} point"
    )
    expect(page.locator("#chance")).to_contain_text(f"{100 * expected['probability']:.0f} % with the rules")
    assert own_shop.client.get("/rules").json()["rules"] == []

    create(page)
    expect(page.locator("#preview-hint")).to_have_text("With the rules that are on now.")
    expect(page.locator("[data-effect=film-nine]")).to_contain_text("Comes in: Film 9.")
    page.get_by_role("button", name="Change Film nine").click()
    page.get_by_label("Factor").fill("1.01")  # the draft takes the place of the stored rule
    expect(page.locator("[data-effect=film-nine]")).to_have_text(
        "Film nine (in the form)It changes nothing in this list."
    )
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="Change Film nine")).to_be_focused()
    page.get_by_role("button", name="Remove Camera 0").click()
    expect(page.locator("#preview .request code")).to_contain_text('"items":[]')


def test_switch_change_and_delete(own_shop: Service, visit: Visit) -> None:
    own_shop.client.put("/rules/film", json=FILM_FIRST).raise_for_status()
    page = visit(own_shop, PATH, expected="422 (Unprocessable")
    give_key(page, KEY)
    switch = page.get_by_role("switch", name="Film first is on")
    expect(switch).to_be_checked()
    switch.click()
    expect(page.locator(".rules .state")).to_have_text("off")
    expect(switch).to_be_focused()
    assert recommended(own_shop, "camera-0")[0] == "tripod-0"
    switch.click()
    expect(page.locator(".rules .state")).to_have_text("active")
    assert recommended(own_shop, "camera-0")[0] == "film-0"

    page.get_by_role("button", name="Change Film first").click()
    expect(page.get_by_label("The cart has", exact=True)).to_have_value("item")
    page.get_by_label("Factor").fill("0.5")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("[data-where='then.factor'] .wrong")).to_have_text("Input should be greater than 1.")
    page.get_by_label("Factor").fill("50")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".rules .entry")).to_contain_text("Boost Film 0 ×50 when the cart has Camera 0.")
    page.get_by_role("button", name="Change Film first").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator("#rules .note")).to_contain_text("No rules yet.")
    assert recommended(own_shop, "camera-0")[0] == "tripod-0"


def test_order_dates_and_problem(own_shop: Service, visit: Visit) -> None:
    dates: dict[str, Any] = {"starts_at": "2020-02-03T04:05:06Z", "ends_at": "2021-02-03T04:05:06Z"}
    rules = {
        "late": {**FILM_FIRST, "name": "Past", "when": dates, "priority": -5},
        "first": {**FILM_FIRST, "name": "First", "priority": 7},
        "gone": {"name": "Gone", "then": {"action": "pin", "item_id": "gone"}},
    }
    own_shop.client.put("/items/gone", json={"name": "Soon gone"}).raise_for_status()
    for rule_id, rule in rules.items():
        own_shop.client.put(f"/rules/{rule_id}", json=rule).raise_for_status()
    own_shop.client.delete("/items/gone").raise_for_status()
    page = visit(own_shop, PATH, timezone_id="Europe/Berlin")
    give_key(page, KEY)
    expect(page.locator(".rules h2")).to_have_text(["First active", "Gone no effect", "Past not now"])
    expect(page.locator("[data-rule=gone] .wrong")).to_have_text("The shop has no item 'gone'.")
    expect(page.locator("[data-rule=late]")).to_contain_text("from Feb 3, 2020, 5:05 AM until Feb 3, 2021")
    page.get_by_role("button", name="Change Past").click()
    expect(page.get_by_label("From")).to_have_value("2020-02-03T05:05")
    page.get_by_label("Priority").fill("9")
    page.get_by_label("Until").fill("2019-01-01T00:00")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("[data-where='when.ends_at'] .wrong")).to_have_text(
        "The end must be after the beginning."
    )
    page.get_by_label("Until").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".rules h2").first).to_have_text("Past active")
    stored = own_shop.client.get("/rules/late").json()
    assert stored["when"]["starts_at"] == dates["starts_at"]  # with the seconds that the form does not show
    assert (stored["when"]["ends_at"], stored["priority"]) == (None, 9)


def test_rules_by_keyboard(own_shop: Service, page: Page) -> None:
    def tab_to(label: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.get_by_label(label, exact=True).evaluate("element => element === document.activeElement"):
                return
        raise AssertionError(f"Tab does not reach {label}")

    page.get_by_role("button", name="New rule").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("What to do")).to_be_focused()
    page.keyboard.type("Pin")
    tab_to("Item to pin")
    page.keyboard.type("film-3")
    expect(page.locator(".found button").first).to_contain_text("Film 3")
    page.keyboard.press("Enter")
    expect(page.locator(".chosen").first).to_contain_text("Film 3")
    tab_to("Place")
    page.keyboard.press("Enter")
    expect(page.locator(".rules li")).to_contain_text("Show Film 3 at place 1.")
    expect(page.get_by_role("button", name="New rule")).to_be_focused()
    assert recommended(own_shop, "camera-0")[0] == "film-3"


def test_rules_fit_a_phone(own_shop: Service, visit: Visit) -> None:
    own_shop.client.put("/rules/film", json=FILM_FIRST).raise_for_status()
    page = visit(own_shop, PATH, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    give_key(page, KEY)
    page.get_by_role("button", name="Change Film first").tap()
    page.get_by_label("The cart has none of", exact=True).select_option("field")
    expect(page.locator(".ranks li").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
