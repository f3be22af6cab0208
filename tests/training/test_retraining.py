import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from model_store import ModelStore
from tests.training.retraining_shop import QUICK, noted, ordered, written
from training.baskets import Baskets
from training.errors import OptionError
from training.reading import read_baskets
from training.retraining import Retraining
from training.splitting import split_by_key

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_held_out_basket_stays_held_out_when_data_grows(planted: Baskets, tmp_path: Path) -> None:
    text = written(planted)
    (tmp_path / "b.txt").write_text(text)
    before = split_by_key(read_baskets(str(tmp_path)).baskets)
    (tmp_path / "a.txt").write_text("a0 b0\n" * 500)
    (tmp_path / "b.txt").write_text(text + "a1 b1\n" * 500)
    after = split_by_key(read_baskets(str(tmp_path)).baskets, seed=9)
    assert 0.02 < len(before.test) / len(planted) < 0.08
    assert set(before.test.keys.tolist()) <= set(after.test.keys.tolist())
    assert not set(before.test.keys.tolist()) & set(after.train.keys.tolist())
    assert len(after.train) + len(after.validation) + len(after.test) == 2500


def test_first_model_has_no_verdict_and_second_is_compared(planted: Baskets, tmp_path: Path) -> None:
    (tmp_path / "baskets.txt").write_text(written(planted))
    store = ModelStore(tmp_path / "store")
    order = Retraining(data=str(tmp_path / "baskets.txt"), options=QUICK | {"init": "previous"})
    phases: list[str] = []
    first = ordered(store, order, phases)
    assert phases == ["reading", "fitting", "tuning", "publishing", "comparing"]
    assert first.verdict is first.no_verdict is None
    assert store.active() is None
    store.activate(first.version)
    second = ordered(store, order)
    assert second.verdict is not None
    assert second.verdict.accepted
    assert second.verdict.rival == first.version
    assert second.verdict.queries > 50
    assert noted(store, second.version)["split"] == "by_key"
    assert noted(store, second.version)["held_out_below"] == 0.05


@pytest.mark.parametrize("holdout", [[], ["--holdout", 100, "--tune", "none"]])
def test_retraining_is_compared_with_version_made_by_fit(
    training: Run, planted_file: Path, tmp_path: Path, holdout: list[object]
) -> None:
    store = ModelStore(tmp_path / "store")
    options = [part for name, value in QUICK.items() for part in (f"--{name.replace('_', '-')}", value)]
    made = training(
        "fit", "--baskets", planted_file, "--store", store.location, *options, *holdout, "--quiet"
    )
    assert made.returncode == 0, made.stderr
    job = ordered(store, Retraining(data=str(planted_file)))
    assert job.verdict is not None
    assert job.verdict.accepted
    assert job.verdict.difference == 0  # the same data, the same options: the same model
    for name in ("holdout", "held_out_below"):
        assert noted(store, job.version)[name] == noted(store, made.stdout.strip())[name]


def test_only_listed_items_drops_other_items(planted: Baskets, tmp_path: Path) -> None:
    (tmp_path / "baskets.txt").write_text(written(planted))
    listed = [item for item in planted.catalogue if not item.startswith("d")]
    (tmp_path / "items.csv").write_text("item_id\n" + "\n".join(listed) + "\n")
    store = ModelStore(tmp_path / "store")
    order = Retraining(
        data=str(tmp_path / "baskets.txt"),
        items=str(tmp_path / "items.csv"),
        options={"only_listed_items": True, "steps": 1, "tune": "none", "rank": 4, "skew_rank": 4},
    )
    assert set(store.open(ordered(store, order).version).items.ids) == set(listed)
    with pytest.raises(OptionError, match="needs an item table"):
        ordered(store, replace(order, items=None))


def test_retraining_without_baskets_is_an_error(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "store")
    with pytest.raises(OptionError, match="no baskets to learn from"):
        ordered(store, Retraining(purchases=str(tmp_path / "purchases")))
