"""The machine that figures were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe_machine() -> str:
    """The processor, the number of cores and the Python version."""
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
