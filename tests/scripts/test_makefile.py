from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        (
            "PYTHON=no-such-python",
            "Tripod needs Python 3.11, 3.12, 3.13 or 3.14 with venv: 'no-such-python' was not found.",
        ),
        ("NEEDED_MB=999999999", "Tripod needs 999999999 MB of free disk for its packages, and "),
    ],
)
def test_what_is_missing_is_a_sentence(variable: str, sentence: str, tmp_path: Path) -> None:
    result = subprocess.run(
        ["make", "run", variable, f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr.splitlines()[0].startswith(sentence)
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "venv").exists()


def fake_python(folder: Path, name: str, version: tuple[int, int]) -> None:
    """It answers the question of scripts/find-python as a Python of this version would."""
    check = f"import sys; sys.version_info = {(*version, 0)}; exec(sys.argv[1])"
    (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{check}" "$2"\n')
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("installed", "found"),
    [
        ({"python3": (3, 13)}, "python3"),
        ({"python3.12": (3, 12), "python3": (3, 9)}, "python3.12"),
        ({"python3.11": (3, 11), "python3.13": (3, 13)}, "python3.11"),
        ({"python3": (3, 10), "python": (3, 14)}, "python"),
        ({"python3": (3, 10)}, ""),
        ({"python3": (3, 15)}, ""),
    ],
)
def test_supported_python_is_found_by_itself(
    installed: dict[str, tuple[int, int]], found: str, tmp_path: Path
) -> None:
    for name, version in installed.items():
        fake_python(tmp_path, name, version)
    result = subprocess.run(
        ["/bin/sh", str(ROOT / "scripts" / "find-python")],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stdout.strip() == found
    assert (result.returncode == 0) == bool(found)


def test_ci_only_calls_the_makefile() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [line for line in lines if line.startswith(("make", "apt", "pip"))] == ["make lint", "make test"]
    assert "apt" not in "\n".join(lines)
