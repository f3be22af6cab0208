"""Options that a retraining inherits from the active version."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from model_store import Knobs, ModelStore
from tests.training.retraining_shop import QUICK, Shop, changed, noted, ordered, republished
from training.baskets import Baskets
from training.errors import OptionError
from training.recipe import Recipe
from training.retraining import Retraining, retrain
from training.splitting import HELD_OUT_SHARE

Run = Callable[..., subprocess.CompletedProcess[str]]


class StoppedError(Exception):
    """Stops a retraining before the fit."""


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


def test_retraining_inherits_options_of_active_version(planted: Baskets, tmp_path: Path) -> None:
    rows = [(number, planted.catalogue[row]) for number, basket in enumerate(planted) for row in basket]
    (tmp_path / "orders.dat").write_text("order,sku\n" + "".join(f"{a},{b}\n" for a, b in rows))
    (tmp_path / "items.csv").write_text("item_id\n" + "\n".join(planted.catalogue[:30]) + "\n")
    store = ModelStore(tmp_path / "store")
    sources = {"data": str(tmp_path / "orders.dat"), "items": str(tmp_path / "items.csv"), "report": False}
    given = QUICK | {
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
    del given["rank"], given["skew_rank"]
    first = ordered(store, Retraining(options=given, **sources))
    store.activate(first.version)
    used: list[dict[str, Any]] = []
    second = retrain(
        store,
        Retraining(**sources, options={"steps": 40}),
        tolerance=1.0,
        callback=lambda _: None,
        announce=lambda _: None,
        using=used.append,
    )
    before, after = noted(store, first.version), noted(store, second.version)
    assert {name: after[name] for name in given} == given | {"steps": 40}
    assert before["left_to_data"] == after["left_to_data"] == ["rank", "skew_rank"]
    assert set(used[0]) == set(Recipe().as_dict())
    assert [(use["steps"], use["rank"], use["validation"]) for use in used] == [
        (40, None, 90),  # before the data is read
        (40, after["rank"], 90),
    ]


def test_retraining_inherits_recorded_options_of_release_0_1(shop: Shop) -> None:
    store, data, _ = shop
    before = str(store.active())
    known = asdict(Recipe().options) | {"max_basket_size": 9, "min_item_count": 3, "steps": 5}
    recorded = known | {"rank": 4, "skew_rank": 6, "split": "random", "validation": 77, "holdout": 9}
    old = republished(store, before, relevance=None, knobs=Knobs(), hyperparameters=recorded)
    store.activate(old.version)
    try:
        after = noted(store, ordered(store, Retraining(data=data, report=False)).version)
    finally:
        store.activate(before)
    wanted = {"rank": 4, "skew_rank": 6, "steps": 5, "max_basket_size": 9, "min_item_count": 3}
    assert {name: after[name] for name in wanted} == wanted
    assert (after["validation"], after["tune"], after["held_out_below"]) == (77, "quick", 0.05)


def test_none_resets_option_to_default_and_missing_option_is_inherited(own_shop: Shop) -> None:
    store, data, _ = own_shop
    given = {
        "format": "lines",
        "columns": {"item_id": "sku"},
        "validation": 50,
        "min_item_count": 2,
        "seed": 5,
    }
    store.activate(changed(store, str(store.active()), **given, left_to_data=[]).version)
    inherited = chosen(store, Retraining(data=data))[-1]
    assert {name: inherited[name] for name in given | QUICK} == given | QUICK
    undone = ("rank", "steps", "format", "columns", "validation", "min_item_count")
    before, after = chosen(store, Retraining(data=data, options=dict.fromkeys(undone)))
    assert {name: before[name] for name in undone} == {name: Recipe().as_dict()[name] for name in undone}
    assert (after["rank"], after["validation"]) == (20, 150)  # from the data
    assert (after["skew_rank"], after["seed"]) == (QUICK["skew_rank"], 5)


def test_threads_are_not_inherited(own_shop: Shop) -> None:
    store, data, _ = own_shop
    store.activate(changed(store, str(store.active()), threads=4).version)
    assert chosen(store, Retraining(data=data))[-1]["threads"] == 1
    assert chosen(store, Retraining(data=data, options={"threads": 2}))[-1]["threads"] == 2


def test_error_with_inherited_columns_names_active_version(own_shop: Shop, tmp_path: Path) -> None:
    store, _, _ = own_shop
    (tmp_path / "orders.txt").write_text("basket_id,item_id\n1,a\n1,b\n")
    active = changed(store, str(store.active()), format="csv", columns={"basket_id": "order"}).version
    store.activate(active)
    order = Retraining(data=str(tmp_path / "orders.txt"))
    with pytest.raises(
        OptionError, match=r"no column 'order'.*set options.format and options.columns"
    ) as caught:
        ordered(store, order)
    assert f"of the active version {active}" in str(caught.value)
    with pytest.raises(OptionError, match=r"with columns \(.*set options.columns in the request") as caught:
        ordered(store, Retraining(data=order.data, options={"format": "csv"}))
    assert "format" not in str(caught.value).split("with columns")[1].split("default")[0]


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
def test_retraining_works_with_damaged_active_version(
    own_shop: Shop, damage: Callable[[ModelStore, str], None]
) -> None:
    store, data, _ = own_shop
    damage(store, str(store.active()))
    warnings: list[str] = []
    found = retrain(
        store,
        Retraining(
            data=data,
            report=False,
            options={"init": "previous", "rank": 4, "skew_rank": 4, "steps": 1, "tune": "none"},
        ),
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
    assert "defaults of fit" in warnings[0]
    assert noted(store, found.version)["batch_size"] == Recipe().options.batch_size != QUICK["batch_size"]
    store.activate(found.version)
    assert ordered(store, Retraining(data=data, report=False)).verdict is not None


@pytest.mark.parametrize(
    ("bound", "recorded"), [(None, 0.0), (0.0, 0.0), (0.02, 0.02), (0.5, HELD_OUT_SHARE)]
)
def test_warm_start_holds_out_no_more_than_previous_version(
    own_shop: Shop, bound: float | None, recorded: float
) -> None:
    store, data, _ = own_shop
    active = changed(store, str(store.active()), held_out_below=bound)
    store.activate(active.version)
    given = {"init": "previous", "steps": 1, "tune": "none", "held_out_below": HELD_OUT_SHARE}
    found = ordered(store, Retraining(data=data, report=False, options=given))
    assert noted(store, found.version)["held_out_below"] == recorded
    assert (found.verdict is None) == (recorded == 0)
    if recorded == 0:
        assert found.no_verdict is not None
        assert f"version {active.version} does not say" in found.no_verdict
        assert "train once with init: scaled and activate: always" in found.no_verdict
        first, second = (
            Retraining(data=data, report=False, options={"init": init, "tune": "none"})
            for init in ("scaled", "previous")
        )
        store.activate(ordered(store, first).version)
        assert ordered(store, second).verdict


def test_fit_warns_that_warm_start_holds_out_fewer_baskets(
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
