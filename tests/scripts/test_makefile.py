from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

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
def test_missing_requirement_is_reported_in_one_sentence(
    variable: str, sentence: str, tmp_path: Path
) -> None:
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
    """A program that reports this version to scripts/find-python."""
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
def test_find_python_prints_a_supported_version(
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


def test_help_lists_every_target() -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    phony = next(line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith(".PHONY:"))
    assert [line.split()[1] for line in listed.stdout.splitlines()] == phony.split()[1:]


def test_workflow_runs_only_targets_of_the_makefile() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = [step["run"].split() for step in steps if "run" in step]
    assert {command[0] for command in commands} == {"make"}
    assert {command[1] for command in commands} == {
        "coverage",
        "docs",
        "image",
        "lint",
        "openapi-diff",
        "test",
    }
    for step in steps:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step.get("uses", "a/b@" + "0" * 40))
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
