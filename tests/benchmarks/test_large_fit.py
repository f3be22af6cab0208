import time
from pathlib import Path

import polars as pl
import pytest

from benchmarks import large_fit


def test_a_timed_phase_returns_its_result_and_adds_its_processor_time() -> None:
    seconds: dict[str, float] = {"kernel": 1.0}

    def work(value: int, *, more: int) -> int:
        began = time.process_time()
        while time.process_time() < began + 0.02:
            pass
        return value + more

    assert large_fit._timed(work, "kernel", seconds)(1, more=2) == 3
    assert 1.02 <= seconds["kernel"] < 2


def test_phases_name_what_the_fit_calls() -> None:
    assert all(callable(getattr(module, name)) for module, name in large_fit._PHASES.values())


def test_data_keeps_products_of_several_baskets_and_the_newest_baskets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(large_fit, "_LEAST_BASKETS", 2)
    monkeypatch.setattr(large_fit, "_BASKETS", 2)
    bought = [(1, 10), (1, 11), (2, 10), (2, 12), (3, 11), (3, 11)]
    monkeypatch.setattr(
        large_fit,
        "sold_goods",
        lambda: pl.DataFrame(
            {
                "basket_id": [basket for basket, _ in bought],
                "product_id": [product for _, product in bought],
                "transaction_timestamp": [basket for basket, _ in bought],
                "household_id": 7,
                "product_type": "SOUP",
                "package_size": None,
                "department": "GROCERY",
                "sales_value": 3.0,
                "quantity": 2,
            },
            schema_overrides={"package_size": pl.String},
        ),
    )
    baskets, items = (pl.read_parquet(file) for file in large_fit.write_data(tmp_path))
    assert baskets.select("basket_id", "item_id").rows() == [(2, "10"), (3, "11")]
    assert items.select("item_id", "name", "price").rows() == [("10", "SOUP", 1.5), ("11", "SOUP", 1.5)]
