"""The benchmark of the search: its queries mean what their names say, and it saves a figure for each."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from app.catalogue.search import SearchIndex
from benchmarks import machine, search


def test_search_benchmark_saves_the_time_of_each_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    monkeypatch.setattr(search, "SIZES", (1_200,))
    monkeypatch.setattr(search, "REPEATS", 2)
    search.main()
    rows = json.loads((tmp_path / "search.json").read_text())["rows"]
    assert [row["query"] for row in rows] == list(search.QUERIES)
    assert all(row["index_ms"] > 0 and row["scan_ms"] > 0 for row in rows)
    found = {row["query"]: row["found"] for row in rows}
    assert found["nothing typed"] == found["all ids"] == 1_200
    assert found["one id"] == 1 and found["not there"] == 0
    assert found["three words with typos"] >= 1


@pytest.mark.parametrize("query", ["b", "bab", "eka", "sku", "sku-5"])
def test_index_finds_at_least_what_the_scan_finds_of_beginnings_and_parts(query: str) -> None:
    texts = search.names(500, np.random.default_rng(0))
    found = set(SearchIndex.of(texts).matches(query).tolist())
    scanned = {row for row in search.scan(texts, query) if len(query) >= 3 or f" {query}" in f" {texts[row]}"}
    assert scanned and scanned <= found
