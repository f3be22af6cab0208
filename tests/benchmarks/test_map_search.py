import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import map_search
from ndpp import Kernel
from training.baskets import Baskets
from training.synthetic import generate_baskets


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    return generate_baskets(40, 3000, mean_size=5, seed=3)


def test_map_search_benchmark_writes_share_of_optimal_bundles(planted_folder: Path) -> None:
    map_search.main(data=planted_folder, trials=3, steps=30, only="planted")
    rows = json.loads((planted_folder / "map_search.json").read_text())["rows"]
    assert len(rows) == 2 * 2 * 3  # sizes, carts, methods
    found = {(row["k"], row["cart"]): row for row in rows if row["method"] == "local_search"}
    assert all(row["optimal"] == 1 for row in found.values())


def test_no_method_beats_the_exact_optimum() -> None:
    rng = np.random.default_rng(0)
    D = rng.normal(size=(6, 6))
    kernel = Kernel.scalable(rng.normal(size=(30, 4)), rng.normal(size=(30, 6)), D - D.T)
    for gaps in map_search.compare(kernel, 3, 1, trials=4).values():
        assert (gaps > -1e-9).all()
