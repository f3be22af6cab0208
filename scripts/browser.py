"""`python -m scripts.browser`: find or install a Chromium for the browser tests and screenshots.

It searches the usual places, then tries Playwright's download, then Debian's package if it runs as root.
`TRIPOD_BROWSER` is the path of another browser based on Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_APPLICATIONS = (  # on macOS
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_DOWNLOAD_SECONDS = 900
_START_SECONDS = 60


class BrowserError(Exception):
    """No browser was found or installed; the message says how to install one."""


def find_browser() -> Path | None:
    """Path of the first installed browser that starts; None if there is none."""
    return next((path for path in _candidates() if path.exists() and _starts(path)), None)


def ensure_browser() -> Path:
    """Path of a browser, installed if necessary; raises BrowserError if that fails."""
    found, named = find_browser(), os.environ.get("TRIPOD_BROWSER")
    if found is None and named:
        raise BrowserError(
            f"TRIPOD_BROWSER={named} does not start: set it to the path of a browser based on Chromium."
        )
    if found is None:
        print("Chromium not found: installing it for the browser tests.", file=sys.stderr)
        _run([sys.executable, "-m", "playwright", "install", "chromium"])
        found = find_browser()
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        _run(["apt-get", "-qq", "update"])
        _run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", "chromium"])
        found = find_browser()
    if found is None:
        raise BrowserError(
            "The browser tests need Chromium: install it (on Debian and Ubuntu: sudo apt-get install "
            "chromium), or set TRIPOD_BROWSER to the path of a browser based on Chromium."
        )
    return found


def _candidates() -> Iterator[Path]:
    if named := os.environ.get("TRIPOD_BROWSER"):
        yield Path(named)
        return
    for command in _COMMANDS:
        if path := shutil.which(command):
            yield Path(path)
    yield from map(Path, _APPLICATIONS)
    with sync_playwright() as playwright:
        yield Path(playwright.chromium.executable_path)


def _starts(browser: Path) -> bool:
    """Whether the browser starts: a downloaded one may lack system libraries."""
    try:
        result = subprocess.run(
            [browser, "--version"], capture_output=True, timeout=_START_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0


def _run(command: list[str]) -> None:
    """Run a command; the caller checks for success by searching for the browser again."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(command, env=environment, capture_output=True, timeout=_DOWNLOAD_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command[0]}: {error}", file=sys.stderr)


def main() -> None:
    """Print the path of the browser."""
    try:
        print(ensure_browser())
    except BrowserError as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
