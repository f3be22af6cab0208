"""The paper's data sets in their original formats, and its tables on tiny data."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ndpp import Kernel
from training.__main__ import app
from training.errors import DataError
from training.paper.datasets import DATASETS, find_datasets, read_instacart, read_million_song, read_uk_retail
from training.paper.map_inference import Spread, map_quality, paper_local_search
from training.paper.printed import ALGORITHMS, MAP_ERROR, MAP_TIME, PREDICTIVE
from training.paper.tables import ALGORITHMS as ROWS


def test_read_instacart(tmp_path: Path) -> None:
    path = tmp_path / "order_products__prior.csv"
    path.write_text(
        '"order_id","product_id","add_to_cart_order","reordered"\n'
        "2,33120,1,1\n2,28985,2,1\n3,33120,1,0\n" + "".join(f"4,{item},1,0\n" for item in range(101))
    )
    baskets = read_instacart(path)
    assert baskets.catalogue == ("33120", "28985")
    assert [basket.tolist() for basket in baskets] == [[0, 1], [0]]


def test_read_million_song(tmp_path: Path) -> None:
    path = tmp_path / "train_triplets.txt"
    path.write_text(
        "u1\tSOB\t3\nu1\tSOA\t1\nu2\tSOA\t7\nu2\tSOA\t1\n" + "".join(f"u3\tS{n}\t1\n" for n in range(151))
    )
    baskets = read_million_song(path)
    assert baskets.catalogue == ("SOA", "SOB")
    assert [basket.tolist() for basket in baskets] == [[0, 1], [0]]


def test_read_million_song_sorts_ties_by_id(tmp_path: Path) -> None:
    path = tmp_path / "train_triplets.txt"
    path.write_text("u1\tSOZ\t1\nu1\tSOB\t1\nu2\tSOA\t1\nu2\tSOB\t1\n")
    assert read_million_song(path).catalogue == ("SOB", "SOA", "SOZ")


def test_read_million_song_names_bad_file(tmp_path: Path) -> None:
    path = tmp_path / "train_triplets.txt"
    path.write_text("u1\tSOZ\tmany\n")
    with pytest.raises(DataError, match=r"train_triplets\.txt: expected lines of user, song and plays"):
        read_million_song(path)


def test_read_uk_retail_numbers_items_by_first_sale(tmp_path: Path) -> None:
    path = tmp_path / "uk_retail.txt"
    path.write_text("30 10\n20 30\n20\n20\n")
    baskets = read_uk_retail(path)
    in_order = {baskets.catalogue[row] for row in baskets[0]}
    assert in_order == {"1", "2"}
    assert baskets.catalogue[0] == "3"  # item 20: the most bought, sold last


def test_find_datasets_by_file_name(tmp_path: Path) -> None:
    (tmp_path / "uk_retail.txt").write_text("1 2\n")
    (tmp_path / "order_products__train.csv").write_text("order_id,product_id\n1,2\n")
    assert list(find_datasets(tmp_path)) == ["uk_retail", "instacart"]
    (tmp_path / "order_products__prior.csv").write_text("order_id,product_id\n1,2\n")
    assert find_datasets(tmp_path)["instacart"].name == "order_products__prior.csv"


def test_find_datasets_in_empty_folder_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["paper-tables", "--data", str(tmp_path)])
    assert result.exit_code == 2
    assert "expected one of amazon_apparel.txt.gz" in " ".join(result.stderr.split())


def test_each_data_set_has_printed_figures() -> None:
    for name, data in DATASETS.items():
        assert set(PREDICTIVE[name]) == set(data.settings)
        assert set(MAP_TIME[name]) == set(ALGORITHMS)
        assert set(MAP_ERROR[name]) == set(ALGORITHMS) - {"local_search"}


def random_kernels(count: int, items: int) -> list[Kernel]:
    rng = np.random.default_rng(0)
    D = rng.normal(size=(15, 15))
    return [Kernel.tied(rng.normal(size=(items, 15)), D - D.T) for _ in range(count)]


def test_map_errors_are_relative_to_the_papers_local_search() -> None:
    quality = map_quality(random_kernels(2, 40), trials=3, seed=0)
    assert list(quality) == list(ROWS)
    assert quality["local_search"].error.value == 0
    assert 0 <= quality["greedy"].error.value < quality["mcmc"].error.value
    assert all(result.milliseconds > 0 for result in quality.values())


def test_map_error_of_a_better_set_is_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.paper.map_inference.paper_local_search", lambda *_: -100.0)
    quality = map_quality(random_kernels(1, 40), trials=1, seed=0)
    assert quality["greedy"].error.value < 0


def test_papers_local_search_stops_where_no_swap_improves() -> None:
    (kernel,) = random_kernels(1, 12)
    sets = {rows: np.linalg.slogdet(kernel.submatrix(rows))[1] for rows in combinations(range(12), 4)}
    found = paper_local_search(kernel, 4)
    (chosen,) = [rows for rows, value in sets.items() if value == pytest.approx(found, abs=1e-9)]
    swapped = [value for rows, value in sets.items() if len(set(rows) & set(chosen)) == 3]
    assert len(swapped) == 32
    assert max(swapped) < found


def test_spread_is_normal_interval_of_mean() -> None:
    assert Spread.of([1.0, 2.0, 3.0]).value == 2
    assert Spread.of([1.0, 2.0, 3.0]).half_interval == pytest.approx(1.96 / np.sqrt(3))
    assert Spread.of([5.0]).half_interval == 0


def test_paper_tables_and_figures_of_a_small_data_set(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [" ".join(map(str, rng.choice(40, size=rng.integers(1, 9), replace=False))) for _ in range(300)]
    (tmp_path / "amazon_3category.txt").write_text("\n".join(lines) + "\n")
    figures, page, images = tmp_path / "figures.json", tmp_path / "page.md", tmp_path / "images" / "paper"
    written = ["--json", str(figures), "--markdown", str(page), "--figures", str(images)]
    arguments = ["--data", str(tmp_path), "--quick", "--steps", "20", "--kernels", "1", *written]
    result = CliRunner().invoke(app, ["paper-tables", *arguments])
    assert result.exit_code == 0, result.output
    assert "73.04 ± 2.58" in result.stdout
    text = page.read_text()
    assert "73.04 ± 2.58" in text
    assert "paper-tables --data DIR --quick --steps 20 --kernels 1 --seed 0" in text
    assert "at most 20 training steps, 1 kernels for MAP inference with 20 random trials" in text
    shown = re.findall(r'src="images/paper/([^"]+)"', text)
    assert len(shown) == 5
    assert sorted(shown) == sorted(path.name for path in images.iterdir())
    (document,) = json.loads(figures.read_text())["data_sets"]
    assert set(document["predictive"]) == {"symmetric", "ndpp2019", "tied", "tripod", "popularity"}
    assert document["printed"]["figure_1"]["value"] == 1.07
    assert document["speed_up"] > 0
    assert document["predictive"]["tied"]["published"]["values"]["mpr"] > 0
    assert len(document["small_kernels"]["p0"]["greedy"]) == 300
