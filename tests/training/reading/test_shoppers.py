"""Who bought the baskets: hashing, drained purchases, forgotten shoppers, the summary of `check`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from model_store.shopper_ids import ShopperIds
from training.__main__ import app
from training.reading import BasketData, ReadingRules, ShopperRules, read_baskets

IDS = ShopperIds("a key of the tests")
TABLE = """basket_id,item_id,shopper_id,timestamp
1,milk,ann,2026-01-01
1,bread,ann,2026-01-01
2,milk,bob,2026-01-02
3,milk,ann,2026-01-05
3,eggs,ann,2026-01-05
4,eggs,,2026-01-06
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "baskets.csv"
    path.write_text(TABLE)
    return path


def owners(data: BasketData) -> dict[str, str | None]:
    assert data.baskets.shoppers is not None
    names = [data.shopper_hashes[number] if number >= 0 else None for number in data.baskets.shoppers]
    return dict(zip(data.basket_ids, names, strict=True))


def test_shopper_ids_are_hashed(table: Path) -> None:
    found = owners(read_baskets(str(table), shoppers=ShopperRules(IDS)))
    ann, bob = IDS.hashed("ann"), IDS.hashed("bob")
    assert found == {"1": ann, "2": bob, "3": ann, "4": None}


def test_shopper_column_can_have_another_name(tmp_path: Path) -> None:
    path = tmp_path / "baskets.csv"
    path.write_text(TABLE.replace("shopper_id", "customer"))
    rules = ReadingRules(columns={"shopper_id": "customer"})
    assert owners(read_baskets(str(path), rules, shoppers=ShopperRules(IDS)))["2"] == IDS.hashed("bob")
    assert read_baskets(str(path)).baskets.shoppers is None


def test_drained_purchases_belong_to_the_same_shopper(table: Path, tmp_path: Path) -> None:
    drained = tmp_path / "purchases"
    drained.mkdir()
    pl.DataFrame(
        {
            "basket_id": ["purchase:x:1-0"],
            "item_id": ["eggs"],
            "quantity": [1],
            "timestamp": [datetime(2026, 1, 7)],
            "shopper": [IDS.hashed("ann")],
        }
    ).write_parquet(drained / "purchases_x_1-0_1-0.parquet")
    data = read_baskets(str(table), purchases=str(drained), shoppers=ShopperRules(IDS))
    found = owners(data)
    assert found["purchase:x:1-0"] == found["1"] == IDS.hashed("ann")
    assert len(data.shopper_hashes) == 2


def test_a_column_named_shopper_without_hashes_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "baskets.csv"
    path.write_text("basket_id,item_id,shopper\n1,milk,Ann Smith\n")
    assert read_baskets(str(path)).baskets.shoppers is None


def test_baskets_before_a_shopper_was_forgotten_are_skipped(table: Path) -> None:
    moment = int(datetime(2026, 1, 3, tzinfo=UTC).timestamp())
    rules = ShopperRules(IDS, {IDS.mark(IDS.hashed("ann")): moment})
    assert list(owners(read_baskets(str(table), shoppers=rules))) == ["2", "3", "4"]


def test_baskets_of_a_forgotten_shopper_without_time_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "baskets.csv"
    path.write_text("basket_id,item_id,shopper_id\n1,milk,ann\n2,milk,bob\n")
    rules = ShopperRules(IDS, {IDS.mark(IDS.hashed("ann")): 2_000_000_000})
    assert list(owners(read_baskets(str(path), shoppers=rules))) == ["2"]


def test_baskets_with_several_shoppers_or_too_long_ids_belong_to_nobody(tmp_path: Path) -> None:
    path = tmp_path / "baskets.csv"
    path.write_text(f"basket_id,item_id,shopper_id\n1,milk,ann\n1,eggs,bob\n2,milk,{'x' * 257}\n3,milk,ann\n")
    data = read_baskets(str(path), shoppers=ShopperRules(IDS))
    assert owners(data) == {"1": None, "2": None, "3": IDS.hashed("ann")}
    assert data.dropped.unclear_shoppers == 1


def test_check_says_why_the_repeat_share_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "baskets.csv"
    for rows, why in (
        ("basket_id,item_id,shopper_id\n1,milk,ann\n2,milk,ann\n", "timestamps are missing"),
        ("basket_id,item_id,shopper_id,timestamp\n1,milk,ann,1700000000\n", "no shopper has two baskets"),
    ):
        path.write_text(rows)
        result = CliRunner().invoke(app, ["check", str(path)])
        assert why in result.output


def test_check_reports_shoppers_and_repeat_share(table: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(table), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["shoppers"] == 2
    assert found["baskets_without_shopper"] == 1
    assert found["baskets_per_shopper"] == 1.5
    assert found["repeat_share"] == 0.5  # ann's later basket: milk again, eggs for the first time


def test_baskets_keep_their_shoppers_when_selected(table: Path) -> None:
    data = read_baskets(str(table), shoppers=ShopperRules(IDS))
    assert data.baskets.shoppers is not None
    chosen = data.baskets.select(np.array([3, 0]))
    assert chosen.shoppers is not None
    assert chosen.shoppers.tolist() == [-1, int(data.baskets.shoppers[0])]
