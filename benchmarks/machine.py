"""The machine that a benchmark ran on, and the folder of its results."""

from __future__ import annotations

import json
from pathlib import Path

from training.machine import describe_machine

__all__ = ["RESULTS", "describe_machine", "save_results"]

RESULTS = Path(__file__).parent / "results"


def save_results(name: str, figures: dict[str, object]) -> Path:
    """Save the figures as JSON together with the machine that they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": describe_machine(), **figures}, indent=2) + "\n")
    return path
