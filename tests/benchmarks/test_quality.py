import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import quality, quality_page
from benchmarks.quality_sets import auc, pair_scores, popular_twins, substitutes
from training.baselines import ItemKNN
from training.baskets import Baskets
from training.synthetic import generate_baskets


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    return generate_baskets(40, 3000, mean_size=5, seed=3)


def test_twins_have_sizes_and_popularity_of_real_baskets(baskets: Baskets) -> None:
    sets = list(baskets)
    twins = popular_twins(sets, baskets.counts, np.random.default_rng(0))
    assert [len(rows) for rows in twins] == [len(rows) for rows in sets]
    assert all(len(np.unique(rows)) == len(rows) for rows in twins)
    drawn = np.bincount(np.concatenate(twins), minlength=40)
    assert np.corrcoef(drawn, baskets.counts)[0, 1] > 0.95


def test_auc_of_paired_scores() -> None:
    assert auc(np.array([3.0, 1.0, 2.0, 5.0]), np.array([1.0, 2.0, 2.0, 0.0])) == pytest.approx(2.5 / 4)


def test_pair_scores_distinguish_real_from_random_baskets(baskets: Baskets) -> None:
    peer = ItemKNN().fit(baskets)
    sets = [rows for rows in baskets if len(rows) > 1]
    weights = np.asarray(peer.weights.todense())  # type: ignore[union-attr]
    first = sets[0]
    pairs = [weights[a, b] for a in first for b in first if a != b]
    assert pair_scores(peer, sets[:1])[0] == pytest.approx(np.mean(pairs), rel=1e-5)
    twins = popular_twins(sets, baskets.counts, np.random.default_rng(0))
    assert auc(pair_scores(peer, sets), pair_scores(peer, twins)) > 0.6


def test_substitute_scores_find_planted_substitutes(baskets: Baskets) -> None:
    apart = substitutes(baskets)
    row = baskets.catalogue.index
    for group in range(3):
        assert apart[row(f"c{group}"), row(f"d{group}")]
        assert not apart[row(f"a{group}"), row(f"b{group}")]
    assert (apart == apart.T).all()


def test_quality_benchmark_writes_table(planted_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "HOLDOUT", 300)
    monkeypatch.setattr(quality, "RESULTS", planted_folder)
    monkeypatch.setattr(quality_page, "_PAGE", planted_folder / "quality.md")
    quality.main(data=planted_folder, seeds=2, steps=30, only="planted")
    figures = json.loads((planted_folder / "quality.json").read_text())
    assert [run["seed"] for run in figures["runs"]] == [0, 1]
    page = (planted_folder / "quality.md").read_text()
    tripod = [run["next_item"]["tripod"]["hit@10"]["mean"] for run in figures["runs"]]
    assert f"| **Tripod** | {np.mean(tripod):.2f} ± " in page
    assert "| lead over the best baseline | " in page
    assert "## Sets" in page
    for run in figures["runs"]:
        assert run["next_item"]["tripod"]["mpr"]["mean"] > run["next_item"]["popularity"]["mpr"]["mean"]
        completion = run["sets"]["completion"]
        assert completion["bundle"]["recall"] > completion["popularity"]["recall"]
