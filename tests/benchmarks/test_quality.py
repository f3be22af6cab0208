import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import quality, quality_page
from benchmarks.quality_sets import auc, pair_scores, popular_twins, substitutes
from training.baselines import ItemKNN
from training.baskets import Baskets
from training.generated import generate_baskets


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    return generate_baskets(40, 3000, mean_size=5, seed=3)


def test_twins_have_the_same_sizes_and_the_popularity_of_the_real_ones(baskets: Baskets) -> None:
    sets = list(baskets)
    twins = popular_twins(sets, baskets.counts, np.random.default_rng(0))
    assert [len(rows) for rows in twins] == [len(rows) for rows in sets]
    assert all(len(np.unique(rows)) == len(rows) for rows in twins)
    drawn = np.bincount(np.concatenate(twins), minlength=40)
    assert np.corrcoef(drawn, baskets.counts)[0, 1] > 0.95


def test_auc_counts_how_often_the_real_one_wins() -> None:
    assert auc(np.array([3.0, 1.0, 2.0, 5.0]), np.array([1.0, 2.0, 2.0, 0.0])) == pytest.approx(2.5 / 4)


def test_pair_scores_tell_real_baskets_from_made_up_ones(baskets: Baskets) -> None:
    peer = ItemKNN().fit(baskets)
    sets = [rows for rows in baskets if len(rows) > 1]
    weights = np.asarray(peer.weights.todense())  # type: ignore[union-attr]
    first = sets[0]
    pairs = [weights[a, b] for a in first for b in first if a != b]
    assert pair_scores(peer, sets[:1])[0] == pytest.approx(np.mean(pairs), rel=1e-5)
    twins = popular_twins(sets, baskets.counts, np.random.default_rng(0))
    assert auc(pair_scores(peer, sets), pair_scores(peer, twins)) > 0.6


def test_planted_substitutes_are_found_and_complements_are_not(baskets: Baskets) -> None:
    apart = substitutes(baskets)
    row = baskets.catalogue.index
    for group in range(3):
        assert apart[row(f"c{group}"), row(f"d{group}")]
        assert not apart[row(f"a{group}"), row(f"b{group}")]
    assert (apart == apart.T).all()


def test_the_whole_table_from_a_folder_of_baskets(
    baskets: Baskets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    lines = "\n".join(" ".join(baskets.catalogue[row] for row in basket) for basket in baskets)
    with gzip.open(tmp_path / "planted.txt.gz", "wt") as file:
        file.write(lines)
    monkeypatch.setattr(quality, "HOLDOUT", 300)
    monkeypatch.setattr(quality, "RESULTS", tmp_path)
    monkeypatch.setattr("benchmarks.machine.RESULTS", tmp_path)
    monkeypatch.setattr(quality_page, "_PAGE", tmp_path / "quality.md")
    quality.main(data=tmp_path, seeds=2, steps=30, only="planted")
    figures = json.loads((tmp_path / "quality.json").read_text())
    assert [run["seed"] for run in figures["runs"]] == [0, 1]
    page = (tmp_path / "quality.md").read_text()
    tripod = [run["next_item"]["tripod"]["hit@10"]["mean"] for run in figures["runs"]]
    assert f"| **Tripod** | {np.mean(tripod):.2f} ± " in page
    assert "| lead over the best peer | " in page
    assert "## Sets" in page
    for run in figures["runs"]:
        assert run["next_item"]["tripod"]["mpr"]["mean"] > run["next_item"]["popularity"]["mpr"]["mean"]
        completion = run["sets"]["completion"]
        assert completion["bundle"]["recall"] > completion["popularity"]["recall"]
