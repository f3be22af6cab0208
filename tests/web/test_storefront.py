"""The shop, as a person with a browser uses it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from app_process import Service, free_port
from playwright.sync_api import Page, expect
from web_shop import HOSTILE, Visit, publish_shop

pytestmark = pytest.mark.xdist_group("browser")

FULL_SHELVES = 24  # items on a page before a search narrows them


def put_into_cart(page: Page, name: str) -> None:
    page.get_by_label("Search the catalogue").fill(name)
    # A click while the shelves are drawn anew would hit a button that is just going away.
    expect(page.locator("#shelves .goods li")).not_to_have_count(FULL_SHELVES)
    page.locator("#shelves").get_by_role("button", name=f"Add {name} to the cart", exact=True).click()
    expect(page.locator("#cart").get_by_role("heading", name=name, exact=True)).to_be_visible()


def test_a_cart_is_filled_looked_into_and_bought(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    put_into_cart(page, "Camera 0")
    pick = page.locator(".picks > li").first
    expect(pick.locator("h3")).to_have_text("Tripod 0")
    expect(pick.locator(".because summary")).to_have_text("goes with Camera 0")
    expect(pick.locator(".relation")).to_have_text("goes with")
    expect(pick.locator(".facts")).to_contain_text("%")
    expect(page.locator("#insights")).to_contain_text("Most carts like this end with 1 to 3 kinds.")
    expect(page.get_by_role("heading", name="Is it finished?")).to_be_visible()
    ring = page.locator("#insights").get_by_role("img")
    expect(ring).to_have_accessible_name(re.compile(r"^\d+(\.\d)?\s% likely finished$"))
    cart_id = page.evaluate("localStorage.getItem('tripod.cart')")
    assert f"cart_id={cart_id}" in page.locator("#suggestions .request code").text_content()

    pick.get_by_role("button", name="Add Tripod 0 to the cart").click()
    expect(page.locator("#insights .pairs")).to_contain_text("Camera 0 and Tripod 0")
    page.get_by_role("button", name="One more Camera 0").click()
    expect(page.get_by_label("Quantity of Camera 0")).to_have_text("2")
    expect(page.locator("#cart-total")).to_have_text("$31.00")

    page.reload()
    expect(page.get_by_label("Quantity of Camera 0")).to_have_text("2")
    page.get_by_role("button", name="Remove Tripod 0").click()
    expect(page.locator("#cart .lines li")).to_have_count(1)
    assert [line["item_id"] for line in shop.client.get(f"/carts/{cart_id}").json()["items"]] == ["camera-0"]

    page.get_by_role("button", name="Check out").click()
    expect(page.locator("#cart")).to_contain_text("Thank you. 2 items")
    assert shop.client.get(f"/carts/{cart_id}").json()["status"] == "checked_out"
    assert page.evaluate("localStorage.getItem('tripod.cart')") is None


def test_departments_narrow_the_shelves(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    page.get_by_role("radio", name="Accessories").check(force=True)
    expect(page.locator(".goods li").first).to_contain_text("Accessories")
    assert set(page.locator(".goods li > p").all_inner_texts()) == {"Accessories"}
    expect(page.get_by_role("button", name="Tripod 1 is sold out")).to_be_disabled()
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".goods li")).to_have_count(30)
    page.get_by_label("Search the catalogue").fill("no such thing")
    expect(page.locator("#shelves .note")).to_be_visible()


def test_a_bundle_is_built_and_taken_whole(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    expect(page.locator(".bundle li")).to_have_count(4)
    page.get_by_label("Items", exact=True).press("End")
    expect(page.locator(".bundle li")).to_have_count(8)
    before = page.locator(".bundle li").all_inner_texts()
    page.get_by_role("button", name="Another one").click()
    expect(page.locator("#bundle .request code")).to_contain_text("method=stochastic&seed=1")
    expect(page.locator(".bundle")).not_to_have_text("".join(before).replace("\n", ""))
    total = page.locator("#bundle-total").inner_text()
    page.get_by_role("button", name="Add all").click()
    expect(page.locator("#cart .lines li")).to_have_count(8)
    expect(page.locator("#cart-total")).to_have_text(total if total != "no price" else re.compile(r"\$"))


def test_a_suggestion_shows_its_probability_and_on_demand_where_it_comes_from(
    shop: Service, visit: Visit
) -> None:
    page = visit(shop)
    put_into_cart(page, "Camera 0")
    expect(page.locator(".picks h3").first).to_have_text("Tripod 0")
    item = shop.client.get("/recommend?items=camera-0&k=1&explain=true").json()["items"][0]
    pick = page.locator(".picks > li").first
    expect(pick.locator(".facts")).to_contain_text(f"{100 * item['probability']:.0f} %")
    expect(pick.locator(".odds")).to_have_text(
        f"1 in {1 / item['probability']:.1f}, {item['times_usual']:.1f}× as likely as usual"
    )
    expect(pick.locator(".shares")).to_be_hidden()
    pick.locator("summary").click()
    expect(pick.locator(".shares rect")).to_have_count(3)
    words = {
        "cart_item": "goes with Camera 0",
        "similar_baskets": "baskets like this one",
        "habit": "bought anyway",
    }
    for line, reason in zip(pick.locator(".because li").all(), item["because"], strict=True):
        expect(line).to_contain_text(words[reason["source"]])
        share = 100 * reason["share"]
        expect(line).to_contain_text(f"{share:.0f} %" if share >= 10 else f"{share:.1f} %")

    page.get_by_label("Discovery").evaluate("slider => slider.closest('details').open = true")
    page.get_by_label("Discovery").press("ArrowLeft")
    expect(page.locator("#suggestions .request code")).to_contain_text("discovery=-0.1")
    expect(pick.locator(".shares")).to_be_visible()  # it stays open with the next answer


def test_a_model_without_probabilities_shows_none(tmp_path: Path, visit: Visit) -> None:
    publish_shop(tmp_path / "store", probabilities=False)
    with Service(tmp_path / "store") as old:
        page = visit(old.ready())
        put_into_cart(page, "Camera 0")
        expect(page.locator(".picks h3").first).to_have_text("Tripod 0")
        expect(page.locator(".picks .facts").first).to_have_text("$11.00")
        expect(page.locator(".picks .odds")).to_have_count(0)


def test_the_order_follows_the_dials_and_returns_to_the_centre(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    put_into_cart(page, "Camera 0")
    expect(page.locator(".picks h3").first).to_have_text("Tripod 0")
    page.get_by_text("Change the order").click()
    expect(page.get_by_role("button", name="Back to the centre")).to_be_disabled()
    page.get_by_label("Discovery").press("End")
    expect(page.locator(".picks h3").first).to_have_text("Film 0")  # the less likely, but less usual one
    expect(page.locator("#suggestions .request code")).to_contain_text("discovery=1")
    expect(page.locator("#bundle .request code")).to_contain_text("discovery=1")
    for _ in range(30):  # faster than the answers come: only the last one counts
        page.get_by_label("Cohesion").press("ArrowLeft")
    expect(page.locator("#suggestions .request code")).to_contain_text("cohesion=-1")
    page.get_by_role("button", name="Back to the centre").click()
    expect(page.locator(".picks h3").first).to_have_text("Tripod 0")
    expect(page.locator("#suggestions .request code")).not_to_contain_text("discovery")
    expect(page.get_by_label("Discovery")).to_be_focused()


def test_a_substitute_looks_different_and_takes_the_place(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    put_into_cart(page, "Camera 0")
    page.get_by_role("button", name="Swap Camera 0").click()
    swap = page.locator(".swaps li").filter(has_text="Compact 0")
    expect(swap.locator(".relation")).to_have_text("instead")
    borders = [
        page.locator(place).first.evaluate("element => getComputedStyle(element).borderTopStyle")
        for place in (".swaps .relation", ".picks .relation[data-relation=complement]")
    ]
    assert borders == ["dashed", "solid"]
    swap.get_by_role("button").click()
    expect(page.locator("#cart .lines h3")).to_have_text(["Compact 0"])


def test_it_works_without_a_mouse(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    expect(page.locator(".goods li").first).to_be_visible()

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
                assert outline == "3px" or selector.startswith(".chips"), outline
                return
        raise AssertionError(f"no Tab leads to {selector}")

    tab_to(".skip")
    page.keyboard.press("Enter")
    tab_to("#words")
    page.keyboard.type("camera-0")
    expect(page.locator(".goods li")).to_have_count(1)
    tab_to(".chips input")
    tab_to(".goods button")
    page.keyboard.press("Enter")
    expect(page.locator("#cart .lines h3")).to_have_text(["Camera 0"])
    tab_to("[data-focus='+camera-0']")
    page.keyboard.press("Space")
    expect(page.get_by_label("Quantity of Camera 0")).to_have_text("2")
    page.keyboard.press("Space")  # the button is drawn anew and keeps the focus
    expect(page.get_by_label("Quantity of Camera 0")).to_have_text("3")
    expect(page.locator("#news")).to_contain_text("Camera 0: 3.")
    tab_to("#dials summary")
    page.keyboard.press("Enter")
    tab_to("#dial-discovery")
    page.keyboard.press("End")
    expect(page.locator(".picks h3").first).to_have_text("Film 0")
    tab_to(".picks button")
    page.keyboard.press("Enter")
    expect(page.locator("#cart .lines h3")).to_have_text(["Camera 0", "Film 0"])


def test_it_fits_a_phone(shop: Service, visit: Visit) -> None:
    page = visit(shop, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    put_into_cart(page, "Camera 0")
    expect(page.locator(".picks > li").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(page.locator("#count")).to_have_text("1")
    page.locator(".tabs").get_by_text("For you").tap()
    expect(page.locator("#next-title")).to_be_in_viewport()
    page.get_by_role("button", name="Add Tripod 0 to the cart").first.tap()
    page.locator(".tabs").get_by_text("Cart").tap()
    expect(page.locator("#cart-title")).to_be_in_viewport()
    expect(page.locator("#cart .lines li")).to_have_count(2)


def test_an_item_named_like_a_script_is_text(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    put_into_cart(page, HOSTILE)
    expect(page.locator(".because summary").filter(has_text=HOSTILE).first).to_be_visible()
    page.get_by_role("button", name=f"Remove {HOSTILE}", exact=True).click()
    expect(page.locator("#cart .lines li")).to_have_count(0)
    assert page.evaluate("window.hacked") is None


def test_a_service_that_goes_away_is_said_and_its_return_noticed(tmp_path: Path, visit: Visit) -> None:
    publish_shop(tmp_path / "store")
    port = str(free_port())
    first = Service(tmp_path / "store", "--port", port)
    page = visit(first.ready(), expected="Failed to load resource")
    put_into_cart(page, "Camera 0")
    expect(page.locator("#status")).to_have_text("ready")
    board = visit(first, "/dashboard", expected="Failed to load resource")
    expect(board.locator("#health .big")).to_have_text("Ready")
    first.process.kill()
    first.stop()
    page.get_by_label("Search the catalogue").fill("film")
    expect(page.locator("#shelves .note.bad")).to_contain_text("cannot be reached")
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(page.locator("#status")).to_have_text("offline")
    page.get_by_role("button", name="One more Camera 0").click()
    expect(page.locator("#cart .note.bad")).to_contain_text("cannot be reached")
    expect(page.locator("#cart .lines h3")).to_have_text(["Camera 0"])  # what was there is still to be seen
    expect(board.locator("#health .big")).to_have_text("Unreachable")
    with Service(tmp_path / "store", "--port", port) as second:
        second.ready()
        expect(board.locator("#health .big")).to_have_text("Ready")
        expect(page.locator("#status")).to_have_text("ready")
        expect(page.locator(".goods li").first).to_contain_text("Film")
        expect(page.get_by_role("alert")).to_be_hidden()
