from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model_store import Knobs
from tests.training.retraining_shop import Shop, changed, ordered, written
from training.baskets import Baskets
from training.errors import IncomparableError
from training.gate import Verdict, compare
from training.retraining import Retraining


def test_gate_rejects_worse_and_accepts_better_candidate(
    shop: Shop, planted: Baskets, tmp_path: Path
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


def test_gate_uses_only_baskets_held_out_by_all_versions(
    shop: Shop,
) -> None:
    store, _, held_out = shop
    active = store.open()
    less = changed(store, active.version, held_out_below=0.02)
    everything = compare(active, active, [], held_out, tolerance=1)
    part = compare(active, less, [], held_out, tolerance=1)
    assert held_out.keys is not None
    assert everything.queries == np.count_nonzero(held_out.sizes > 1)
    assert part.queries == np.count_nonzero((held_out.sizes > 1) & (held_out.keys < 0.02))
    # An earlier version that held out less is excluded, because it would leave fewer queries.
    assert compare(active, active, [less], held_out, tolerance=1).queries == everything.queries


@pytest.mark.parametrize("noted", [{"held_out_below": None, "split": "random"}, {"held_out_below": 0.0}])
def test_gate_cannot_compare_version_without_recorded_hold_out(shop: Shop, noted: dict[str, Any]) -> None:
    store, data, _ = shop
    before = store.active()
    old = changed(store, str(before), **noted)
    store.activate(old.version)
    try:
        quick = Retraining(data=data, report=False, options={"steps": 1, "tune": "none"})
        refused = ordered(store, quick)
        assert refused.verdict is None
        assert refused.no_verdict is not None
        assert f"version {old.version} does not say which baskets it held out" in refused.no_verdict
        assert "by hand once" in refused.no_verdict
        assert "activate: always" in refused.no_verdict
        store.activate(refused.version)  # as the message suggests
        assert ordered(store, quick).verdict is not None
    finally:
        store.activate(str(before))


def test_gate_rejects_accumulated_small_losses(shop: Shop) -> None:
    """Each model is worse than the one before by less than the tolerance."""
    store, _, held_out = shop
    best = changed(store, str(store.active()), knobs=Knobs())  # without a mixture: it ranks by its parameters
    chain = [best]
    sunk = best.manifest.knobs
    accepted: list[Verdict] = []
    for _ in range(60):
        sunk = replace(sunk, popularity=sunk.popularity - 0.05)
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


def test_gate_compares_with_versions_since_manual_activation(shop: Shop) -> None:
    store, data, _ = shop
    chosen = str(store.active())
    worse = [
        changed(store, chosen, knobs=Knobs(popularity=3.0)).version for _ in range(2)
    ]  # the rarest first
    for version in worse:
        store.activate(version, by_gate=True)
    try:
        found = ordered(store, Retraining(data=data, report=False, options={"steps": 1, "tune": "none"}))
        assert found.verdict is not None
        assert found.verdict.rival == chosen
        assert found.verdict.rival_figure > found.verdict.active
        assert not found.verdict.accepted
    finally:
        store.activate(chosen)


@pytest.mark.parametrize("after_it", [0, 1])
def test_manual_activation_ends_comparison_with_earlier_versions(shop: Shop, after_it: int) -> None:
    store, data, _ = shop
    before = str(store.active())
    worse = [changed(store, before, knobs=Knobs(popularity=3.0)).version for _ in range(1 + after_it)]
    store.activate(worse[0])
    for version in worse[1:]:
        store.activate(version, by_gate=True)
    try:
        found = ordered(store, Retraining(data=data, report=False, options={"steps": 1, "tune": "none"}))
        assert found.verdict is not None
        assert found.verdict.rival in worse
        assert found.verdict.accepted
    finally:
        store.activate(before)


def test_gate_warns_about_less_accurate_probabilities(shop: Shop) -> None:
    store, _, held_out = shop
    active = store.open()
    assert active.manifest.mixture is not None
    same = changed(store, active.version, mixture=active.manifest.mixture)
    assert compare(same, active, [], held_out, tolerance=5.0).worse_probabilities is None
    together = replace(active.manifest.mixture.together, gain=(3.0, 0.0), relevance=(3.0, 0.0))
    sure = changed(store, active.version, mixture=replace(active.manifest.mixture, together=together))
    said = compare(sure, active, [], held_out, tolerance=5.0).worse_probabilities
    assert said is not None
    assert "probabilities are less accurate" in said
    assert active.version in said
    silent = changed(store, active.version)
    assert "gives no probabilities" in str(
        compare(silent, active, [], held_out, tolerance=5.0).worse_probabilities
    )
    assert compare(active, silent, [], held_out, tolerance=5.0).worse_probabilities is None
