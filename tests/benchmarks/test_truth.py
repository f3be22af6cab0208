import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import truth, truth_page
from benchmarks.truth_judge import SIZE_CLASSES, count_pairs
from model_store import ModelStore
from training.baskets import Baskets
from training.synthetic import generate_baskets


@pytest.fixture(scope="module")
def baskets() -> Baskets:
    return generate_baskets(24, 1500, mean_size=5, seed=3)


def test_pair_counts_match_plain_loop(baskets: Baskets) -> None:
    names = baskets.catalogue
    sets = [{names[row] for row in basket} for basket in baskets]
    pairs = [("a0", "b0"), ("c0", "d0"), ("a1", "c2")]
    found = count_pairs(baskets, pairs)
    bounds = [*SIZE_CLASSES, 10_000]
    for number, (one, other) in enumerate(pairs):
        by_chance = 0.0
        for least, above in itertools.pairwise(bounds):
            alike = [basket for basket in sets if least <= len(basket) < above]
            if alike:
                by_chance += sum(one in b for b in alike) * sum(other in b for b in alike) / len(alike)
        assert found.together[number] == sum({one, other} <= basket for basket in sets)
        assert found.by_chance[number] == pytest.approx(by_chance)


_SUBSTITUTES = {
    **dict.fromkeys(("pairs", "judged", "confirmed", "judged_of_all", "confirmed_of_all"), 10),
    "together": 10,
    "by_chance": 40.0,
}


def _run(**changes: Any) -> dict[str, Any]:
    claim = {"claimed": 0.1, "true": 0.1}
    return {
        "data": "uk_retail",
        "seed": 0,
        "items": 40,
        "baskets": 3000,
        "first": claim,
        "ten": claim,
        "calibration_error": 0.01,
        "complements": {"pairs": 3, "claimed": 100.0, "counted": 100},
        "substitutes": _SUBSTITUTES,
        "complete": claim,
        "further": {"claimed": 2.0, "true": 2.0, "correlation": 0.3},
        "range": claim,
        "next_item": {"hit@10": 30.0, "ndcg@10": 20.0, "mpr": 95.0, "nll": 5.0},
        "lead": {
            metric: {"other": 30.0, "mean": 0.0, "half": 0.5} for metric in ("hit@10", "ndcg@10", "mpr")
        },
        **changes,
    }


def _failed(run: dict[str, Any]) -> list[str]:
    return [row.what for row in truth_page.ROWS if row.cell(run).passed is False]


def test_accurate_figures_pass_all_goals() -> None:
    assert _failed(_run()) == []


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ({"first": {"claimed": 0.14, "true": 0.1}}, "first suggestion"),
        ({"ten": {"claimed": 0.1, "true": 0.16}}, "one of the first ten"),
        ({"calibration_error": 0.021}, "calibration error"),
        ({"complements": {"pairs": 3, "claimed": 79.0, "counted": 100}}, "joint baskets"),
        ({"substitutes": {**_SUBSTITUTES, "confirmed": 8}}, "substitutes with"),
        ({"complete": {"claimed": 0.1, "true": 0.14}}, "cart complete"),
        ({"further": {"claimed": 2.4, "true": 2.0, "correlation": 0.3}}, "further items"),
        ({"further": {"claimed": 2.0, "true": 2.0, "correlation": 0.2}}, "correlation"),
        ({"next_item": {"hit@10": 30.0, "ndcg@10": 20.0, "mpr": 93.9, "nll": 5.0}}, "MPR"),
    ],
)
def test_inaccurate_figure_fails_only_its_goal(change: dict[str, Any], row: str) -> None:
    failed = _failed(_run(**change))
    assert len(failed) == 1 and failed[0].startswith(row)


def test_lead_below_interval_fails() -> None:
    lead = {metric: {"other": 30.0, "mean": -0.6, "half": 0.5} for metric in ("hit@10", "ndcg@10", "mpr")}
    assert len(_failed(_run(lead=lead))) == 3


def test_truth_benchmark_of_running_service(planted_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truth, "HOLDOUT", 200)
    monkeypatch.setattr(truth, "RESULTS", planted_folder)
    monkeypatch.setattr(truth_page, "_PAGE", planted_folder / "truth.md")
    kept = planted_folder / "kept"
    truth.main(data=planted_folder, steps=30, only="planted", keep=kept)
    version = ModelStore(kept / "planted-0" / "store").active()
    (run,) = json.loads((planted_folder / "truth.json").read_text())["runs"]
    assert len((kept / "planted-0" / "train.txt").read_text().splitlines()) == 1300
    assert run["held_out"] == 200
    assert abs(run["first"]["claimed"] - run["first"]["true"]) < 0.1
    assert abs(run["complete"]["claimed"] - run["complete"]["true"]) < 0.1
    assert np.mean([one["claimed"] for one in run["calibration_bins"]]) == pytest.approx(
        run["ten"]["claimed"] / 10
    )
    assert run["complements"]["pairs"] > 0 and run["complements"]["counted"] > 0
    assert run["lead"] is None

    # Compared with itself, the kept model has a lead of zero and is not fitted again.
    (planted_folder / "others").mkdir()
    (planted_folder / "others" / "planted-0").symlink_to(kept / "planted-0" / "store")
    truth.main(data=planted_folder, only="planted", keep=kept, against=planted_folder / "others")
    (again,) = json.loads((planted_folder / "truth.json").read_text())["runs"]
    assert ModelStore(kept / "planted-0" / "store").active() == version
    assert again["first"] == run["first"]
    assert {one["mean"] for one in again["lead"].values()} == {0.0}
    page = (planted_folder / "truth.md").read_text()
    assert f"{100 * run['first']['claimed']:.1f} / {100 * run['first']['true']:.1f} %" in page
