"""Estimates of the cost of a bundle."""

from __future__ import annotations

from typing import get_args

import pytest

from ndpp.bundles import Method, operations

METHODS = get_args(Method)


@pytest.mark.parametrize("method", METHODS)
def test_cost_grows_with_the_catalogue_the_rank_and_the_bundle(method: Method) -> None:
    base = operations(method, 60, 20, 2, 1)
    assert base > 0
    assert operations(method, 120, 20, 2, 1) > base
    assert operations(method, 60, 40, 2, 1) > base
    assert operations(method, 60, 20, 3, 1) > base


@pytest.mark.parametrize("method", METHODS)
def test_empty_bundles_and_tiny_catalogues_have_a_finite_cost(method: Method) -> None:
    for size, k, cart in ((1, 0, 0), (1, 3, 0), (2, 1, 1), (10**7, 50, 1000)):
        assert 0 <= operations(method, size, 300, k, cart) < float("inf")


def test_cost_of_a_chain_is_linear_in_its_steps() -> None:
    for method in ("mcmc", "sample"):
        cost = operations(method, 1000, 50, 5, 2, steps=1000)  # type: ignore[arg-type]
        assert operations(method, 1000, 50, 5, 2, steps=4000) == 4 * cost  # type: ignore[arg-type]
        assert operations(method, 10**6, 50, 5, 2, steps=1000) == cost  # type: ignore[arg-type]


def test_cost_of_pairs_is_bounded_by_the_pool() -> None:
    """Beyond the pool, local search grows linearly with the catalogue."""
    costs = [operations("local_search", size, 100, 5, 0) for size in (10_000, 20_000, 30_000)]
    assert costs[2] - costs[1] == pytest.approx(costs[1] - costs[0])


def test_exact_costs_less_than_local_search_only_for_few_sets() -> None:
    assert operations("exact", 15, 50, 3, 0) < operations("local_search", 15, 50, 3, 0)
    assert operations("exact", 200, 50, 3, 0) > operations("local_search", 200, 50, 3, 0)
