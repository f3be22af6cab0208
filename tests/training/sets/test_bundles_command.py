"""`python -m training bundles` on the tiny demo."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from model_store import ModelStore
from training.demo import TINY_GROUPS
from training.reading import read_baskets

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    command = [sys.executable, "-m", "training", "demo", "--dataset", "tiny"]
    places = ["--store", str(folder / "store"), "--data", str(folder / "data")]
    subprocess.run([*command, *places], check=True, capture_output=True, timeout=300)
    return folder


def test_bundles_command_prints_disjoint_sets_with_true_counts(training: Run, trained: Path) -> None:
    done = training("bundles", "--store", str(trained / "store"), "--k", "2", "--format", "json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    stored = ModelStore(str(trained / "store")).open()
    assert printed["model_version"] == stored.version
    found = [bundle["items"] for bundle in printed["bundles"]]
    assert {frozenset(group[:2]) for group in TINY_GROUPS} & {frozenset(items) for items in found}
    assert all(not set(one) & set(other) for one, other in combinations(found, 2))
    bought = read_baskets(str(trained / "data" / "baskets.parquet")).baskets
    baskets = [{bought.catalogue[row] for row in basket} for basket in bought]
    for bundle in printed["bundles"]:
        whole = sum(set(bundle["items"]) <= basket for basket in baskets)
        assert bundle["baskets"] <= whole  # held-out baskets are not counted
        assert bundle["baskets"] >= 0.8 * whole
        assert bundle["baskets"] > bundle["by_chance"]
    assert "were found" in done.stderr  # 100 were asked for


def test_bundles_command_as_table_and_csv_with_options(training: Run, trained: Path) -> None:
    options = ("bundles", "--store", str(trained / "store"), "--k", "2", "--top", "3", "--min-lift", "2")
    table = training(*options)
    assert "by chance" in table.stdout
    rows = list(csv.reader(io.StringIO(training(*options, "--format", "csv").stdout)))
    assert rows[0] == ["item_1", "item_2", "baskets", "by_chance"]
    assert len(rows) == 4
    assert all(int(row[2]) >= 1.5 * float(row[3]) for row in rows[1:])
    household = training(*options, "--category", "Household", "--format", "csv").stdout
    known = {item for group in TINY_GROUPS[5:] for item in group}
    bundles = list(csv.reader(io.StringIO(household)))[1:]
    assert bundles
    assert all(known & set(bundle[:2]) for bundle in bundles)


def test_bundles_command_refuses_unknown_categories_and_models_without_counts(
    training: Run, trained: Path, tmp_path: Path
) -> None:
    unknown = training("bundles", "--store", str(trained / "store"), "--category", "Garden")
    assert (unknown.returncode, "no category 'Garden'" in unknown.stderr) == (2, True)
    untuned = training(
        "fit",
        "--baskets",
        str(trained / "data" / "baskets.parquet"),
        "--store",
        str(tmp_path / "store"),
        "--tune",
        "none",
        "--steps",
        "5",
    )
    assert untuned.returncode == 0, untuned.stderr
    refused = training("bundles", "--store", str(tmp_path / "store"))
    assert refused.returncode == 2
    assert "has no counts of baskets" in refused.stderr


def test_version_stores_its_top_bundles_and_probabilities_of_sets(trained: Path) -> None:
    stored = ModelStore(str(trained / "store")).open()
    assert stored.top_bundles is not None
    assert stored.set_predictor is not None
    best = stored.top_bundles.of_size(2)[0]
    row, other = best.rows
    prediction = stored.set_predictor.given([row])
    place = int(np.searchsorted(prediction.candidates, other))
    counted = best.together / prediction.total
    assert prediction.singles[place] == pytest.approx(counted, rel=0.3)
