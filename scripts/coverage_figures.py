"""Measure branch coverage and write it into README.md: `make coverage`.

Runs the tests under coverage.py, subprocesses included. The exit code is 1 if a test fails or a package has
less than its goal. `--combine-only` uses the measurements that exist.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
GOALS = {"ndpp": 92, "model_store": 92, "app": 92, "training": 0}
BETWEEN = re.compile(r"(?<=<!-- coverage -->).*?(?=<!-- /coverage -->)", re.DOTALL)


def branch_shares(report: Mapping[str, Any]) -> dict[str, float]:
    """The share of branches taken in each package, in percent, from the report of `coverage json`."""
    covered: Counter[str] = Counter()
    possible: Counter[str] = Counter()
    for name, file in report["files"].items():
        package = Path(name).parts[0]
        covered[package] += file["summary"]["covered_branches"]
        possible[package] += file["summary"]["num_branches"]
    return {package: 100 * covered[package] / possible[package] for package in GOALS if possible[package]}


def sentence(shares: Mapping[str, float]) -> str:
    """The figures as README.md shows them."""
    return ", ".join(f"`{package}` {share:.1f} %" for package, share in shares.items())


def with_figures(text: str, figures: str) -> str:
    """The document with the figures between its coverage marks."""
    if not BETWEEN.search(text):
        raise ValueError("the document has no <!-- coverage --> … <!-- /coverage -->")
    return BETWEEN.sub(figures, text)


def coverage(*arguments: str) -> int:
    """Run coverage.py and return its exit code."""
    return subprocess.run([sys.executable, "-m", "coverage", *arguments], cwd=ROOT, check=False).returncode


def main(arguments: list[str]) -> int:
    """Measure, write, and compare with the goals."""
    failed = 0
    if "--combine-only" not in arguments:
        coverage("erase")
        failed = coverage("run", "-m", "pytest", "-n", "2", "--dist", "loadfile")
    if coverage("combine", "--quiet") or coverage("json", "--quiet", "-o", ".coverage.json"):
        return 1
    shares = branch_shares(json.loads((ROOT / ".coverage.json").read_text()))
    readme = ROOT / "README.md"
    readme.write_text(with_figures(readme.read_text(), sentence(shares)))
    print(f"Branch coverage: {sentence(shares)}")
    short = [package for package, goal in GOALS.items() if shares.get(package, 0) < goal]
    if short:
        print(
            f"Below the goal of 92 %: {', '.join(short)}. `.venv/bin/coverage report` lists files and lines."
        )
    return 1 if failed or short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
