import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from model_store import Knobs, ModelStore
from training.basket_index import index_baskets
from training.baskets import Baskets, merge
from training.evaluation.metrics import rank_metrics
from training.evaluation.queries import Protocol, hold_one_out, random_prefixes
from training.evaluation.ranks import rank_targets
from training.evaluation.tripod import TripodModel
from training.item_table import describe_items
from training.learning import Learned, learn, with_evidence
from training.neighbours import learn_neighbours
from training.options import FitOptions
from training.publishing import Publication, publish
from training.recipe import Recipe
from training.splitting import Split, split, validation_size
from training.tuning import Tune, tune

FIT = FitOptions(rank=6, skew_rank=6, steps=40, batch_size=100, learning_rate=0.03)


@pytest.fixture(scope="module")
def parts(planted: Baskets) -> Split:
    return split(planted, validation=150, holdout=200, seed=1)


@pytest.fixture(scope="module")
def learned(parts: Split) -> Learned:
    return learn(parts, FIT, effort="quick")


def test_the_best_trial_comes_first_and_is_chosen(parts: Split, learned: Learned) -> None:
    tuning = learned.tuning
    assert tuning is not None
    losses = [trial.negative_log_likelihood for trial in tuning.trials]
    assert losses == sorted(losses)
    assert tuning.mixture.decoupling == tuning.choice.decoupling
    assert learned.mixture == tuning.mixture
    again = tune(learned.result.kernel, parts.train, parts.validation, effort="quick")
    assert again is not None
    assert again.trials == tuning.trials
    assert again.mixture == tuning.mixture


def test_no_choice_lies_at_the_edge_of_what_was_tried(learned: Learned) -> None:
    tuning = learned.tuning
    assert tuning is not None
    for name in ("ridge", "similarity", "floor"):
        tried = {getattr(trial.choice.neighbours, name) for trial in tuning.trials}
        chosen = getattr(tuning.choice.neighbours, name)
        assert chosen < max(tried) or chosen * 3 > 100, name
        assert chosen > min(tried) or chosen / 3 < 1e-4, name
    decoupling = {trial.choice.decoupling for trial in tuning.trials}
    chosen = tuning.choice.decoupling
    assert (chosen == 0 or min(decoupling) < chosen) and (chosen == 1 or chosen < max(decoupling))


def test_the_loss_of_the_mixture_is_that_of_the_model_before_it_learns_more(
    parts: Split, learned: Learned
) -> None:
    """On the same prefixes, with prior and index from the training baskets alone."""
    assert learned.tuning is not None
    queries, _ = random_prefixes(parts.validation, 2, np.random.default_rng(FIT.seed))
    model = with_evidence(learned, parts.train).next_item
    logs = [
        np.log(prediction.probabilities[target])
        for prediction, target in zip(model.given_each(queries.carts), queries.targets, strict=True)
    ]
    assert len(queries) == learned.tuning.queries
    assert learned.tuning.negative_log_likelihood == pytest.approx(-np.mean(logs), rel=1e-4)


def test_with_a_half_life_recent_baskets_decide(parts: Split, learned: Learned) -> None:
    days = np.arange(len(parts.validation)) * np.timedelta64(1, "D")
    dated = replace(parts.validation, timestamps=np.datetime64("2026-01-01", "us") + days)
    old = replace(parts.train, timestamps=np.full(len(parts.train), np.datetime64("2026-01-01", "us")))
    kernel = learned.result.kernel
    recent = tune(kernel, old, dated, effort="quick", half_life_days=5.0)
    newest = tune(kernel, old, dated.select(np.arange(len(dated) - 30, len(dated))), effort="quick")
    assert recent is not None
    assert newest is not None
    assert learned.tuning is not None
    apart = abs(recent.negative_log_likelihood - newest.negative_log_likelihood)
    assert apart < abs(learned.tuning.negative_log_likelihood - newest.negative_log_likelihood)


def test_the_prior_is_learned_from_the_validation_baskets_too_once_it_is_chosen(
    parts: Split, learned: Learned
) -> None:
    assert learned.tuning is not None
    assert learned.relevance is not None
    both = merge(parts.train, parts.validation)
    wanted = learn_neighbours(both, learned.tuning.choice.neighbours)
    np.testing.assert_array_equal(learned.relevance.weights, wanted.weights)
    assert learned.baskets is not None
    np.testing.assert_array_equal(learned.baskets.items, index_baskets(both).items)


def test_without_tuning_there_is_the_plain_kernel(parts: Split) -> None:
    plain = learn(parts, FIT, effort="none")
    assert plain.knobs == Knobs()
    assert plain.mixture is None
    assert plain.baskets is None
    assert plain.relevance is None
    assert plain.tuning is None


def test_a_fit_that_was_stopped_is_not_tuned(parts: Split) -> None:
    stopped = learn(parts, FIT, effort="quick", should_stop=lambda: True)
    assert stopped.result.interrupted
    assert stopped.tuning is None


@pytest.mark.parametrize("effort", ["quick", "thorough"])
def test_tuning_that_was_stopped_keeps_what_it_has_found(
    parts: Split, learned: Learned, effort: Tune
) -> None:
    tried: list[int] = []
    found = learn(
        parts,
        FIT,
        effort=effort,
        tuning_callback=lambda done, _: tried.append(done),
        should_stop=lambda: len(tried) == 3,
    )
    assert tried == [1, 2, 3]
    assert found.interrupted
    assert not found.result.interrupted
    assert found.tuning is not None
    assert found.tuning.interrupted
    assert len(found.tuning.trials) == 4
    assert found.mixture is not None
    assert found.relevance is not None
    assert learned.tuning is not None
    assert not learned.interrupted


def test_a_search_that_was_stopped_keeps_the_better_of_what_it_has_found(parts: Split) -> None:
    """The stop comes while the best kernel is tuned on more queries."""
    phases: list[str] = []
    found = learn(
        parts,
        replace(FIT, steps=10),
        effort="thorough",
        announce=phases.append,
        should_stop=lambda: len(phases) > 14,
    )
    assert phases == [*["fitting", "tuning"] * 7, "tuning"]
    assert found.interrupted
    assert found.tuning is not None
    best = min(kernel.negative_log_likelihood for kernel in found.kernels)
    assert found.tuning.negative_log_likelihood <= best


def test_baskets_of_one_item_tune_what_comes_first(parts: Split) -> None:
    single = replace(parts.validation, items=parts.validation.items[:5], offsets=np.arange(6), keys=None)
    found = learn(parts._replace(validation=single), FIT, effort="quick")
    assert found.tuning is not None
    assert found.tuning.queries == 5
    assert np.isfinite(found.next_item.given([0, 1]).probabilities).all()


def test_a_thorough_search_tries_other_fits_and_keeps_the_best(parts: Split) -> None:
    phases: list[str] = []
    found = learn(parts, replace(FIT, steps=10), effort="thorough", announce=phases.append)
    assert phases == [*["fitting", "tuning"] * len(found.kernels), "tuning"]
    changed = [name for kernel in found.kernels for name in kernel.change]
    assert {"learning_rate", "rank", "skew_rank", "alpha", "beta", "kernel"} == set(changed)
    assert found.tuning is not None
    best = min(found.kernels, key=lambda kernel: kernel.negative_log_likelihood)
    chosen = asdict(found.result.options)
    assert {name: chosen[name] for name in best.change} == best.change


def test_what_was_tried_goes_with_the_version(
    planted: Baskets, parts: Split, learned: Learned, tmp_path: Path
) -> None:
    store = ModelStore(tmp_path)
    publication = Publication(learned, parts, describe_items(planted, None), planted.fingerprint(), Recipe())
    stored = store.open(publish(store, publication))
    assert stored.manifest.knobs == learned.knobs
    assert stored.relevance is not None
    assert learned.relevance is not None
    assert stored.relevance.support is not None
    assert learned.relevance.support is not None
    np.testing.assert_array_equal(stored.relevance.support, learned.relevance.support)
    assert learned.tuning is not None
    tried = json.loads((stored.folder / "tuning.json").read_text())
    assert len(tried["trials"]) == len(learned.tuning.trials)
    assert tried["trials"][0] == learned.tuning.trials[0].as_dict()
    assert stored.manifest.metrics["tuning"] == learned.tuning.as_dict()
    assert stored.manifest.mixture == learned.mixture
    assert stored.baskets is not None
    expected, served = (model.given([1, 2]).probabilities for model in (learned.next_item, stored.next_item))
    np.testing.assert_allclose(served, expected, rtol=1e-4)
    calibration = stored.manifest.calibration
    assert calibration is not None
    assert set(calibration) == {"next_item", "basket_size", "lifts"}
    assert isinstance(calibration["next_item"], dict)
    assert calibration["next_item"]["queries"] == len(parts.test)


def test_without_held_out_baskets_the_report_asks_a_prior_that_has_not_seen_its_questions(
    planted: Baskets, tmp_path: Path
) -> None:
    parts = split(planted, validation=150, seed=1)
    found = learn(parts, FIT, effort="quick")
    store = ModelStore(tmp_path)
    version = publish(
        store,
        Publication(found, parts, describe_items(planted, None), planted.fingerprint(), Recipe()),
    )
    assert store.manifest(version).calibration is None
    models = store.manifest(version).metrics["models"]
    assert isinstance(models, dict)
    figures = models["tripod"]
    assert isinstance(figures, dict)
    assert found.tuning is not None
    hit = figures["hit@10"]
    assert isinstance(hit, float)
    seen = TripodModel(found.next_item)
    asked = hold_one_out(parts.validation, Protocol.PAPER, np.random.default_rng(0))
    flattered = float(rank_metrics(rank_targets(seen, asked))["hit@10"].mean())
    assert hit <= flattered


def test_tuning_takes_more_validation_baskets_but_a_twentieth_at_most() -> None:
    sizes = [
        (n, validation_size(n, tuned=False), validation_size(n, tuned=True)) for n in (5, 2000, 9000, 10**6)
    ]
    assert sizes == [(5, 1, 1), (2000, 200, 200), (9000, 300, 450), (10**6, 300, 2000)]
