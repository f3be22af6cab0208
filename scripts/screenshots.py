"""`python -m scripts.screenshots`: screenshots of both pages of a running demo for the README."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from playwright.sync_api import Error, Page, expect, sync_playwright

from scripts.browser import BrowserError, ensure_browser

_CART = ("hot-dog-buns", "tortilla-nacho-chips", "kids-cereal")
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]
_SIZES = {"storefront": (1280, 1120), "dashboard": (1280, 2000)}

Scheme = Literal["light", "dark"]


def screenshots(
    url: Annotated[str, typer.Option(help="URL of the running service.")] = "http://127.0.0.1:8000",
    admin_key: Annotated[str | None, typer.Option(help="Admin key, to show the training jobs too.")] = None,
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("docs/images"),
) -> None:
    """Write storefront-light.png, storefront-dark.png, dashboard-light.png and dashboard-dark.png."""
    out.mkdir(parents=True, exist_ok=True)
    try:
        chromium = ensure_browser()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
            schemes: tuple[Scheme, ...] = ("light", "dark")
            for scheme in schemes:
                for name, (width, height) in _SIZES.items():
                    page = browser.new_page(
                        base_url=url,
                        color_scheme=scheme,
                        reduced_motion="reduce",
                        viewport={"width": width, "height": height},
                    )
                    _fill_cart(page) if name == "storefront" else _fill_dashboard(page, admin_key)
                    page.screenshot(path=out / f"{name}-{scheme}.png")
                    page.close()
            browser.close()
    except (Error, AssertionError, BrowserError) as error:
        typer.echo(f"Taking screenshots failed: {str(error).splitlines()[0]}", err=True)
        typer.echo(f"Is a demo running at {url} (`make run`)?", err=True)
        raise typer.Exit(1) from error


def _fill_cart(page: Page) -> None:
    cart_id = page.request.post("/carts").json()["cart_id"]
    lines = [{"item_id": item_id} for item_id in _CART]
    page.request.post(f"/carts/{cart_id}/items", data={"items": lines})
    page.goto("/")
    page.evaluate("id => localStorage.setItem('tripod.cart', id)", cart_id)
    page.reload()
    expect(page.locator("#cart .lines li")).to_have_count(len(_CART))
    page.locator("#dials summary").click()
    page.locator(".picks .because summary").first.click()
    page.locator("#next-title").click()  # remove the focus
    page.wait_for_timeout(2000)  # until all panels are updated


def _fill_dashboard(page: Page, admin_key: str | None) -> None:
    page.goto("/dashboard")
    expect(page.locator("#health .big")).to_be_visible()
    if admin_key is not None:
        page.locator("#admin").click()
        page.locator("#admin-key").fill(admin_key)
        page.keyboard.press("Enter")
        expect(page.locator("#jobs .job, #jobs .note").first).to_be_visible()
    page.get_by_label("Item", exact=True).fill(_CART[0])
    expect(page.locator("#matches option").first).to_be_attached()
    page.get_by_label("Item", exact=True).press("Enter")
    for number in range(24):  # traffic for the charts
        page.request.get(f"/recommend?items={_CART[number % len(_CART)]}&k={number + 1}")
        page.wait_for_timeout(700)
    page.get_by_label("Item", exact=True).fill("")
    page.locator("#health .big").click()


if __name__ == "__main__":
    typer.run(screenshots)
