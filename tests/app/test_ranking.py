"""The best items and their probabilities against plain float64 arithmetic over the whole catalogue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.filters import Wishes
from app.recommend.ranking import best_items, best_items_of_each
from ndpp import Kernel, PairTable, condition, condition_many


def random_kernel(size: int, rank: int, seed: int) -> Kernel:
    rng = np.random.default_rng(seed)
    V, B = rng.normal(size=(2, size, rank // 2)).astype(np.float32) / np.sqrt(rank)
    C = np.kron(np.eye(rank // 4), [[0.0, 1.0], [-1.0, 0.0]])
    return Kernel.scalable(V, B, C, rng.uniform(0, 0.5, size))


@pytest.mark.parametrize(("size", "rank"), [(300, 8), (7000, 80)])  # one pass, and beyond it the bounded scan
@pytest.mark.parametrize("decoupling", [0.0, 0.7])
@pytest.mark.parametrize("with_base", [False, True])
def test_the_best_items_and_the_sum_of_all(size: int, rank: int, decoupling: float, with_base: bool) -> None:
    kernel, rng = random_kernel(size, rank, seed=size), np.random.default_rng(1)
    base = rng.uniform(0, 2, size) * (rng.random(size) < 0.5) if with_base else None
    boosted, hidden = rng.choice(size, 40, replace=False), rng.choice(size, 30)
    wishes = Wishes(base, [(boosted, rng.uniform(0, 9, 40)), (hidden, 0.0)])
    cart = [3, 99, 17, 250, 42, 8]
    state = condition(kernel, cart, decoupling=decoupling)
    tilt = wishes.dense(size)
    assert np.allclose(tilt, wishes.tilt.dense(size))
    scores = tilt * state.gains()
    order = sorted(np.flatnonzero(scores > 0), key=lambda row: (-scores[row], row))
    for k in (1, 10, 100):
        best = best_items(state, k, wishes)
        assert best.rows.tolist() == order[:k]
        assert np.allclose(best.scores, scores[order[:k]], rtol=1e-6)
        assert np.allclose(best.gains, state.gains(order[:k]), rtol=1e-6)
        assert best.total == pytest.approx(scores.sum(), rel=1e-5)


@pytest.mark.parametrize("decoupling", [0.0, 0.7])
def test_many_carts_at_once_give_what_each_gives_alone(decoupling: float) -> None:
    kernel, rng = random_kernel(300, 8, seed=3), np.random.default_rng(4)
    carts = [rng.choice(300, size, replace=False) for size in (0, 1, 4, 4, 9, 20)]
    wishes = [Wishes(None, [(rng.choice(300, 20, replace=False), rng.uniform(0, 9, 20))]) for _ in carts]
    k = 10
    together = best_items_of_each(condition_many(kernel, carts, decoupling=decoupling), k, wishes)
    for cart, wish, best in zip(carts, wishes, together, strict=True):
        alone = best_items(condition(kernel, cart, decoupling=decoupling), k, wish)
        assert best.rows.tolist() == alone.rows.tolist()
        assert np.allclose(best.scores, alone.scores, rtol=1e-9)
        assert np.allclose(best.gains, alone.gains, rtol=1e-9)
        assert best.total == pytest.approx(alone.total, rel=1e-5)


def test_fewer_than_k_items_and_none_at_all() -> None:
    kernel = random_kernel(20, 8, seed=2)
    state = condition(kernel, [0, 1])
    few = Wishes(None, [(np.arange(4, 20), 0.0)])
    assert set(best_items(state, 5, few).rows) == {2, 3}
    assert best_items(state, 50, Wishes(None, [])).rows.shape == (18,)
    nothing = best_items(state, 5, Wishes(np.zeros(20), []))
    assert (len(nothing.rows), nothing.total) == (0, 0.0)


@given(st.integers(0, 10_000), st.integers(0, 12), st.sampled_from([0.0, 0.7, 1.0]), st.integers(1, 40))
def test_a_table_of_pairs_gives_the_same_items(seed: int, length: int, decoupling: float, k: int) -> None:
    """Repeated rows (ties), boosts, exclusions, and carts beyond the rank."""
    rng = np.random.default_rng(seed)
    plain = random_kernel(40, 8, seed)
    factors, diagonal = plain.factors.copy(), plain.diagonal * rng.integers(0, 2)
    copies = rng.integers(0, 40, 8)
    factors[copies], diagonal[copies] = factors[copies[0]], diagonal[copies[0]]
    kernel = Kernel(factors, plain.core, diagonal)
    base = rng.uniform(0, 2, 40) if rng.random() < 0.5 else None
    wishes = Wishes(base, [(rng.choice(40, 5, replace=False), rng.choice([0.0, 0.5, 3.0], 5))])
    state = condition(kernel, rng.integers(0, 40, length), decoupling=decoupling)
    scores = wishes.dense(40) * state.gains(np.arange(40))
    table = PairTable.of(kernel)
    best = best_items(state, k, wishes, table)
    assert best.rows.tolist() == sorted(np.flatnonzero(scores > 0), key=lambda row: (-scores[row], row))[:k]
    assert np.allclose(best.scores, scores[best.rows], rtol=1e-12)
    assert np.allclose(best.gains, state.gains(best.rows), rtol=1e-12)
    error = float(wishes.dense(40) @ table.gains(state)[1])
    assert best.total == pytest.approx(scores.sum(), rel=1e-5, abs=error)
