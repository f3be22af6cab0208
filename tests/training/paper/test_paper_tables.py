"""The paper's data sets in their original formats, and its tables on tiny data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ndpp import Kernel
from training.__main__ import app
from training.errors import DataError
from training.fitting import FitResult
from training.options import FitOptions
from training.paper.datasets import DATASETS, find_datasets, read_instacart, read_million_song, read_uk_retail
from training.paper.experiments import Spread, map_quality, seconds_to_converge
from training.paper.printed import ALGORITHMS, MAP_ERROR, MAP_TIME, PREDICTIVE


def test_instacart_is_read_from_its_original_csv(tmp_path: Path) -> None:
    path = tmp_path / "order_products__prior.csv"
    path.write_text(
        '"order_id","product_id","add_to_cart_order","reordered"\n'
        "2,33120,1,1\n2,28985,2,1\n3,33120,1,0\n" + "".join(f"4,{item},1,0\n" for item in range(101))
    )
    baskets = read_instacart(path)
    assert baskets.catalogue == ("33120", "28985")
    assert [basket.tolist() for basket in baskets] == [[0, 1], [0]]


def test_the_million_song_taste_profile_is_read_from_its_triplets(tmp_path: Path) -> None:
    path = tmp_path / "train_triplets.txt"
    path.write_text(
        "u1\tSOB\t3\nu1\tSOA\t1\nu2\tSOA\t7\nu2\tSOA\t1\n" + "".join(f"u3\tS{n}\t1\n" for n in range(151))
    )
    baskets = read_million_song(path)
    assert baskets.catalogue == ("SOA", "SOB")
    assert [basket.tolist() for basket in baskets] == [[0, 1], [0]]


def test_ties_in_the_song_catalogue_go_by_id(tmp_path: Path) -> None:
    path = tmp_path / "train_triplets.txt"
    path.write_text("u1\tSOZ\t1\nu1\tSOB\t1\nu2\tSOA\t1\nu2\tSOB\t1\n")
    assert read_million_song(path).catalogue == ("SOB", "SOA", "SOZ")


def test_a_file_that_holds_no_triplets_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train_triplets.txt"
    path.write_text("u1\tSOZ\tmany\n")
    with pytest.raises(DataError, match=r"train_triplets\.txt: this is not a file of user, song and plays"):
        read_million_song(path)


def test_uk_retail_items_are_numbered_by_their_first_sale(tmp_path: Path) -> None:
    path = tmp_path / "uk_retail.txt"
    path.write_text("30 10\n20 30\n20\n20\n")
    baskets = read_uk_retail(path)
    in_order = {baskets.catalogue[row] for row in baskets[0]}
    assert in_order == {"1", "2"}
    assert baskets.catalogue[0] == "3"  # item 20: the most bought, sold last


def test_data_sets_are_found_by_their_files(tmp_path: Path) -> None:
    (tmp_path / "uk_retail.txt").write_text("1 2\n")
    (tmp_path / "order_products__train.csv").write_text("order_id,product_id\n1,2\n")
    assert list(find_datasets(tmp_path)) == ["uk_retail", "instacart"]
    (tmp_path / "order_products__prior.csv").write_text("order_id,product_id\n1,2\n")
    assert find_datasets(tmp_path)["instacart"].name == "order_products__prior.csv"


def test_a_folder_without_data_says_what_was_expected(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["paper-tables", "--data", str(tmp_path)])
    assert result.exit_code == 2
    assert "expected one of amazon_apparel.txt.gz" in " ".join(result.stderr.split())


def test_every_data_set_has_printed_figures_for_its_kernels() -> None:
    for name, data in DATASETS.items():
        assert set(PREDICTIVE[name]) == set(data.settings)
        assert set(MAP_TIME[name]) == set(ALGORITHMS)
        assert set(MAP_ERROR[name]) == set(ALGORITHMS) - {"local_search"}


def test_map_errors_are_relative_to_local_search() -> None:
    rng = np.random.default_rng(0)
    D = rng.normal(size=(15, 15))
    kernels = [Kernel.tied(rng.normal(size=(40, 15)), D - D.T) for _ in range(2)]
    quality = map_quality(kernels, trials=3, seed=0)
    assert quality["local_search"].error.value == 0
    assert 0 <= quality["greedy"].error.value < quality["mcmc"].error.value
    assert all(result.milliseconds > 0 for result in quality.values())


def test_spread_is_the_normal_interval_of_the_mean() -> None:
    assert Spread.of([1.0, 2.0, 3.0]).value == 2
    assert Spread.of([1.0, 2.0, 3.0]).half_interval == pytest.approx(1.96 / np.sqrt(3))
    assert Spread.of([5.0]).half_interval == 0


def test_convergence_is_when_the_best_is_nearly_reached() -> None:
    result = FitResult(
        kernel=Kernel.symmetric(np.ones((2, 1))),
        options=FitOptions(),
        validation=-10.0,
        best_step=100,
        steps_done=200,
        seconds=20.0,
        interrupted=False,
        curve=[(0, -20.0), (50, -10.02), (75, -10.005), (100, -10.0), (200, -10.1)],
    )
    assert seconds_to_converge(result) == pytest.approx(7.5)


def test_the_tables_show_printed_and_own_figures_side_by_side(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [" ".join(map(str, rng.choice(40, size=rng.integers(1, 9), replace=False))) for _ in range(300)]
    (tmp_path / "amazon_3category.txt").write_text("\n".join(lines) + "\n")
    figures, page = tmp_path / "figures.json", tmp_path / "tables.md"
    arguments = ["--quick", "--steps", "3", "--kernels", "1", "--json", str(figures), "--markdown", str(page)]
    result = CliRunner().invoke(app, ["paper-tables", "--data", str(tmp_path), *arguments])
    assert result.exit_code == 0, result.output
    assert "73.04 ± 2.58" in result.stdout
    assert "73.04 ± 2.58" in page.read_text()
    (document,) = json.loads(figures.read_text())["data_sets"]
    assert set(document["predictive"]) == {"symmetric", "ndpp2019", "tied", "tripod", "popularity"}
    assert document["printed"]["figure_1"]["value"] == 1.07
    assert document["predictive"]["tied"]["published"]["values"]["mpr"] > 0
