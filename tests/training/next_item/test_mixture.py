"""Fitting the mixture: prefixes, candidates, maximum likelihood, calibration."""

from __future__ import annotations

import numpy as np
import pytest

from ndpp import Kernel, NextItem
from training.baskets import UNKNOWN, Baskets
from training.evaluation.next_item_calibration import calibration_of
from training.evaluation.queries import Queries, random_prefixes
from training.next_item import mixture as fitting
from training.next_item.basket_index import index_baskets
from training.next_item.mixture import START, fit_mixture, gather
from training.next_item.relevance_prior import RelevanceOptions, learn_relevance_prior
from training.splitting import Split, split
from training.synthetic import generate_baskets


@pytest.fixture(scope="module")
def parts() -> Split:
    return split(generate_baskets(60, 6000, mean_size=4, seed=5), validation=1500, holdout=1500)


@pytest.fixture(scope="module")
def model(parts: Split) -> NextItem:
    shares = parts.train.counts / len(parts.train)
    kernel = Kernel(np.zeros((60, 1)), np.zeros((1, 1)), shares / (1 - shares))
    relevance = learn_relevance_prior(parts.train, RelevanceOptions())
    return NextItem(kernel, START.mixture(0.5), relevance, index_baskets(parts.train))


def test_random_prefixes_have_all_lengths_and_exclude_target() -> None:
    items = np.arange(5, dtype=np.int32)
    baskets = Baskets(tuple("abcde"), np.tile(items, 2000), np.arange(0, 10_001, 5))
    queries, owners = random_prefixes(baskets, 1, np.random.default_rng(0))
    assert sorted(owners.tolist()) == list(range(2000))
    lengths = np.bincount([len(cart) for cart in queries.carts])
    assert lengths.shape == (5,)
    assert lengths.min() > 340  # 400 each, but for chance
    assert not any(target in cart for cart, target in zip(queries.carts, queries.targets, strict=True))
    assert np.bincount(queries.targets).min() > 340


def test_basket_of_one_item_gives_one_query_with_empty_cart() -> None:
    baskets = Baskets(("a",), np.zeros(1, dtype=np.int32), np.array([0, 1]))
    queries, _ = random_prefixes(baskets, 2, np.random.default_rng(0))
    assert [len(cart) for cart in queries.carts] == [0]
    assert queries.targets.tolist() == [0]


def test_mixture_loss_is_nll_of_served_probabilities(parts: Split, model: NextItem) -> None:
    queries = random_prefixes(parts.validation, 1, np.random.default_rng(0))[0].first(300)
    fitted = fit_mixture(gather(model, queries, np.ones(len(queries))))
    served = NextItem(model.kernel, fitted.mixture(0.5), model.relevance, model.baskets)
    logs = [
        np.log(prediction.probabilities[target])
        for prediction, target in zip(served.given_each(queries.carts), queries.targets, strict=True)
    ]
    assert fitted.loss == pytest.approx(-np.mean(logs), rel=1e-6)
    assert fitted.loss < START.loss


def test_sampled_candidates_give_similar_coefficients(
    parts: Split, model: NextItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = random_prefixes(parts.validation, 1, np.random.default_rng(0))[0]
    everything = fit_mixture(gather(model, queries, np.ones(len(queries))))
    for name, count in (("_SMALL", 10), ("_BY_POPULARITY", 10), ("_AT_RANDOM", 15), ("_BY_GAIN", 5)):
        monkeypatch.setattr(fitting, name, count)
    monkeypatch.setattr(fitting, "_BY_RELEVANCE", 8)
    monkeypatch.setattr(fitting, "_BY_VOTES", 8)
    features = gather(model, queries, np.ones(len(queries)))
    assert features.rows.shape[1] < 50
    sampled = fit_mixture(features)
    assert sampled.loss == pytest.approx(everything.loss, abs=0.02)


def test_fitted_probabilities_are_calibrated_on_unseen_baskets(parts: Split, model: NextItem) -> None:
    queries, _ = random_prefixes(parts.validation, 2, np.random.default_rng(0))
    fitted = fit_mixture(gather(model, queries, np.ones(len(queries))))
    served = NextItem(model.kernel, fitted.mixture(0.5), model.relevance, model.baskets)
    found = calibration_of(served, random_prefixes(parts.test, 1, np.random.default_rng(1))[0])
    assert found is not None
    assert abs(found.first.gap) < 0.03
    assert abs(found.first_ten.gap) < 0.05
    assert found.expected_error < 0.02
    assert "The probabilities are well calibrated" in found.verdict
    assert len(found.bins) == 10
    assert sum(part.suggestions for part in found.bins) == 10 * found.queries


def test_calibration_ignores_cart_items() -> None:
    model = NextItem(Kernel.tied(np.eye(4), np.zeros((4, 4))), START.mixture(0.5))
    carts = [np.array(rows, dtype=np.int64) for rows in ([], [0], [0, 1, 2])]
    found = calibration_of(model, Queries(carts, np.array([0, 1, 3]), np.array([0, 1, 3])))
    assert found is not None
    assert sum(part.suggestions for part in found.bins) == 4 + 3 + 1
    assert min(part.claimed for part in found.bins) > 0
    assert found.first_ten.claimed == pytest.approx(1)
    assert found.first_ten.true == 1


def test_calibration_of_carts_with_whole_catalogue_is_none() -> None:
    model = NextItem(Kernel.tied(np.eye(2), np.zeros((2, 2))), START.mixture(0.5))
    whole = Queries([np.array([0, 1])], np.array([UNKNOWN]), np.array([2]))
    assert calibration_of(model, whole) is None


@pytest.mark.parametrize(
    ("carts", "words"), [(1, "on 1 held-out cart the"), (99, "on 99 held-out carts the")]
)
def test_calibration_verdict_needs_100_carts(parts: Split, model: NextItem, carts: int, words: str) -> None:
    queries, _ = random_prefixes(parts.test, 1, np.random.default_rng(1))
    found = calibration_of(model, queries.first(carts))
    assert found is not None
    assert found.verdict.startswith("There are too few carts to judge the probabilities: ")
    assert words in found.verdict
    assert f"probability of {100 * found.first.claimed:.1f} %" in found.verdict


def test_calibration_verdict_of_overconfident_model(parts: Split, model: NextItem) -> None:
    sure = NextItem(model.kernel, START.mixture(0.5).plain(relevance=8.0), model.relevance)
    found = calibration_of(sure, random_prefixes(parts.test, 1, np.random.default_rng(1))[0])
    assert found is not None
    assert found.first.gap > 0.03
    assert "are too high" in found.verdict


def test_mixture_without_determinant_has_zero_gain_exponents(parts: Split, model: NextItem) -> None:
    queries = random_prefixes(parts.validation, 1, np.random.default_rng(0))[0].first(300)
    fitted = fit_mixture(gather(model, queries, np.ones(len(queries))), determinant=False)
    assert fitted.lines["together.gain"] == fitted.lines["habit.gain"] == (0.0, 0.0)
    assert fitted.lines["together.relevance"] != START.lines["together.relevance"]


def test_query_weights_change_the_fit(parts: Split, model: NextItem) -> None:
    queries = random_prefixes(parts.validation, 1, np.random.default_rng(0))[0].first(200)
    weights = np.where(np.arange(200) < 100, 1.0, 0.0)
    half = fit_mixture(gather(model, queries.first(100), np.ones(100)))
    weighted = fit_mixture(gather(model, queries, weights))
    assert weighted.loss == pytest.approx(half.loss, abs=0.02)


def test_basket_index_lists_newest_baskets_of_frequent_items() -> None:
    rows = np.array([0, 1, 0, 2, 0, 3, 0], dtype=np.int32)
    times = np.array(["2026-01-03", "2026-01-01", "2026-01-02", "2026-01-04"], dtype="datetime64[D]")
    baskets = Baskets(tuple("abcd"), rows, np.array([0, 2, 4, 6, 7]), times)
    index = index_baskets(baskets, most=2)
    held = [
        index.items[index.offsets[b] : index.offsets[b + 1]].tolist() for b in range(len(index.offsets) - 1)
    ]
    listed = index.postings[index.starts[0] : index.starts[1]].tolist()
    assert [held[number] for number in listed] == [
        [0, 1],
        [0, 3],
    ]  # of 3 and 2 January; a lone item has no pair
    index.check(4)


def test_basket_index_first_shares_match_enumeration() -> None:
    baskets = Baskets(tuple("abc"), np.array([0, 1, 2, 2], dtype=np.int32), np.array([0, 3, 4]))
    places = np.array([1 / 9, 1 / 9, 1 / 9 + 1])
    places += 0.1 * places.sum() / 2
    assert np.exp(index_baskets(baskets).log_first) == pytest.approx(places / places.sum(), rel=1e-5)
