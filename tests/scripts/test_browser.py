from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def find(path: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scripts.browser"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "TRIPOD_BROWSER"}
        | {"PATH": path}
        | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def write_program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_browser_on_the_path_is_found(tmp_path: Path) -> None:
    browser = write_program(tmp_path / "google-chrome", "echo Chrome 1.0")
    assert find(str(tmp_path)).stdout == f"{browser}\n"


def test_browser_that_does_not_start_is_skipped(tmp_path: Path) -> None:
    write_program(tmp_path / "chromium", "exit 127  # a library is missing")
    browser = write_program(tmp_path / "google-chrome", "echo Chrome 1.0")
    assert find(str(tmp_path)).stdout == f"{browser}\n"


def test_browser_of_the_environment_variable_comes_first(tmp_path: Path) -> None:
    write_program(tmp_path / "chromium", "echo Chromium 1.0")
    named = write_program(tmp_path / "mine", "echo Mine 1.0")
    assert find(str(tmp_path), TRIPOD_BROWSER=str(named)).stdout == f"{named}\n"
    missing = find(str(tmp_path), TRIPOD_BROWSER="/no/such/browser")
    assert missing.returncode == 1
    assert missing.stderr.startswith("TRIPOD_BROWSER=/no/such/browser does not start")


def test_error_without_a_browser_names_the_install_command(tmp_path: Path) -> None:
    """No browser, no download, no apt-get: a machine without a network."""
    nowhere = {"PLAYWRIGHT_BROWSERS_PATH": str(tmp_path), "PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:9"}
    result = find(str(tmp_path), **nowhere)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("The browser tests need Chromium: install it (on Debian")
    assert "Traceback" not in result.stderr
