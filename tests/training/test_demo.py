from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from model_store import ModelStore
from ndpp import Kernel, RelatedItems
from ndpp.lifts import COMPLEMENT, SUBSTITUTE
from training.demo import GROCERIES_NOTICE, TINY_GROUPS, DemoFiles, write_demo_data
from training.reading import ReadingRules, read_baskets
from training.reading.item_table import read_item_table
from training.statistics.lifts import learn_lifts

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def groceries(tmp_path_factory: pytest.TempPathFactory) -> DemoFiles:
    return write_demo_data("groceries", tmp_path_factory.mktemp("groceries"))


def test_groceries_baskets_are_readable(groceries: DemoFiles) -> None:
    data = read_baskets(str(groceries.baskets))
    assert data.dropped.duplicate_rows == 0
    assert data.baskets.sizes.max() <= 100
    assert data.baskets.timestamps is not None
    age = np.datetime64(datetime.now(UTC).replace(tzinfo=None)) - data.baskets.timestamps.max()
    assert np.timedelta64(0) <= age < np.timedelta64(8, "D")
    table = read_item_table(str(groceries.items))
    assert set(data.baskets.catalogue) <= set(table["item_id"])


def test_groceries_items_have_names_departments_and_prices(groceries: DemoFiles) -> None:
    items = pl.read_parquet(groceries.items)
    assert items.null_count().sum_horizontal().item() == 0
    assert items["item_id"].str.contains(r"^[a-z0-9]+(-[a-z0-9]+)*$").all()
    assert items["price"].is_between(0, 500).all()
    by_id = {row["item_id"]: row for row in items.iter_rows(named=True)}
    assert by_id["hot-dog-buns"]["name"] == "Hot dog buns"
    assert by_id["lean"]["name"] == "Lean (beef)"
    assert by_id["bananas"]["category"] == "Produce"
    assert "gasoline-reg-unleaded" not in by_id
    assert {item for group in TINY_GROUPS for item in group} <= set(by_id)


def test_groceries_notice_quotes_packagers_disclaimer(groceries: DemoFiles) -> None:
    assert groceries.notice == GROCERIES_NOTICE
    assert "simulated data based on real grocery shopping patterns" in groceries.notice


def test_demo_publishes_active_model_with_planted_relations(training: Run, tmp_path: Path) -> None:
    arguments = ("--dataset", "tiny", "--data", tmp_path / "data", "--store", tmp_path / "store")
    result = training("demo", *arguments)
    assert result.returncode == 0, result.stderr
    assert "generated from a seed" in result.stderr
    assert "400/400" in result.stderr  # the progress bar
    model = ModelStore(tmp_path / "store").open()
    assert result.stdout.strip() == model.version
    row = {item: number for number, item in enumerate(model.items.ids)}
    assert model.lifts is not None
    relations = RelatedItems(model.kernel, model.lifts)
    for first, brought_along, _, _ in TINY_GROUPS:
        assert row[brought_along] in relations.related(row[first], COMPLEMENT)
    # Rare items have too few baskets to show that they are substitutes; the first groups are popular.
    for _, _, one, or_other in TINY_GROUPS[:3]:
        assert relations.between([row[one]], [row[or_other]]).high[0] < 1
    assert model.items.names[row["baby-wipes"]] == "Baby wipes"

    again = training("demo", *arguments, "--if-empty")
    assert again.returncode == 0
    assert model.version in again.stderr
    assert len(ModelStore(tmp_path / "store").versions()) == 1


def test_groceries_substitutes(groceries: DemoFiles) -> None:
    """From the counts alone: the kernel is one of independent items."""
    baskets = read_baskets(str(groceries.baskets), ReadingRules(min_item_count=20)).baskets
    popular = np.sqrt(baskets.counts / len(baskets))
    kernel = Kernel.symmetric(np.zeros((len(popular), 1)), popular)
    relations = RelatedItems(kernel, learn_lifts(baskets, baskets.select(np.arange(0)), kernel))
    row = {item: number for number, item in enumerate(baskets.catalogue)}

    def substitutes(item: str) -> set[str]:
        return {baskets.catalogue[other] for other in relations.related(row[item], SUBSTITUTE)}

    assert {"eggs-x-large", "eggs-medium"} <= substitutes("eggs-large")
    assert all(item.startswith("eggs") for item in substitutes("eggs-large"))
    assert substitutes("liquid-laundry-detergents") == {"powder-laundry-detergent"}
    assert "regular-garden" in substitutes("head-lettuce")
    assert substitutes("shampoo") == substitutes("fluid-milk-white-only") == set()
    conditioner = row["hair-conditioners-and-rinses"]
    assert conditioner in relations.related(row["shampoo"], COMPLEMENT)


def test_demo_with_unwritable_folder_gives_one_message(training: Run, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    result = training("demo", "--dataset", "tiny", "--data", tmp_path / "data", "--store", tmp_path / "store")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == f"error: File exists ({tmp_path / 'data'})"


def test_groceries_are_read_without_pandas(tmp_path: Path) -> None:
    """The training image has none."""
    code = f"""
import sys
from pathlib import Path
from training.demo import write_demo_data
write_demo_data("groceries", Path({str(tmp_path)!r}))
sys.exit("pandas" in sys.modules or "pyarrow" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0
