from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from training.baskets import Baskets


@pytest.fixture
def planted_folder(baskets: Baskets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the `baskets` of the test module as a data set, to which results are written as well."""
    lines = "\n".join(" ".join(baskets.catalogue[row] for row in basket) for basket in baskets)
    with gzip.open(tmp_path / "planted.txt.gz", "wt") as file:
        file.write(lines)
    monkeypatch.setattr("benchmarks.machine.RESULTS", tmp_path)
    return tmp_path
