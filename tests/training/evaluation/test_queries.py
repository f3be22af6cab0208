from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ndpp import History
from training.baskets import UNKNOWN, Baskets, translate
from training.errors import DataError
from training.evaluation.queries import Protocol, hold_one_out, translate_queries
from training.evaluation.read_queries import histories_in, read_queries

from .conftest import make_baskets

ROWS = {"a": 0, "b": 1, "7": 2}


@pytest.mark.parametrize("protocol", Protocol)
def test_hold_one_out_removes_one_item_of_baskets_of_two_or_more(
    baskets: Baskets, protocol: Protocol
) -> None:
    queries = hold_one_out(baskets, protocol, np.random.default_rng(0))
    whole = [basket for basket in baskets if len(basket) >= 2]
    assert len(queries) == len(whole)
    for basket, cart, target, size in zip(
        whole, queries.carts, queries.targets, queries.cart_sizes, strict=True
    ):
        assert sorted([*cart, target]) == sorted(basket)
        assert size == len(basket) - 1


def test_paper_protocol_holds_out_items_uniformly() -> None:
    baskets = make_baskets([[0, 1, 2, 3]] * 4000, "abcd")
    queries = hold_one_out(baskets, Protocol.PAPER, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(queries.targets) / 4000, 0.25, atol=0.03)


def test_published_protocol_holds_out_largest_number() -> None:
    baskets = make_baskets([[0, 1, 2], [0, 2]], ["10", "9", "100"])
    queries = hold_one_out(baskets, Protocol.PUBLISHED, np.random.default_rng(0))
    assert queries.targets.tolist() == [2, 2]


def test_published_protocol_compares_other_ids_as_text() -> None:
    baskets = make_baskets([[0, 1], [1, 2]], ["pear", "9", "100"])
    queries = hold_one_out(baskets, Protocol.PUBLISHED, np.random.default_rng(0))
    assert queries.targets.tolist() == [0, 1]


def test_translate_drops_unknown_items_and_empty_baskets() -> None:
    baskets = make_baskets([[0, 1], [2], [1, 2, 3]], "abcd")
    moved = translate(baskets, ("d", "b", "a"))
    assert moved.catalogue == ("d", "b", "a")
    assert [basket.tolist() for basket in moved] == [[2, 1], [1, 0]]


def test_translate_queries_keeps_cart_sizes() -> None:
    baskets = make_baskets([[0, 1, 2], [1, 2]], ["3", "2", "1"])
    queries = hold_one_out(baskets, Protocol.PUBLISHED, np.random.default_rng(0))
    moved = translate_queries(queries, baskets.catalogue, ("1", "3"))
    assert [cart.tolist() for cart in moved.carts] == [[0], [0]]
    assert moved.targets.tolist() == [1, UNKNOWN]
    assert moved.cart_sizes.tolist() == [2, 1]
    assert [rows.tolist() for rows in moved.sets] == [[0, 1], [0]]


def test_hold_one_out_keeps_histories_of_asked_baskets() -> None:
    baskets = make_baskets([[0, 1], [2], [1, 2, 3]], "abcd")
    histories = [History.in_order([[row]], 7.0) for row in (3, 1, 0)]
    queries = hold_one_out(baskets, Protocol.TEMPORAL, np.random.default_rng(0), histories)
    assert queries.histories == [histories[0], histories[2]]
    assert queries.first(1).histories == [histories[0]]
    assert hold_one_out(baskets, Protocol.TEMPORAL, np.random.default_rng(0)).histories is None


def test_temporal_protocol_holds_out_the_same_items_as_paper(baskets: Baskets) -> None:
    found = [
        hold_one_out(baskets, protocol, np.random.default_rng(4)).targets
        for protocol in (Protocol.PAPER, Protocol.TEMPORAL)
    ]
    np.testing.assert_array_equal(*found)


def test_translate_queries_drops_unknown_items_of_histories() -> None:
    baskets = make_baskets([[0, 1]] * 3, "abcd")
    histories = [History.in_order([[0, 2], [3], [2]], 7.0), History.in_order([[3]], 7.0), None]
    queries = hold_one_out(baskets, Protocol.TEMPORAL, np.random.default_rng(0), histories)
    moved = translate_queries(queries, baskets.catalogue, ("c", "a", "b"))
    assert moved.histories is not None
    first, second, third = moved.histories
    assert first is not None
    assert first.rows.tolist() == [1, 0, 0]
    assert first.ages[first.visits].tolist() == [21, 21, 7]
    assert first.baskets == 2  # the basket of d alone is gone
    assert (second, third) == (None, None)


def test_read_queries(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(
        '{"cart": ["a", "b", "a"], "target": 7}\n\n{"cart": ["gone", "b"], "target": "a"}\n'
        '{"cart": [], "target": "new", "note": "ignored"}\n'
    )
    queries = read_queries(path, ROWS)
    assert [cart.tolist() for cart in queries.carts] == [[0, 1], [1], []]
    assert queries.targets.tolist() == [2, 0, UNKNOWN]
    assert queries.cart_sizes.tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "no 'cart' or no 'target'"),
        ('{"cart": ["a"]}', "no 'cart' or no 'target'"),
        ('{"cart": "a", "target": "b"}', "neither text nor a whole number"),
        ('{"cart": [1.5], "target": "b"}', "neither text nor a whole number"),
        ('{"cart": [true], "target": "b"}', "neither text nor a whole number"),
        ('{"cart": ["a"], "target": null}', "neither text nor a whole number"),
        ('{"cart": ["a", "b"], "target": "b"}', "the target 'b' is in the cart"),
    ],
)
def test_read_queries_names_bad_line(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"cart": ["a"], "target": "b"}\n' + line + "\n")
    with pytest.raises(DataError) as error:
        read_queries(path, ROWS)
    assert f"{path}, line 2: " in str(error.value)
    assert complaint in str(error.value)


def test_read_queries_names_line_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_bytes(b'{"cart": ["a"], "target": "b"}\n\xff\xfe\n')
    with pytest.raises(DataError, match="line 2: this is not UTF-8"):
        read_queries(path, ROWS)


def test_read_queries_names_missing_or_empty_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.jsonl: the file cannot be read"):
        read_queries(tmp_path / "nowhere.jsonl", ROWS)
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    with pytest.raises(DataError, match=r"empty\.jsonl: there are no queries"):
        read_queries(empty, ROWS)


def test_read_queries_with_histories(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(
        '{"cart": ["a"], "target": 7, "history": [["b", "gone"], [], ["a", 7]]}\n'
        '{"cart": ["a"], "target": 7, "history": [["gone"]]}\n{"cart": ["a"], "target": 7}\n'
    )
    first, second, third = read_queries(path, ROWS, gap_days=3.0).histories or []
    assert first is not None
    assert first.rows.tolist() == [1, 0, 2]
    assert first.ages[first.visits].tolist() == [9, 3, 3]
    assert (second, third) == (None, None)


def test_read_queries_without_histories_has_none(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"cart": ["a"], "target": 7, "history": []}\n')
    assert read_queries(path, ROWS).histories is None


def test_read_queries_looks_up_shoppers(tmp_path: Path) -> None:
    """Before the timestamp, or in all baskets; strangers have no history."""
    times = np.array(["2024-01-01", "2024-01-03", "2024-01-05"], dtype="datetime64[us]")
    bought = replace(make_baskets([[0], [1, 2], [1]], "ab7"), timestamps=times, shoppers=np.array([0, 0, 1]))
    history_of = histories_in(bought, {"<ann>": 0, "<bob>": 1}, lambda shopper_id: f"<{shopper_id}>")
    path = tmp_path / "queries.jsonl"
    path.write_text(
        '{"cart": [], "target": "a", "shopper_id": "ann"}\n'
        '{"cart": [], "target": "a", "shopper_id": "ann", "timestamp": "2024-01-03T01:00:00+01:00"}\n'
        '{"cart": [], "target": "a", "shopper_id": "bob", "timestamp": "2024-01-05"}\n'
        '{"cart": [], "target": "a", "shopper_id": 17}\n'
    )
    notes: list[str] = []
    found = read_queries(path, ROWS, history_of=history_of, notes=notes)
    assert notes == ["2 queries name a shopper_id without an earlier basket in --baskets"]
    everything, earlier, nothing, stranger = found.histories or []
    assert everything is not None
    assert earlier is not None
    assert everything.rows.tolist() == [0, 1, 2]
    np.testing.assert_allclose(everything.ages, [4, 2], atol=0.001)  # at the end of the data
    assert (earlier.rows.tolist(), earlier.ages.tolist()) == ([0], [2])
    assert (nothing, stranger) == (None, None)


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ('"history": ["a"]', "'history' is not a list of lists of ids"),
        ('"history": [[1.5]]', "'history' is not a list of lists of ids"),
        ('"history": [], "shopper_id": "ann"', "both 'history' and 'shopper_id'"),
        ('"shopper_id": ["ann"]', "'shopper_id' is neither text nor a whole number"),
        ('"shopper_id": "ann"', "'shopper_id' needs --baskets with shoppers and timestamps"),
        ('"timestamp": "yesterday"', "the timestamp 'yesterday' is not ISO 8601"),
    ],
)
def test_read_queries_names_bad_history(tmp_path: Path, members: str, complaint: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"cart": [], "target": "a", ' + members + "}\n")
    with pytest.raises(DataError) as error:
        read_queries(path, ROWS)
    assert f"{path}, line 1: " in str(error.value)
    assert complaint in str(error.value)
