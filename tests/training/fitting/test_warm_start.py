import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model_store import ModelStore
from ndpp import Kernel
from training.baskets import Baskets
from training.errors import OptionError
from training.fitting import fit, resolve_options
from training.fitting.parameters import initialise
from training.fitting.warm_start import Previous, start_from
from training.options import FitOptions
from training.splitting import Split, split

Run = Callable[..., subprocess.CompletedProcess[str]]
QUICK = FitOptions(rank=6, skew_rank=8, steps=60, batch_size=200, evaluate_every=20, learning_rate=0.03)


@pytest.fixture(scope="module")
def parts(planted: Baskets) -> Split:
    return split(planted, validation=200, seed=1)


def dense(kernel: Kernel) -> np.ndarray:
    return kernel.submatrix(np.arange(kernel.size))


@pytest.mark.parametrize("kind", ["symmetric", "ndpp2019", "scalable", "tied"])
def test_warm_start_starts_at_previous_likelihood(parts: Split, kind: str) -> None:
    first = fit(parts.train, parts.validation, replace(QUICK, kernel=kind))
    previous = Previous(first.kernel, first.options.kernel, parts.train.catalogue)
    options = FitOptions(kernel=kind, init="previous", steps=1, evaluate_every=1)
    resolved = resolve_options(options, parts.train, previous)
    model = initialise(parts.train, resolved)
    start_from(model, parts.train.catalogue, previous)
    assert np.allclose(dense(model.kernel()), dense(first.kernel), atol=1e-6)
    again = fit(parts.train, parts.validation, options, previous=previous)
    assert again.curve[0][1] == pytest.approx(first.validation, abs=1e-4)


def test_warm_start_matches_rows_by_item_id(parts: Split) -> None:
    first = fit(parts.train, parts.validation, QUICK)
    names = tuple(reversed(parts.train.catalogue))
    renamed = replace(parts.train, catalogue=("new", *parts.train.catalogue[1:]))
    previous = Previous(first.kernel, "scalable", parts.train.catalogue)
    options = replace(QUICK, init="previous")
    model, fresh = initialise(renamed, options), initialise(renamed, options)
    start_from(model, renamed.catalogue, previous)
    assert np.allclose(dense(model.kernel())[1:, 1:], dense(first.kernel)[1:, 1:], atol=1e-6)
    assert (model.F[0] == fresh.F[0]).all()
    turned = initialise(replace(parts.train, catalogue=names), options)
    start_from(turned, names, previous)
    assert np.allclose(dense(turned.kernel()), dense(first.kernel)[::-1, ::-1], atol=1e-6)


def test_warm_start_from_interleaved_skew_columns(parts: Split) -> None:
    """`Kernel.scalable` with the paper's 2×2 blocks keeps partners side by side."""
    rng = np.random.default_rng(0)
    items = len(parts.train.catalogue)
    C = np.zeros((4, 4))
    C[0, 1], C[1, 0], C[2, 3], C[3, 2] = 0.5, -0.5, -2.0, 2.0
    kernel = Kernel.scalable(rng.normal(size=(items, 3)), rng.normal(size=(items, 4)), C, rng.random(items))
    previous = Previous(kernel, "scalable", parts.train.catalogue)
    resolved = resolve_options(FitOptions(init="previous"), parts.train, previous)
    assert (resolved.rank, resolved.skew_rank) == (3, 4)
    model = initialise(parts.train, resolved)
    start_from(model, parts.train.catalogue, previous)
    assert np.allclose(dense(model.kernel()), dense(kernel), atol=1e-4)


@pytest.mark.parametrize(("rank", "skew_rank"), [(9, 12), (4, 4)])
def test_warm_start_with_other_ranks(parts: Split, rank: int, skew_rank: int) -> None:
    first = fit(parts.train, parts.validation, QUICK)
    previous = Previous(first.kernel, "scalable", parts.train.catalogue)
    options = replace(QUICK, rank=rank, skew_rank=skew_rank, init="previous", steps=1, evaluate_every=1)
    warm = fit(parts.train, parts.validation, options, previous=previous)
    cold = fit(parts.train, parts.validation, replace(options, init="scaled"))
    assert warm.kernel.rank == rank + skew_rank
    assert warm.curve[0][1] > cold.curve[0][1]


def test_warm_start_errors(parts: Split) -> None:
    first = fit(parts.train, parts.validation, replace(QUICK, steps=1))
    previous = Previous(first.kernel, "scalable", parts.train.catalogue)
    with pytest.raises(OptionError, match="--kernel scalable"):
        resolve_options(FitOptions(init="previous", kernel="tied"), parts.train, previous)
    with pytest.raises(OptionError, match="there is none"):
        resolve_options(FitOptions(init="previous"), parts.train)


def test_fit_init_previous_starts_from_active_model(
    training: Run, planted_file: Path, tmp_path: Path
) -> None:
    store = ModelStore(tmp_path / "store")
    (tmp_path / "items.csv").write_text("item_id\na0\nb0\na1\nb1\n")
    common = ("fit", "--baskets", planted_file, "--store", tmp_path / "store", "--steps", 20, "--no-report")
    refused = training(*common, "--init", "previous")
    assert refused.returncode == 2
    assert "there is none" in refused.stderr
    assert training(*common, "--rank", 5, "--skew-rank", 6, "--quiet").returncode == 0
    listed = ("--items", tmp_path / "items.csv", "--only-listed-items")
    again = training(*common, "--init", "previous", *listed, "--quiet")
    assert again.returncode == 0, again.stderr
    model = store.open(again.stdout.strip())
    assert model.kernel.rank == 11
    assert set(model.items.ids) == {"a0", "b0", "a1", "b1"}
