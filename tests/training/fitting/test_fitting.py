import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ndpp import Kernel
from training.baskets import Baskets
from training.errors import DataError, OptionError
from training.fitting import FitResult, Progress, fit, resolve_options
from training.fitting.checkpoint import Checkpoint
from training.fitting.fit_state import FitState, learning_rate
from training.fitting.likelihood import group_by_size
from training.options import FitOptions, suggest_ranks
from training.recency import effective_size, recency_weights
from training.splitting import Split, split

QUICK = FitOptions(rank=8, skew_rank=8, steps=60, batch_size=100, evaluate_every=10, learning_rate=0.03)


@pytest.fixture(scope="module")
def parts(planted: Baskets) -> Split:
    return split(planted, validation=200, holdout=200, seed=1)


def lift(kernel: Kernel, catalogue: tuple[str, ...], first: str, second: str) -> float:
    L = kernel.submatrix([catalogue.index(first), catalogue.index(second)])
    return float(1 - L[0, 1] * L[1, 0] / (L[0, 0] * L[1, 1]))


def same(one: Kernel, other: Kernel) -> bool:
    pairs = ((one.factors, other.factors), (one.core, other.core), (one.diagonal, other.diagonal))
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("kind", ["symmetric", "ndpp2019", "scalable", "tied"])
def test_each_kernel_kind_improves(parts: Split, kind: str, diagonal: bool) -> None:
    result = fit(parts.train, parts.validation, replace(QUICK, kernel=kind, diagonal=diagonal))
    first = result.curve[0][1]
    assert result.validation > first + 1
    assert result.validation == max(value for _, value in result.curve)
    assert (result.kernel.diagonal > 0).all() == diagonal
    symmetric_part = (result.kernel.core + result.kernel.core.T) / 2
    assert np.allclose(symmetric_part, np.diag([1.0] * 8 + [0.0] * (result.kernel.rank - 8)))


def test_fit_finds_planted_relations(planted: Baskets, parts: Split) -> None:
    result = fit(parts.train, parts.validation, replace(QUICK, rank=10, skew_rank=20, steps=400))
    for group in range(3):
        assert lift(result.kernel, planted.catalogue, f"a{group}", f"b{group}") > 1.2
        assert lift(result.kernel, planted.catalogue, f"c{group}", f"d{group}") < 0.6


def test_fit_is_reproducible_by_seed(parts: Split) -> None:
    first, second = (fit(parts.train, parts.validation, QUICK) for _ in range(2))
    assert same(first.kernel, second.kernel)
    assert first.curve == second.curve
    assert not same(first.kernel, fit(parts.train, parts.validation, replace(QUICK, seed=5)).kernel)


def dated(parts: Split) -> Split:
    """A basket an hour."""

    def with_times(baskets: Baskets) -> Baskets:
        hours = np.arange(len(baskets)) * np.timedelta64(1, "h")
        return replace(baskets, timestamps=np.datetime64("2026-01-01", "us") + hours)

    return Split(*map(with_times, parts))


@pytest.mark.parametrize("half_life", [None, 2.0])
def test_resumed_fit_equals_uninterrupted_fit(parts: Split, tmp_path: Path, half_life: float | None) -> None:
    parts, options = dated(parts), replace(QUICK, half_life_days=half_life)
    whole = fit(parts.train, parts.validation, options)
    checkpoint = Checkpoint(tmp_path / "state.safetensors")
    steps_before_stop = iter(range(1000))
    part = fit(
        parts.train,
        parts.validation,
        options,
        should_stop=lambda: next(steps_before_stop) == 34,
        checkpoint=checkpoint,
    )
    assert part.interrupted
    assert part.steps_done == 34
    assert part.validation == max(value for _, value in part.curve)
    rest = fit(parts.train, parts.validation, options, checkpoint=checkpoint)
    assert not rest.interrupted
    assert rest.curve == whole.curve
    assert same(rest.kernel, whole.kernel)


def test_damaged_checkpoint_is_an_error(parts: Split, tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    path.write_bytes(b"junk" * 100)
    with pytest.raises(DataError, match=r"state\.safetensors.*damaged.*delete it"):
        fit(parts.train, parts.validation, QUICK, checkpoint=Checkpoint(path))


def test_checkpoint_of_other_data_or_options_is_not_used(parts: Split, tmp_path: Path) -> None:
    keys = {
        Checkpoint.for_fit(tmp_path, data, chosen, options).path
        for data in ("a", "b")
        for chosen in (parts, parts._replace(test=parts.validation.select(np.arange(3))))
        for options in (QUICK, replace(QUICK, seed=1))
    }
    assert len(keys) == 8


def test_fit_reports_progress(parts: Split) -> None:
    seen: list[Progress] = []
    result = fit(parts.train, parts.validation, QUICK, callback=seen.append)
    assert [progress.step for progress in seen] == [0, 10, 20, 30, 40, 50, 60]
    assert [(progress.step, progress.validation) for progress in seen] == result.curve
    assert seen[-1].seconds_left == 0
    assert seen[-1].best == result.validation


def test_fit_stops_early(parts: Split) -> None:
    tiny = parts.train.select(np.arange(30))  # overfits at once
    result: FitResult = fit(tiny, parts.validation, replace(QUICK, steps=2000, patience=3, learning_rate=0.1))
    assert result.steps_done < 2000
    assert result.steps_done == result.best_step + 30


def test_paper_initialisation(parts: Split) -> None:
    ours, papers = (
        resolve_options(replace(QUICK, kernel="tied", init=init), parts.train) for init in ("scaled", "paper")
    )
    start = [
        fit(parts.train, parts.validation, replace(options, steps=1), should_stop=lambda: True)
        for options in (ours, papers)
    ]
    assert start[1].kernel.factors.min() >= 0
    assert start[1].kernel.factors.max() <= 1
    assert start[0].validation > start[1].validation


def test_recency_weights_halve_with_every_half_life(planted: Baskets) -> None:
    times = np.array(["2026-01-01", "2026-01-11", "2026-01-21"], dtype="datetime64[us]")
    dated = replace(planted.select(np.arange(3)), timestamps=times)
    assert recency_weights(dated, 10.0) == pytest.approx([0.25, 0.5, 1.0])
    assert recency_weights(dated, None) is None
    with pytest.raises(OptionError, match="timestamp"):
        recency_weights(planted, 10.0)


def test_batches_are_drawn_by_recency(parts: Split) -> None:
    parts, options = dated(parts), replace(QUICK, half_life_days=0.5)
    state = FitState(parts.train, parts.validation, options)
    drawn = np.concatenate([state._next_batch() for _ in range(200)])
    assert len(drawn) == 200 * QUICK.batch_size
    weights = recency_weights(parts.train, 0.5)
    assert weights is not None
    share = np.bincount(drawn, minlength=len(parts.train)) / len(drawn)
    np.testing.assert_allclose(share, weights / weights.sum(), atol=0.005)
    alike = np.random.default_rng(0).permutation(len(weights))[: QUICK.batch_size]
    assert (
        effective_size(weights[alike]) < 10
    )  # the effective size of a batch that is weighted instead of sampled
    assert all((group.weights == 1).all() for group in group_by_size(parts.train, drawn[:100]))


def test_validation_likelihood_is_weighted_by_recency(parts: Split) -> None:
    parts = dated(parts)
    newest = parts.validation.select(np.arange(190, 200))
    all_alike, recent, only_newest = (
        FitState(parts.train, validation, replace(QUICK, half_life_days=half_life))
        for validation, half_life in ((parts.validation, None), (parts.validation, 0.05), (newest, 0.05))
    )
    for state in (all_alike, recent, only_newest):
        state.evaluate()
    assert recent.best == pytest.approx(only_newest.best, abs=0.01)
    assert abs(recent.best - all_alike.best) > 0.1


def test_effective_size() -> None:
    assert effective_size(np.ones(7)) == 7
    assert effective_size(np.array([1.0, 0, 0])) == 1
    assert effective_size(0.5 ** np.arange(100)) == pytest.approx(3)


def test_learning_rate_schedule() -> None:
    options = FitOptions(steps=100, learning_rate=0.5)
    rates = [learning_rate(step, options) for step in range(100)]
    assert max(rates) == pytest.approx(0.5)
    assert rates.index(max(rates)) == 30
    assert rates == sorted(rates[:30]) + sorted(rates[30:], reverse=True)


def test_suggested_ranks_respect_catalogue_memory_and_time(planted: Baskets) -> None:
    assert suggest_ranks(planted) == (20, 40)
    huge = replace(planted, catalogue=tuple(map(str, range(371_410))))
    rank, skew_rank = suggest_ranks(huge)
    assert 6 * 4 * 371_410 * (rank + skew_rank) <= 2**31
    assert rank + skew_rank == 150
    large = replace(planted, catalogue=tuple(map(str, range(40_000))))
    assert 40_000 * sum(suggest_ranks(large)) ** 2 == pytest.approx(2e9, rel=0.02)
    assert skew_rank % 2 == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "--steps must be at least 1"),
        ({"skew_rank": 3}, "--skew-rank must be even"),
        ({"alpha": -1.0}, "--alpha must be zero or more"),
        ({"learning_rate": 0.0}, "--learning-rate must be above zero"),
        ({"batch_size": 0}, "--batch-size must be at least 1"),
    ],
)
def test_invalid_fit_options_are_errors(change: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        FitOptions(**change)  # type: ignore[arg-type]


def test_fit_options_as_dict() -> None:
    assert json.loads(json.dumps(FitOptions().as_dict()))["kernel"] == "scalable"


def test_rare_items_take_smaller_steps(parts: Split) -> None:
    state = FitState(parts.train, parts.validation, QUICK)
    before = state.model.F.clone()
    state.advance()
    moved = (state.model.F - before).abs().amax(dim=1).numpy()
    share = np.minimum(1, parts.train.counts / len(parts.train) / 0.05) ** 0.5
    assert share.min() < 0.9
    assert share.max() == 1
    np.testing.assert_allclose(
        moved, share * learning_rate(0, QUICK), rtol=0.01
    )  # Adam's first step is its rate
