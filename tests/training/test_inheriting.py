"""What a retraining takes over from the active version, and what not."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from retraining_shop import QUICK, Shop, changed, noted, ordered

from model_store import Draft, Knobs, ModelStore
from training.baskets import Baskets
from training.errors import OptionError
from training.recipe import Recipe
from training.retraining import Retraining, retrain
from training.splitting import HELD_OUT_SHARE

Run = Callable[..., subprocess.CompletedProcess[str]]


class StoppedError(Exception):
    """Enough has been seen."""


def chosen(store: ModelStore, order: Retraining) -> list[dict[str, Any]]:
    """The options that a retraining uses, before and after the data is read; it stops before the fit."""
    used: list[dict[str, Any]] = []

    def announce(phase: str) -> None:
        if phase == "fitting":
            raise StoppedError

    with pytest.raises(StoppedError):
        retrain(store, order, tolerance=1.0, callback=lambda _: None, announce=announce, using=used.append)
    return used


@pytest.fixture
def own_shop(shop: Shop, tmp_path: Path) -> Shop:
    """A copy that a test may damage."""
    store, data, held_out = shop
    shutil.copytree(store.location, tmp_path / "store")
    return ModelStore(tmp_path / "store"), data, held_out


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
    assert [(use["steps"], use["rank"], use["validation"]) for use in used] == [
        (40, None, 90),  # before the data is read
        (40, after["rank"], 90),
    ]


def test_a_manifest_of_release_0_1_gives_what_it_has(shop: Shop) -> None:
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


def test_none_is_the_default_of_fit_and_what_is_left_out_is_inherited(own_shop: Shop) -> None:
    store, data, _ = own_shop
    told = {
        "format": "lines",
        "columns": {"item_id": "sku"},
        "validation": 50,
        "min_item_count": 2,
        "seed": 5,
    }
    store.activate(changed(store, str(store.active()), **told, left_to_data=[]).version)
    inherited = chosen(store, Retraining(data=data))[-1]
    assert {name: inherited[name] for name in told | QUICK} == told | QUICK
    undone = ("rank", "steps", "format", "columns", "validation", "min_item_count")
    before, after = chosen(store, Retraining(data=data, told=dict.fromkeys(undone)))
    assert {name: before[name] for name in undone} == {name: Recipe().as_dict()[name] for name in undone}
    assert (after["rank"], after["validation"]) == (20, 150)  # from the data
    assert (after["skew_rank"], after["seed"]) == (QUICK["skew_rank"], 5)


def test_threads_belong_to_the_machine_and_are_not_inherited(own_shop: Shop) -> None:
    store, data, _ = own_shop
    store.activate(changed(store, str(store.active()), threads=4).version)
    assert chosen(store, Retraining(data=data))[-1]["threads"] == 1
    assert chosen(store, Retraining(data=data, told={"threads": 2}))[-1]["threads"] == 2


def test_data_that_the_inherited_columns_do_not_fit_is_told_with_their_version(
    own_shop: Shop, tmp_path: Path
) -> None:
    store, _, _ = own_shop
    (tmp_path / "orders.txt").write_text("basket_id,item_id\n1,a\n1,b\n")
    active = changed(store, str(store.active()), format="csv", columns={"basket_id": "order"}).version
    store.activate(active)
    order = Retraining(data=str(tmp_path / "orders.txt"))
    with pytest.raises(
        OptionError, match=r"no column 'order'.*set options.format and options.columns"
    ) as told:
        ordered(store, order)
    assert f"of the active version {active}" in str(told.value)
    with pytest.raises(OptionError, match=r"with columns \(.*set options.columns in the request") as told:
        ordered(store, Retraining(data=order.data, told={"format": "csv"}))
    assert "format" not in str(told.value).split("with columns")[1].split("default")[0]


def kernel_cut_off(store: ModelStore, active: str) -> None:
    path = Path(store.location) / active / "kernel.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def manifest_cut_off(store: ModelStore, active: str) -> None:
    (Path(store.location) / active / "manifest.json").write_text("{")


def version_gone(store: ModelStore, active: str) -> None:
    shutil.rmtree(Path(store.location) / active)


def pointer_damaged(store: ModelStore, _: str) -> None:
    (Path(store.location) / "ACTIVE").write_text("nonsense")


@pytest.mark.parametrize("damage", [kernel_cut_off, manifest_cut_off, version_gone, pointer_damaged])
def test_a_damaged_active_version_does_not_stop_a_retraining(
    own_shop: Shop, damage: Callable[[ModelStore, str], None]
) -> None:
    store, data, _ = own_shop
    damage(store, str(store.active()))
    warnings: list[str] = []
    found = retrain(
        store,
        Retraining(data=data, report=False, told={"init": "previous", "rank": 4, "skew_rank": 4, "steps": 1}),
        tolerance=1.0,
        callback=lambda _: None,
        announce=lambda _: None,
        warn=warnings.append,
    )
    assert found.had_active
    assert found.verdict is None
    assert found.no_verdict is not None
    assert "the active version cannot be used" in found.no_verdict
    assert "activate: always" in found.no_verdict
    assert len(warnings) == 1
    assert "default of fit" in warnings[0]
    assert noted(store, found.version)["batch_size"] == Recipe().options.batch_size != QUICK["batch_size"]
    store.activate(found.version)
    assert ordered(store, Retraining(data=data, report=False)).verdict is not None


@pytest.mark.parametrize(
    ("bound", "recorded"), [(None, 0.0), (0.0, 0.0), (0.02, 0.02), (0.5, HELD_OUT_SHARE)]
)
def test_a_warm_start_holds_out_no_more_than_the_version_it_begins_at(
    own_shop: Shop, bound: float | None, recorded: float
) -> None:
    store, data, _ = own_shop
    active = changed(store, str(store.active()), held_out_below=bound)
    store.activate(active.version)
    told = {"init": "previous", "steps": 1, "held_out_below": HELD_OUT_SHARE}
    found = ordered(store, Retraining(data=data, report=False, told=told))
    assert noted(store, found.version)["held_out_below"] == recorded
    assert (found.verdict is None) == (recorded == 0)
    if recorded == 0:
        assert found.no_verdict is not None
        assert f"version {active.version} does not say" in found.no_verdict
        assert "train with init: scaled and activate: always" in found.no_verdict
        store.activate(ordered(store, Retraining(data=data, report=False, told={"init": "scaled"})).version)
        assert ordered(store, Retraining(data=data, report=False, told={"init": "previous"})).verdict


def test_fit_says_that_a_warm_start_cannot_hold_out_what_was_learned(
    training: Run, planted_file: Path, tmp_path: Path
) -> None:
    store = ModelStore(tmp_path / "store")
    options = (
        "--baskets",
        planted_file,
        "--store",
        store.location,
        "--steps",
        5,
        "--tune",
        "none",
        "--quiet",
    )
    for holdout, held_out in ((20, 20), (0, 0)):
        first = training("fit", *options, "--no-report", "--holdout", holdout)
        assert first.returncode == 0, first.stderr
        second = training("fit", *options, "--init", "previous")
        assert second.returncode == 0, second.stderr
        assert f"only {held_out} baskets are held out" in second.stderr
        version = second.stdout.strip()
        wanted = noted(store, first.stdout.strip())
        for name in ("held_out_below", "holdout"):
            assert noted(store, version)[name] == wanted[name]
        report = store.read_file(version, "report.json").decode()
        assert ("which may have learned from these baskets too" in report) == (held_out == 0)
        assert ("no baskets were held out" in report) == (held_out == 0)
