"""The dashboard in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.app.app_process import Service
from tests.app.jobs_process import KEY, QUICK, Worker, write_baskets
from tests.web.web_shop import HOSTILE, Visit, give_key, publish_shop


def test_health_traffic_and_model_panels(shop: Service, visit: Visit) -> None:
    page = visit(shop, "/dashboard")
    expect(page.locator("#health .big")).to_have_text("Ready")
    expect(page.locator("#rate .chart")).to_contain_text("requests per second")
    for _ in range(5):
        assert shop.client.get("/recommend").status_code == 200
    expect(page.locator("#latency .chart")).to_contain_text("milliseconds")
    expect(page.locator("#latency .chart .series")).not_to_have_count(0)
    expect(page.locator("#routes")).to_contain_text("GET /recommend")
    for name in ("#rate", "#latency"):
        expect(page.locator(name)).to_contain_text("seconds from now")
    expect(page.locator("#model")).to_contain_text("scalable, rank 45")
    expect(page.locator("#model")).to_contain_text("Bundle parameters")
    expect(page.locator("#truth")).to_have_text(
        "Calibration on 1,234 unseen carts: the first recommendation was the next item in 5.4 % of them "
        "(predicted: 5.6 %), and the first ten contained it in 21 % (predicted: 21 %)."
    )
    expect(page.locator("#health .request code")).to_contain_text("/readyz")


def test_item_explorer_by_mouse_and_keyboard(shop: Service, visit: Visit) -> None:
    page = visit(shop, "/dashboard")
    expect(page.locator(".graph .centre")).to_have_text("Camera 0")
    tripod = page.get_by_role("button", name=re.compile("Tripod 0 ×.*, complement"))
    related = shop.client.get("/items/camera-0/related").json()["items"]
    lift, low, high = (float(f"{related[0][name]:.3g}") for name in ("lift", "lift_low", "lift_high"))
    expect(tripod.locator(".lift")).to_have_text(f"×{lift:g} ({low:g}–{high:g})")
    compact = page.get_by_role("button", name=re.compile("Compact 0 ×.*, substitute"))
    dashes = [
        page.locator(f".edge.{kind}").first.evaluate("edge => getComputedStyle(edge).strokeDasharray")
        for kind in ("complement", "substitute")
    ]
    assert dashes[0] == "none" != dashes[1]
    compact.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".graph .centre")).to_have_text("Compact 0")
    page.get_by_label("Item", exact=True).fill("camera-2")
    expect(page.locator("#matches option").first).to_have_attribute("value", HOSTILE)
    page.get_by_label("Item", exact=True).press("Enter")
    expect(page.locator(".graph .centre")).to_contain_text("<script>")
    assert page.evaluate("window.hacked") is None


@pytest.fixture
def shop_with_worker(tmp_path: Path) -> Iterator[Service]:
    write_baskets(tmp_path / "data")
    publish_shop(tmp_path / "store")
    data = {"TRIPOD_DATA": str(tmp_path / "data")}
    with (
        Service(tmp_path / "store", TRIPOD_ADMIN_KEY=KEY, **data) as service,
        Worker(tmp_path / "store", tmp_path / "data"),
    ):
        yield service.ready()


def test_retrain_activation_rollback_and_cancellation(shop_with_worker: Service, visit: Visit) -> None:
    page = visit(shop_with_worker, "/dashboard", expected="403 (Forbidden)")
    before = page.locator("#model dd").first.inner_text()
    with page.expect_response(lambda answer: answer.status == 403):
        give_key(page, "not the key at all")
    expect(page.locator("#admin")).to_have_text("Enter the admin key")
    give_key(page, KEY)
    expect(page.locator("#jobs")).to_contain_text("No training jobs yet")

    for name, value in QUICK.items():
        if name in ("rank", "skew_rank", "steps"):
            page.locator(f"[name={name}]").fill(str(value))
    page.locator("[name=activate]").select_option("always")
    expect(page.locator("#retrain .request code")).to_contain_text('"X-Admin-Key: $TRIPOD_ADMIN_KEY"')
    page.get_by_role("button", name="Retrain").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.locator(".job .state")).to_have_text("succeeded", timeout=120_000)
    expect(page.locator(".job .chart")).to_contain_text("best validation log-likelihood")
    assert page.locator(".job .series").get_attribute("d").count("L") >= 1
    expect(page.locator("#news")).to_contain_text("its model is active")

    after = shop_with_worker.client.get("/models/active").json()["version"]
    assert after != before
    expect(page.locator("#health")).to_contain_text(after)
    expect(page.locator(f"[data-version='{after}'] .state")).to_have_text("in use")
    expect(page.locator("#model .chart")).to_contain_text("Popularity")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name=f"Report of {after}").click()
    expect(opened.value.locator("h1")).to_be_visible()

    page.get_by_label("Tuning").select_option("none")
    page.locator("[name=activate]").select_option("never")
    page.get_by_role("button", name="Retrain").click()
    expect(page.locator(".job")).to_have_count(2)
    expect(page.locator(".job .state").first).to_have_text("succeeded", timeout=120_000)
    expect(page.locator(".job").first).to_contain_text("gives no probabilities")

    page.get_by_role("button", name=f"Roll back to {before}").click()
    expect(page.locator("#health")).to_contain_text(before)
    expect(page.locator(f"[data-version='{before}'] .state")).to_have_text("in use")
    page.get_by_role("button", name=f"Delete {after}").click()
    page.get_by_role("button", name=f"Confirm: delete {after}").click()
    expect(page.locator(f"[data-version='{after}']")).to_have_count(0)

    page.locator("[name=steps]").fill("1000000")
    page.get_by_role("button", name="Retrain").click()
    page.get_by_role("button", name=re.compile("Cancel job")).click()
    expect(page.locator(".job .state").first).to_have_text("cancelled")
    assert KEY not in page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    )
    assert KEY not in page.content()


def test_dashboard_fits_a_phone(shop: Service, visit: Visit) -> None:
    page = visit(shop, "/dashboard", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    expect(page.locator(".graph .node").first).to_be_visible()
    expect(page.locator("#rate .chart")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
