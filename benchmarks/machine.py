"""What every benchmark says about where it ran, and where its figures go."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def describe_machine() -> str:
    """The processor, the cores and the Python that figures belong to."""
    model = platform.processor() or platform.machine()
    cpu_info = Path("/proc/cpuinfo")
    if cpu_info.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in cpu_info.read_text().splitlines()
            if "model name" in line
        ]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def save_results(name: str, figures: dict[str, object]) -> Path:
    """Keep the figures as JSON beside the machine they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": describe_machine(), **figures}, indent=2) + "\n")
    return path
