from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_and_plot.py"


def test_example_trains_and_plots(tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLE, "--dataset", "tiny", "--out", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    assert "40 items" in run.stdout
    assert "Premium meat" in run.stdout  # planted: hot dog buns bring it along
    page = (tmp_path / "plots.html").read_text()
    assert page.count("<svg") == 2
    assert "validation log-likelihood" in page
