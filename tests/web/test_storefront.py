"""The storefront in a browser."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.app.app_process import Service, free_port
from tests.app.jobs_process import KEY
from tests.web.web_shop import HOSTILE, Visit, publish_shop

PAGE_SIZE = 24  # items per page without a search


def put_into_cart(page: Page, name: str) -> None:
    page.get_by_label("Search the catalogue").fill(name)
    # Wait for the redraw: a click before it would hit a button that is being removed.
    expect(page.locator("#shelves .goods li")).not_to_have_count(PAGE_SIZE)
    page.locator("#shelves").get_by_role("button", name=f"Add {name} to the cart", exact=True).click()
    expect(page.locator("#cart").get_by_role("heading", name=name, exact=True)).to_be_visible()


def test_cart_from_first_item_to_checkout(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    put_into_cart(page, "Camera 0")
    pick = page.locator(".picks > li").first
    expect(pick.locator("h3")).to_have_text("Tripod 0")
    expect(pick.locator(".because summary")).to_have_text("goes with Camera 0")
    expect(pick.locator(".relation")).to_have_text("goes with")
    expect(pick.locator(".facts")).to_contain_text("%")
    expect(page.locator("#insights")).to_contain_text("Most carts like this end with 1 to 3 different items.")
    expect(page.get_by_role("heading", name="Is the cart complete?")).to_be_visible()
    ring = page.locator("#insights").get_by_role("img")
    expect(ring).to_have_accessible_name(re.compile(r"^\d+(\.\d)?\s% likely complete$"))
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


def test_department_search_and_paging(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    page.get_by_role("radio", name="Accessories").check(force=True)
    expect(page.locator(".goods li").first).to_contain_text("Accessories")
    assert set(page.locator(".goods li > p").all_inner_texts()) == {"Accessories"}
    expect(page.get_by_role("button", name="Tripod 1 is sold out")).to_be_disabled()
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".goods li")).to_have_count(30)
    page.get_by_label("Search the catalogue").fill("no such thing")
    expect(page.locator("#shelves .note")).to_be_visible()


def test_recommendation_shows_probability_and_reasons(shop: Service, visit: Visit) -> None:
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
    expect(pick.locator(".shares")).to_be_visible()  # stays open after the next answer


def test_model_without_probabilities(tmp_path: Path, visit: Visit) -> None:
    publish_shop(tmp_path / "store", probabilities=False)
    with Service(tmp_path / "store") as old:
        page = visit(old.ready())
        put_into_cart(page, "Camera 0")
        expect(page.locator(".picks h3").first).to_have_text("Tripod 0")
        expect(page.locator(".picks .facts").first).to_have_text("$11.00")
        expect(page.locator(".picks .odds")).to_have_count(0)


def test_dials_change_the_order_and_can_be_reset(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    put_into_cart(page, "Camera 0")
    expect(page.locator(".picks h3").first).to_have_text("Tripod 0")
    page.get_by_text("Change the order").click()
    expect(page.get_by_role("button", name="Reset")).to_be_disabled()
    page.get_by_label("Discovery").press("End")
    expect(page.locator(".picks h3").first).to_have_text(
        "Film 0"
    )  # less likely than Tripod 0, but more unusual
    expect(page.locator("#suggestions .request code")).to_contain_text("discovery=1")
    expect(page.locator("#bundle .request code")).to_contain_text("discovery=1")
    for _ in range(30):  # faster than the answers arrive: only the last request counts
        page.get_by_label("Cohesion").press("ArrowLeft")
    expect(page.locator("#suggestions .request code")).to_contain_text("cohesion=-1")
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".picks h3").first).to_have_text("Tripod 0")
    expect(page.locator("#suggestions .request code")).not_to_contain_text("discovery")
    expect(page.get_by_label("Discovery")).to_be_focused()


def test_swap_for_a_substitute(shop: Service, visit: Visit) -> None:
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
    expect(swap).to_contain_text("+$2.00")
    expect(page.locator(".swaps")).not_to_contain_text("Out of stock")
    cart_id = page.evaluate("localStorage.getItem('tripod.cart')")
    expect(page.locator("#cart .request code")).to_contain_text(f"/carts/{cart_id}/substitutes?replace=")
    swap.get_by_role("button").click()
    expect(page.locator("#cart .lines h3")).to_have_text(["Compact 0"])
    expect(page.locator("#news")).to_contain_text("Camera 0 replaced with Compact 0.")
    expect(page.locator("#cart")).to_be_focused()


def test_swap_keeps_the_quantity_and_shows_how_the_replacement_fits(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    put_into_cart(page, "Compact 3")
    put_into_cart(page, "Tripod 3")
    page.get_by_role("button", name="One more Compact 3").click()
    expect(page.get_by_label("Quantity of Compact 3")).to_have_text("2")
    page.get_by_role("button", name="Swap Compact 3").click()
    (entry,) = shop.client.get("/substitutes?items=compact-3,tripod-3&replace=compact-3").json()["items"]
    times = entry["replacements"][0]["times_usual"]
    swap = page.locator(".swaps li")
    expect(swap).to_contain_text("−$2.00")
    assert 1.2 < times < 9.9
    expect(swap).to_contain_text(f"{round(times, 1):g}× as likely as usual with the rest of the cart")
    page.get_by_role("button", name="Replace Compact 3 with Camera 3").click()
    expect(page.get_by_label("Quantity of Camera 3")).to_have_text("2")
    expect(page.locator("#cart .lines h3")).to_have_text(["Tripod 3", "Camera 3"])


def test_items_that_sell_out_get_an_offer_to_swap(tmp_path: Path, visit: Visit) -> None:
    publish_shop(tmp_path / "store")
    with Service(tmp_path / "store", TRIPOD_ADMIN_KEY=KEY) as running:
        service = running.ready()
        page = visit(service)
        put_into_cart(page, "Camera 0")
        put_into_cart(page, "Film 0")
        for item_id in ("camera-0", "film-0"):
            service.client.patch(
                f"/items/{item_id}", json={"in_stock": False}, headers={"X-Admin-Key": KEY}
            ).raise_for_status()
        page.reload()
        camera, film = (page.locator(".lines > li").nth(place) for place in (0, 1))
        expect(camera.locator(".swaps")).to_contain_text("Out of stock. Replace it with:")
        expect(film.locator(".swaps")).to_have_text(
            "Out of stock.The baskets show no substitute of this item."
        )
        expect(page.locator("#news")).to_contain_text("Camera 0 is out of stock.")
        expect(page.get_by_role("button", name="Swap Camera 0")).to_have_attribute("aria-expanded", "true")
        camera.get_by_role("button", name="Replace Camera 0 with Compact 0").click()
        expect(page.locator("#cart .lines h3")).to_have_text(["Film 0", "Compact 0"])
        expect(page.locator(".swaps:visible")).to_have_count(1)  # that of the film
        page.close()


def test_swap_of_an_item_unknown_to_the_model(shop: Service, visit: Visit) -> None:
    page = visit(shop, expected="Failed to load resource")
    cart_id = shop.client.post("/carts").json()["cart_id"]
    shop.client.post(f"/carts/{cart_id}/items", json={"item_id": "a, b"})
    page.evaluate("id => localStorage.setItem('tripod.cart', id)", cart_id)
    page.reload()
    page.get_by_role("button", name="Swap a, b").click()
    expect(page.locator(".swaps")).to_contain_text("does not know this item")


def test_storefront_by_keyboard(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    expect(page.locator(".goods li").first).to_be_visible()

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
                assert outline == "3px" or selector.startswith(".chips"), outline
                return
        raise AssertionError(f"Tab does not reach {selector}")

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
    page.keyboard.press("Space")  # the button keeps the focus after the redraw
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


def test_storefront_fits_a_phone(shop: Service, visit: Visit) -> None:
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


def test_item_name_with_markup_is_shown_as_text(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    put_into_cart(page, HOSTILE)
    expect(page.locator(".because summary").filter(has_text=HOSTILE).first).to_be_visible()
    page.get_by_role("button", name=f"Remove {HOSTILE}", exact=True).click()
    expect(page.locator("#cart .lines li")).to_have_count(0)
    assert page.evaluate("window.hacked") is None


def test_unreachable_service_is_reported_and_recovery_detected(tmp_path: Path, visit: Visit) -> None:
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
    expect(page.locator("#cart .lines h3")).to_have_text(["Camera 0"])  # old data stays visible
    expect(board.locator("#health .big")).to_have_text("Unreachable")
    with Service(tmp_path / "store", "--port", port) as second:
        second.ready()
        expect(board.locator("#health .big")).to_have_text("Ready")
        expect(page.locator("#status")).to_have_text("ready")
        expect(page.locator(".goods li").first).to_contain_text("Film")
        expect(page.get_by_role("alert")).to_be_hidden()
