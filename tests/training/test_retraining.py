from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model_store import ModelStore
from training.baskets import Baskets
from training.errors import OptionError
from training.gate import compare
from training.options import FitOptions
from training.reading import read_baskets
from training.retraining import Retraining, retrain
from training.splitting import split_by_key

QUICK = FitOptions(rank=6, skew_rank=8, steps=80, batch_size=200, learning_rate=0.03)


def written(baskets: Baskets) -> str:
    return "".join(" ".join(baskets.catalogue[row] for row in basket) + "\n" for basket in baskets)


def ordered(store: ModelStore, order: Retraining, phases: list[str] | None = None):
    heard = [] if phases is None else phases
    return retrain(store, order, tolerance=1.0, callback=lambda _: None, announce=heard.append)


def test_a_basket_kept_aside_stays_aside_when_data_grows(planted: Baskets, tmp_path: Path) -> None:
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


def test_the_first_model_has_no_rival_and_the_second_is_compared(planted: Baskets, tmp_path: Path) -> None:
    (tmp_path / "baskets.txt").write_text(written(planted))
    store = ModelStore(tmp_path / "store")
    order = Retraining(data=str(tmp_path / "baskets.txt"), options=replace(QUICK, init="previous"))
    phases: list[str] = []
    first = ordered(store, order, phases)
    assert phases == ["reading", "fitting", "tuning", "publishing", "comparing"]
    assert first.verdict is None
    assert store.active() is None
    store.activate(first.version)
    second = ordered(store, order)
    assert second.verdict is not None
    assert second.verdict.accepted
    assert second.verdict.queries > 50
    assert store.manifest(second.version).hyperparameters["split"] == "by_key"


def test_a_worse_candidate_is_turned_away_and_a_better_one_is_not(planted: Baskets, tmp_path: Path) -> None:
    (tmp_path / "baskets.txt").write_text(written(planted))
    store = ModelStore(tmp_path / "store")
    good = ordered(store, Retraining(data=str(tmp_path / "baskets.txt"), options=QUICK))
    rng = np.random.default_rng(0)
    shuffled = replace(planted, items=rng.permutation(planted.items))
    (tmp_path / "nonsense.txt").write_text(written(shuffled))
    bad = ordered(store, Retraining(data=str(tmp_path / "nonsense.txt"), options=QUICK))
    aside = split_by_key(read_baskets(str(tmp_path / "baskets.txt")).baskets).test
    good_model, bad_model = store.open(good.version), store.open(bad.version)
    verdict = compare(bad_model, good_model, aside, tolerance=0.5)
    assert verdict is not None
    assert not verdict.accepted
    assert verdict.difference == pytest.approx(verdict.candidate - verdict.active)
    assert verdict.interval[0] < verdict.difference < verdict.interval[1] < 0
    reverse = compare(good_model, bad_model, aside, tolerance=0.5)
    assert reverse is not None
    assert reverse.accepted
    assert compare(good_model, bad_model, aside.select(np.flatnonzero(aside.sizes < 2)), tolerance=0) is None


def test_items_that_are_not_listed_are_dropped(planted: Baskets, tmp_path: Path) -> None:
    (tmp_path / "baskets.txt").write_text(written(planted))
    listed = [item for item in planted.catalogue if not item.startswith("d")]
    (tmp_path / "items.csv").write_text("item_id\n" + "\n".join(listed) + "\n")
    store = ModelStore(tmp_path / "store")
    sources = {"data": str(tmp_path / "baskets.txt"), "items": str(tmp_path / "items.csv")}
    order = Retraining.of({"only_listed_items": True, "steps": 1, "rank": 4, "skew_rank": 4}, **sources)
    assert set(store.open(ordered(store, order).version).items.ids) == set(listed)
    with pytest.raises(OptionError, match="needs an item table"):
        ordered(store, replace(order, items=None))


def test_nothing_to_learn_from_is_said(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "store")
    with pytest.raises(OptionError, match="nothing to learn from"):
        ordered(store, Retraining(purchases=str(tmp_path / "purchases")))
