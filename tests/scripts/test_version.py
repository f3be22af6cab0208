"""One version number for packages, manifests and the API document."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from model_store.version import VERSION

ROOT = Path(__file__).parents[2]


def project_file(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text())


def test_packages_have_the_version_of_the_module() -> None:
    service = project_file("pyproject.toml")
    assert service["project"]["dynamic"] == ["version"]
    assert service["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "model_store.version.VERSION"}
    assert project_file("client/pyproject.toml")["project"]["version"] == VERSION


def test_version_is_known_where_no_package_is_installed(tmp_path: Path) -> None:
    """As in the containers: the sources without a package's metadata."""
    for name in ("model_store", "ndpp"):
        (tmp_path / name).symlink_to(ROOT / name)
    script = (
        "import importlib.metadata as metadata\n"
        "def refuse(name): raise metadata.PackageNotFoundError(name)\n"
        "metadata.version = refuse\n"
        "from model_store.artifact import VERSION; print(VERSION)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout == f"{VERSION}\n"
