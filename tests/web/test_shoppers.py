"""Shopping as a household in the storefront, and "Forget me"."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.app.app_process import ADMIN_KEY, Service
from tests.app.shopper_shop import buy, profile, publish_personal, wait_for_baskets
from tests.web.test_accessibility import violations
from tests.web.test_storefront import put_into_cart
from tests.web.web_shop import Visit

BUYER, OTHER, GONE = "household-1", "household-2", "household 3/ü"


@pytest.fixture(scope="module")
def personal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose model uses histories, and which offers shoppers."""
    store = tmp_path_factory.mktemp("web-shoppers") / "store"
    publish_personal(store)
    offered = f"{BUYER}, {OTHER},{GONE}"
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY, TRIPOD_STOREFRONT_SHOPPERS=offered) as running:
        shop = running.ready().client
        for _ in range(3):
            buy(shop, BUYER, "film-9", "tripod-9")
        wait_for_baskets(shop, BUYER, 3)
        yield running


def shop_as(page: Page, shopper: str) -> None:
    page.get_by_label("Shop as", exact=True).select_option(shopper)


def test_nobody_is_offered_without_the_setting(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    expect(page.locator(".picks > li").first).to_be_visible()
    expect(page.locator("#shopper-panel")).to_be_hidden()
    assert shop.client.get("/storefront/shoppers").json() == {"shoppers": []}


def test_list_of_shoppers_is_not_in_the_documentation(personal: Service) -> None:
    answer = personal.client.get("/storefront/shoppers")
    assert answer.json() == {"shoppers": [BUYER, OTHER, GONE]}
    assert answer.headers["cache-control"] == "no-store"
    assert "/storefront/shoppers" not in personal.client.get("/openapi.json").json()["paths"]


def test_household_with_an_empty_cart_sees_what_it_is_about_to_buy(personal: Service, visit: Visit) -> None:
    page = visit(personal)
    expect(page.get_by_role("heading", name="Recommendations")).to_be_visible()
    expect(page.locator(".picks")).not_to_contain_text("you bought it")
    shop_as(page, BUYER)
    expect(page.get_by_role("heading", name="You may be about to buy")).to_be_visible()
    assert set(page.locator(".picks h3").all_inner_texts()[:2]) == {"Film 9", "Tripod 9"}
    expect(page.locator("[data-item='film-9'] .because")).to_contain_text("you bought it 3 times, last today")
    for panel in ("#suggestions", "#bundle"):
        expect(page.locator(f"{panel} .request code")).to_contain_text(f'"shopper_id":"{BUYER}"')
    shop_as(page, "nobody")
    expect(page.get_by_role("heading", name="Recommendations")).to_be_visible()
    expect(page.locator(".picks")).not_to_contain_text("you bought it")
    expect(page.locator("#suggestions .request code")).not_to_contain_text("shopper_id")


def test_shares_of_the_reasons_name_the_own_purchases(personal: Service, visit: Visit) -> None:
    page = visit(personal)
    shop_as(page, BUYER)
    put_into_cart(page, "Camera 9")
    pick = page.locator("[data-item='tripod-9']")
    expect(pick.locator(".because summary")).to_be_visible()
    pick.locator(".because summary").click()
    own = pick.locator(".because li[data-source='own']")
    expect(own).to_contain_text("you bought it 3 times, last today")
    expect(pick.locator(".shares rect[data-source='own']")).to_have_count(1)
    expect(page.get_by_role("heading", name="Recommendations")).to_be_visible()


def test_household_without_purchases_is_told_so(personal: Service, visit: Visit) -> None:
    page = visit(personal)
    shop_as(page, OTHER)
    expect(page.locator("#suggestions")).to_contain_text(
        f"No purchases of {OTHER} are known: this is for anybody."
    )
    expect(page.get_by_role("heading", name="Recommendations")).to_be_visible()


def test_cart_and_purchase_of_a_household(personal: Service, visit: Visit) -> None:
    page = visit(personal)
    shop_as(page, OTHER)
    put_into_cart(page, "Camera 4")
    cart_id = page.evaluate("localStorage.getItem('tripod.cart')")
    assert personal.client.get(f"/carts/{cart_id}").json()["has_shopper"]
    page.reload()  # cart and household are remembered
    expect(page.get_by_label("Shop as", exact=True)).to_have_value(OTHER)
    page.get_by_role("button", name="Check out").click()
    expect(page.locator("#cart")).to_contain_text("Thank you.")
    expect(page.locator("[data-item='camera-4'] .because")).to_contain_text("you bought it once, today")
    assert wait_for_baskets(personal.client, OTHER, 1)["baskets"][0]["items"] == ["camera-4"]


def test_nobody_gets_a_copy_of_the_cart(personal: Service, visit: Visit) -> None:
    page = visit(personal)
    shop_as(page, BUYER)
    put_into_cart(page, "Camera 5")
    page.get_by_role("button", name="One more Camera 5").click()
    expect(page.get_by_label("Quantity of Camera 5")).to_have_text("2")
    old = page.evaluate("localStorage.getItem('tripod.cart')")
    shop_as(page, "nobody")
    expect(page.locator("#suggestions .request code")).not_to_contain_text(old)
    expect(page.get_by_label("Quantity of Camera 5")).to_have_text("2")
    new = page.evaluate("localStorage.getItem('tripod.cart')")
    assert personal.client.get(f"/carts/{old}").status_code == 404
    assert not personal.client.get(f"/carts/{new}").json()["has_shopper"]
    shop_as(page, BUYER)  # somebody else keeps the cart
    expect(page.locator("#suggestions .request code")).to_contain_text(new)


def test_forget_me_asks_twice_and_says_what_was_forgotten(personal: Service, visit: Visit) -> None:
    buy(personal.client, GONE, "film-3")
    wait_for_baskets(personal.client, quote(GONE, safe=""), 1)
    page = visit(personal, expected="404 (Not Found)")  # of the deleted cart
    expect(page.get_by_role("button", name="Forget me")).to_be_hidden()
    shop_as(page, GONE)
    put_into_cart(page, "Camera 6")
    page.get_by_role("button", name="Forget me").press("Enter")
    expect(page.get_by_role("dialog", name=f"Forget {GONE}?")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Forget me")).to_be_focused()
    assert profile(personal.client, quote(GONE, safe="")) is not None

    page.get_by_role("button", name="Forget me").click()
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_label("Key", exact=True).fill(ADMIN_KEY)
    page.keyboard.press("Enter")
    message = page.locator("#shopper-message")
    expect(message).to_have_text(f"Forgotten about {GONE}: the profile, 2 carts, 1 purchase.")
    expect(page.get_by_label("Shop as", exact=True)).to_have_value("")
    expect(page.get_by_label("Shop as", exact=True)).to_be_focused()
    expect(page.locator("#cart")).to_contain_text("Your cart is empty.")
    assert profile(personal.client, quote(GONE, safe="")) is None

    shop_as(page, GONE)
    page.get_by_role("button", name="Forget me").click()
    page.get_by_role("button", name="Forget", exact=True).click()  # the key is kept
    expect(message).to_have_text(f"Nothing was stored about {GONE}.")


def test_forget_me_with_a_wrong_key_changes_nothing(personal: Service, visit: Visit) -> None:
    page = visit(personal, expected="403 (Forbidden)")
    shop_as(page, BUYER)
    page.get_by_role("button", name="Forget me").click()
    page.get_by_role("button", name="Forget", exact=True).click()
    page.get_by_label("Key", exact=True).fill("a wrong key of some length")
    page.keyboard.press("Enter")
    expect(page.locator("#shopper-message")).to_have_text(
        "The X-Admin-Key header does not match TRIPOD_ADMIN_KEY."
    )
    expect(page.get_by_label("Shop as", exact=True)).to_have_value(BUYER)
    assert profile(personal.client, BUYER) is not None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_accessibility_of_shopping_as_a_household(
    personal: Service, visit: Visit, scheme: str, width: int
) -> None:
    size = {"width": width, "height": 900}
    page = visit(personal, color_scheme=scheme, reduced_motion="reduce", viewport=size)
    page.get_by_label("Shop as", exact=True).focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("heading", name="You may be about to buy")).to_be_visible()
    page.locator(".because summary").first.click()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="Forget me").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []
