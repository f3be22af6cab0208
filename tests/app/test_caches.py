"""Caches bounded by bytes, and answers that are kept as finished JSON."""

from __future__ import annotations

import json

import pytest

from app.http.finished import FinishedAnswer
from app.runtime.caches import ByteCache


def test_cache_drops_what_was_not_used_for_longest() -> None:
    cache = ByteCache(3 * 1_500)
    for key in "abc":
        cache.put(key, key.upper(), 500)
    assert cache.get("a") == "A"
    cache.put("d", "D", 500)
    assert [cache.get(key) for key in "abcd"] == ["A", None, "C", "D"]
    assert (len(cache), cache.bytes) == (3, 3 * 1_500)
    cache.drop("a")
    cache.drop("a")
    assert cache.get("a") is None


def test_cache_does_not_keep_a_value_that_alone_is_too_large() -> None:
    cache = ByteCache(10_000)
    cache.put("small", 1, 100)
    cache.put("large", 2, 10_000)
    assert (cache.get("small"), cache.get("large")) == (1, None)
    none = ByteCache(0)
    none.put("a", 1, 0)
    assert none.get("a") is None


@pytest.mark.parametrize("cart_id", [None, 'a "cart_id":null, ü'])
def test_finished_answer_differs_in_cart_id_and_took_ms_only(cart_id: str | None) -> None:
    hostile = '"cart_id":null "took_ms":0.0 \\'
    answer = {"cart": {"cart_id": None, "items": [hostile]}, "names": {hostile: hostile}, "took_ms": 0.0}
    finished = FinishedAnswer.of(json.dumps(answer, separators=(",", ":")).encode())
    cart = {"cart_id": cart_id, "items": [hostile]}
    assert json.loads(finished.json(cart_id, 1.25)) == {**answer, "cart": cart, "took_ms": 1.25}


def test_answer_without_a_cart_cannot_be_finished() -> None:
    with pytest.raises(ValueError):
        FinishedAnswer.of(b'{"took_ms":0.0}')
