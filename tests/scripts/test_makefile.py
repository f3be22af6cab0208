from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        ("PYTHON=no-such-python", "Tripod needs Python 3.11: 'no-such-python' was not found."),
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
