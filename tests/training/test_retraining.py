import subprocess
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model_store import Draft, Knobs, ModelStore, StoredModel
from training.baskets import Baskets
from training.errors import IncomparableError, OptionError
from training.gate import Verdict, compare
from training.reading import read_baskets
from training.recipe import Recipe
from training.retraining import Retrained, Retraining, retrain
from training.splitting import split_by_key

Run = Callable[..., subprocess.CompletedProcess[str]]
QUICK: dict[str, Any] = {"rank": 6, "skew_rank": 8, "steps": 80, "batch_size": 200, "learning_rate": 0.03}


def written(baskets: Baskets) -> str:
    return "".join(" ".join(baskets.catalogue[row] for row in basket) + "\n" for basket in baskets)


def ordered(store: ModelStore, order: Retraining, phases: list[str] | None = None) -> Retrained:
    heard = [] if phases is None else phases
    return retrain(store, order, tolerance=1.0, callback=lambda _: None, announce=heard.append)


def noted(store: ModelStore, version: str) -> Mapping[str, Any]:
    return store.manifest(version).hyperparameters


@pytest.fixture(scope="module")
def shop(planted: Baskets, tmp_path_factory: pytest.TempPathFactory) -> tuple[ModelStore, str, Baskets]:
    """A store with one active version, the data it was made from, and the baskets that it held out."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "baskets.txt").write_text(written(planted))
    store = ModelStore(folder / "store")
    found = ordered(store, Retraining(data=str(folder / "baskets.txt"), told=QUICK, report=False))
    store.activate(found.version)
    return (
        store,
        str(folder / "baskets.txt"),
        split_by_key(read_baskets(str(folder / "baskets.txt")).baskets).test,
    )


def changed(store: ModelStore, version: str, *, knobs: Knobs | None = None, **noted: Any) -> StoredModel:
    """The same model again under another name, with other knobs or another manifest."""
    model = store.open(version)
    draft = Draft(
        kernel=model.kernel,
        kind=model.manifest.kind,
        items=model.items,
        relevance=model.relevance,
        knobs=knobs or model.manifest.knobs,
        hyperparameters={**model.manifest.hyperparameters, **noted},
        metrics={},
        data_fingerprint=model.manifest.data_fingerprint,
        seed=model.manifest.seed,
    )
    return store.open(store.publish(draft))


def test_a_basket_held_out_once_is_held_out_when_data_grows(planted: Baskets, tmp_path: Path) -> None:
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
    order = Retraining(data=str(tmp_path / "baskets.txt"), told=QUICK | {"init": "previous"})
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


@pytest.mark.parametrize("holdout", [[], ["--holdout", 100]])
def test_a_job_is_compared_with_what_fit_made_and_holds_out_the_same(
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


def test_a_worse_candidate_is_turned_away_and_a_better_one_is_not(
    shop: tuple[ModelStore, str, Baskets], planted: Baskets, tmp_path: Path
) -> None:
    store, _, held_out = shop
    shuffled = replace(planted, items=np.random.default_rng(0).permutation(planted.items))
    (tmp_path / "nonsense.txt").write_text(written(shuffled))
    bad = store.open(ordered(store, Retraining(data=str(tmp_path / "nonsense.txt"))).version)
    good = store.open()
    verdict = compare(bad, good, [], held_out, tolerance=0.5)
    assert not verdict.accepted
    assert verdict.difference == pytest.approx(verdict.candidate - verdict.active)
    assert verdict.interval[0] < verdict.difference < verdict.interval[1] < 0
    assert compare(good, bad, [], held_out, tolerance=0.5).accepted
    single = held_out.select(np.flatnonzero(held_out.sizes < 2))
    with pytest.raises(IncomparableError, match="no held-out basket has two items"):
        compare(good, bad, [], single, tolerance=0)


def test_only_baskets_that_all_versions_held_out_are_asked_about(
    shop: tuple[ModelStore, str, Baskets],
) -> None:
    store, _, held_out = shop
    active = store.open()
    less = changed(store, active.version, held_out_below=0.02)
    everything = compare(active, active, [], held_out, tolerance=1)
    part = compare(active, less, [], held_out, tolerance=1)
    assert held_out.keys is not None
    assert everything.queries == np.count_nonzero(held_out.sizes > 1)
    assert part.queries == np.count_nonzero((held_out.sizes > 1) & (held_out.keys < 0.02))
    # An earlier version that held out less would leave fewer questions: it takes no part.
    assert compare(active, active, [less], held_out, tolerance=1).queries == everything.queries


@pytest.mark.parametrize("noted", [{"held_out_below": None, "split": "random"}, {"held_out_below": 0.0}])
def test_a_version_that_does_not_say_what_it_held_out_is_not_compared(
    shop: tuple[ModelStore, str, Baskets], noted: dict[str, Any]
) -> None:
    store, data, _ = shop
    before = store.active()
    old = changed(store, str(before), **noted)
    store.activate(old.version)
    try:
        refused = ordered(store, Retraining(data=data, report=False))
        assert refused.verdict is None
        assert refused.no_verdict is not None
        assert f"version {old.version} does not say which baskets it held out" in refused.no_verdict
        assert "by hand this once" in refused.no_verdict
        store.activate(refused.version)  # which is what the sentence says
        assert ordered(store, Retraining(data=data, report=False)).verdict is not None
    finally:
        store.activate(str(before))


def test_many_small_losses_do_not_add_up(shop: tuple[ModelStore, str, Baskets]) -> None:
    """Each model is a little worse than the one before, by less than is tolerated."""
    store, _, held_out = shop
    best = store.open()
    chain = [best]
    sunk = best.manifest.knobs
    accepted: list[Verdict] = []
    for _ in range(20):
        sunk = replace(sunk, popularity=sunk.popularity - 0.15)
        candidate = changed(store, best.version, knobs=sunk)
        verdict = compare(candidate, chain[-1], [], held_out, tolerance=2.0)
        assert verdict.accepted  # by the active version alone it would go live
        guarded = compare(candidate, chain[-1], chain[-5:-1], held_out, tolerance=2.0)
        if not guarded.accepted:
            break
        accepted.append(guarded)
        chain.append(candidate)
    else:
        raise AssertionError("it sank, and nobody minded")
    assert accepted
    assert guarded.rival in {model.version for model in chain[-5:-1]}
    assert guarded.rival_figure - guarded.candidate > 2.0
    assert guarded.active - guarded.candidate < 2.0
    assert guarded.rival_figure > guarded.active


def test_an_earlier_version_is_found_through_the_history(
    shop: tuple[ModelStore, str, Baskets],
) -> None:
    store, data, _ = shop
    before = str(store.active())
    worse = changed(store, before, knobs=Knobs(popularity=3.0))  # the rarest first
    store.activate(worse.version)
    try:
        found = ordered(store, Retraining(data=data, report=False, told={"steps": 1, "tune": "none"}))
        assert found.verdict is not None
        assert found.verdict.rival in store.history()[1:]
        assert found.verdict.rival_figure > found.verdict.active
        assert not found.verdict.accepted
    finally:
        store.activate(before)


def test_a_job_does_as_the_active_version_was_told(planted: Baskets, tmp_path: Path) -> None:
    rows = [(number, planted.catalogue[row]) for number, basket in enumerate(planted) for row in basket]
    (tmp_path / "orders.dat").write_text("order,sku\n" + "".join(f"{a},{b}\n" for a, b in rows))
    (tmp_path / "items.csv").write_text("item_id\n" + "\n".join(planted.catalogue[:30]) + "\n")
    store = ModelStore(tmp_path / "store")
    sources = {"data": str(tmp_path / "orders.dat"), "items": str(tmp_path / "items.csv"), "report": False}
    told = QUICK | {
        "kernel": "symmetric",
        "min_item_count": 20,
        "max_basket_size": 8,
        "format": "csv",
        "columns": {"basket_id": "order", "item_id": "sku"},
        "only_listed_items": True,
        "tune": "none",
        "validation": 90,
        "seed": 3,
    }
    del told["rank"], told["skew_rank"]
    first = ordered(store, Retraining(told=told, **sources))
    store.activate(first.version)
    used: list[dict[str, Any]] = []
    second = retrain(
        store,
        Retraining(**sources, told={"steps": 40}),
        tolerance=1.0,
        callback=lambda _: None,
        announce=lambda _: None,
        using=used.append,
    )
    before, after = noted(store, first.version), noted(store, second.version)
    assert {name: after[name] for name in told} == told | {"steps": 40}
    assert before["left_to_data"] == after["left_to_data"] == ["rank", "skew_rank"]
    assert set(used[0]) == set(Recipe().as_dict())
    assert (used[0]["steps"], used[0]["rank"], used[0]["validation"]) == (40, after["rank"], 90)


def test_a_manifest_of_release_0_1_gives_what_it_has(shop: tuple[ModelStore, str, Baskets]) -> None:
    store, data, _ = shop
    before = str(store.active())
    model = store.open()
    known = asdict(Recipe().options) | {"max_basket_size": 9, "min_item_count": 3, "steps": 5}
    old = Draft(
        kernel=model.kernel,
        kind="scalable",
        items=model.items,
        relevance=None,
        knobs=Knobs(),
        hyperparameters=known
        | {"rank": 4, "skew_rank": 6, "split": "random", "validation": 77, "holdout": 9},
        metrics={},
        data_fingerprint="",
        seed=0,
    )
    store.activate(store.publish(old))
    try:
        after = noted(store, ordered(store, Retraining(data=data, report=False)).version)
    finally:
        store.activate(before)
    wanted = {"rank": 4, "skew_rank": 6, "steps": 5, "max_basket_size": 9, "min_item_count": 3}
    assert {name: after[name] for name in wanted} == wanted
    assert (after["validation"], after["tune"], after["held_out_below"]) == (77, "quick", 0.05)


def test_items_that_are_not_listed_are_dropped(planted: Baskets, tmp_path: Path) -> None:
    (tmp_path / "baskets.txt").write_text(written(planted))
    listed = [item for item in planted.catalogue if not item.startswith("d")]
    (tmp_path / "items.csv").write_text("item_id\n" + "\n".join(listed) + "\n")
    store = ModelStore(tmp_path / "store")
    order = Retraining(
        data=str(tmp_path / "baskets.txt"),
        items=str(tmp_path / "items.csv"),
        told={"only_listed_items": True, "steps": 1, "rank": 4, "skew_rank": 4},
    )
    assert set(store.open(ordered(store, order).version).items.ids) == set(listed)
    with pytest.raises(OptionError, match="needs an item table"):
        ordered(store, replace(order, items=None))


def test_nothing_to_learn_from_is_said(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "store")
    with pytest.raises(OptionError, match="nothing to learn from"):
        ordered(store, Retraining(purchases=str(tmp_path / "purchases")))
