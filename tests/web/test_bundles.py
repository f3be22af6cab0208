"""Bundles in the storefront."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.app.app_process import Service
from tests.app.bundle_shop import held_by, only, publish_bundles
from tests.web.test_storefront import put_into_cart
from tests.web.web_shop import Visit


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose model knows which items are bought together as a whole."""
    store = tmp_path_factory.mktemp("web-bundles") / "store"
    publish_bundles(store)
    with Service(store) as running:
        yield running.ready()


def names(page: Page) -> list[str]:
    return [text.split("\n")[0] for text in page.locator(".bundle li").all_inner_texts()]


def percent(probability: float) -> str:
    return f"{100 * probability:.1f} %" if probability < 0.1 else f"{100 * probability:.0f} %"


def test_bundle_of_an_empty_cart(bundles: Service, visit: Visit) -> None:
    page, bundle = visit(bundles), only(bundles.client, k=3)
    expect(page.locator(".bundle li")).to_have_count(3)
    assert sorted(names(page)) == ["Camera 0", "Film 0", "Tripod 0"]
    expect(page.locator(".bundle li").filter(has_text="$11.00")).to_have_text(
        "Tripod 0goes with Camera 0$11.00"
    )
    expect(page.locator("#bundle-total")).to_have_text("$34.00")
    together = held_by("camera-0", "tripod-0", "film-0")
    expect(page.locator(".bundle")).to_contain_text(
        f"Bought together in {together} baskets, {bundle['by_chance']:.1f} by chance."
    )
    expect(page.locator(".bundle")).to_contain_text(
        f"{percent(bundle['probability'])} of all baskets hold all of it."
    )


def test_bundle_with_one_and_with_several_items_in_the_cart(bundles: Service, visit: Visit) -> None:
    page = visit(bundles)
    put_into_cart(page, "Camera 3")
    bundles.client.post("/carts/like-the-page/items", json={"item_id": "camera-3"})
    share = percent(only(bundles.client, cart_id="like-the-page", k=3)["probability"])
    expect(page.locator(".bundle")).to_contain_text(f"{share} of carts like this end with all of it.")
    page.get_by_label("Items", exact=True).press("Home")
    expect(page.locator(".bundle li")).to_have_count(2)
    expect(page.locator(".bundle")).to_contain_text(
        f"Bought together with the cart in {held_by('camera-3', 'tripod-3', 'film-3')} baskets"
    )
    page.get_by_role("button", name="Add all").click()
    expect(page.locator("#cart .lines li")).to_have_count(3)
    for added in ("Camera 3", "Tripod 3", "Film 3"):
        expect(page.locator(".bundle li").filter(has_text=re.compile(f"^{added}"))).to_have_count(0)
    expect(page.locator(".bundle")).to_contain_text("% of carts like this end with all of it.")


def test_another_bundle_until_there_are_no_more(bundles: Service, visit: Visit) -> None:
    page = visit(bundles)
    expect(page.locator(".bundle li")).to_have_count(3)
    first = names(page)
    page.get_by_role("button", name="Another one").click()
    expect(page.locator("#bundle .request code")).to_contain_text("skip=1")
    expect(page.locator(".bundle")).not_to_contain_text(first[0])
    expect(page.get_by_role("button", name="Another one")).to_be_focused()
    second = names(page)
    assert not set(first) & set(second)
    page.get_by_label("Items", exact=True).press("End")
    expect(page.locator("#bundle .note")).to_have_text(
        "No 8 items were found that pass the filters and are bought together more often than by chance."
    )
    expect(page.locator("#bundle .request code")).not_to_contain_text("skip")
    page.get_by_label("Items", exact=True).press("Home")
    expect(page.locator(".bundle li")).to_have_count(2)


def test_back_to_the_first_bundle_after_the_last(bundles: Service, visit: Visit) -> None:
    page = visit(bundles)
    expect(page.locator(".bundle li")).to_have_count(3)
    first = names(page)
    last = page.get_by_role("button", name="Back to the first")
    for skip in range(1, 30):
        page.get_by_role("button", name="Another one").click()
        expect(page.locator("#bundle .request code")).to_contain_text(f"skip={skip}")
        expect(page.locator("#bundle")).not_to_have_attribute("aria-busy", "true")
        if last.is_visible():
            break
    expect(page.locator("#bundle .note")).to_have_text("There is no further bundle.")
    last.click()
    expect(page.locator(".bundle li")).to_have_count(3)
    assert names(page) == first


def test_bundle_of_a_model_without_set_probabilities(shop: Service, visit: Visit) -> None:
    page = visit(shop)
    page.get_by_label("Items", exact=True).press("End")
    expect(page.locator(".bundle li")).to_have_count(8)
    expect(page.locator(".bundle")).not_to_contain_text("baskets")
    before = names(page)
    page.get_by_role("button", name="Another one").click()
    expect(page.locator(".bundle")).not_to_contain_text(before[0])
    assert not set(before) & set(names(page))
    page.get_by_role("button", name="Add all").click()
    expect(page.locator("#cart .lines li")).to_have_count(8)
