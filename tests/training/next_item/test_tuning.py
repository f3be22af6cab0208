import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from model_store import Knobs, ModelStore
from training.baskets import Baskets, merge
from training.evaluation.metrics import rank_metrics
from training.evaluation.queries import Protocol, hold_one_out, random_prefixes
from training.evaluation.ranks import rank_targets
from training.evaluation.tripod import TripodModel
from training.next_item.basket_index import index_baskets
from training.next_item.relevance_prior import learn_relevance_prior
from training.next_item.tuning import tune
from training.options import FitOptions, Tune
from training.pipeline import TrainedModel, train_model, with_prior_and_index
from training.publishing import Publication, publish
from training.reading.item_table import describe_items
from training.recipe import Recipe
from training.splitting import Split, split, validation_size

FIT = FitOptions(rank=6, skew_rank=6, steps=40, batch_size=100, learning_rate=0.03)


@pytest.fixture(scope="module")
def parts(planted: Baskets) -> Split:
    return split(planted, validation=150, holdout=200, seed=1)


@pytest.fixture(scope="module")
def learned(parts: Split) -> TrainedModel:
    return train_model(parts, FIT, effort="quick")


def test_best_trial_is_first_and_chosen(parts: Split, learned: TrainedModel) -> None:
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


def test_chosen_values_are_not_at_edge_of_search(learned: TrainedModel) -> None:
    tuning = learned.tuning
    assert tuning is not None
    for name in ("ridge", "similarity", "floor"):
        tried = {getattr(trial.choice.prior, name) for trial in tuning.trials}
        chosen = getattr(tuning.choice.prior, name)
        assert chosen < max(tried) or chosen * 3 > 100, name
        assert chosen > min(tried) or chosen / 3 < 1e-4, name
    decoupling = {trial.choice.decoupling for trial in tuning.trials}
    chosen = tuning.choice.decoupling
    assert (chosen == 0 or min(decoupling) < chosen) and (chosen == 1 or chosen < max(decoupling))


def test_tuning_loss_is_that_of_model_from_training_baskets(parts: Split, learned: TrainedModel) -> None:
    """On the same prefixes, with prior and index from the training baskets alone."""
    assert learned.tuning is not None
    queries, _ = random_prefixes(parts.validation, 2, np.random.default_rng(FIT.seed))
    model = with_prior_and_index(learned, parts.train).next_item
    logs = [
        np.log(prediction.probabilities[target])
        for prediction, target in zip(model.given_each(queries.carts), queries.targets, strict=True)
    ]
    assert len(queries) == learned.tuning.queries
    assert learned.tuning.negative_log_likelihood == pytest.approx(-np.mean(logs), rel=1e-4)


def test_tuning_weights_queries_by_recency(parts: Split, learned: TrainedModel) -> None:
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


def test_chosen_prior_is_learned_from_validation_baskets_too(parts: Split, learned: TrainedModel) -> None:
    assert learned.tuning is not None
    assert learned.relevance is not None
    both = merge(parts.train, parts.validation)
    wanted = learn_relevance_prior(both, learned.tuning.choice.prior)
    np.testing.assert_array_equal(learned.relevance.weights, wanted.weights)
    assert learned.baskets is not None
    np.testing.assert_array_equal(learned.baskets.items, index_baskets(both).items)


def test_without_tuning_the_plain_kernel_is_served(parts: Split) -> None:
    plain = train_model(parts, FIT, effort="none")
    assert plain.knobs == Knobs()
    assert plain.mixture is None
    assert plain.baskets is None
    assert plain.relevance is None
    assert plain.tuning is None


def test_stopped_fit_is_not_tuned(parts: Split) -> None:
    stopped = train_model(parts, FIT, effort="quick", should_stop=lambda: True)
    assert stopped.result.interrupted
    assert stopped.tuning is None


@pytest.mark.parametrize("effort", ["quick", "thorough"])
def test_stopped_tuning_keeps_best_trial(parts: Split, learned: TrainedModel, effort: Tune) -> None:
    tried: list[int] = []
    found = train_model(
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


def test_stopped_thorough_search_keeps_better_tuning(parts: Split) -> None:
    """The stop comes while the best kernel is tuned on more queries."""
    phases: list[str] = []
    found = train_model(
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


def test_tuning_with_validation_baskets_of_one_item(parts: Split) -> None:
    single = replace(parts.validation, items=parts.validation.items[:5], offsets=np.arange(6), keys=None)
    found = train_model(parts._replace(validation=single), FIT, effort="quick")
    assert found.tuning is not None
    assert found.tuning.queries == 5
    assert np.isfinite(found.next_item.given([0, 1]).probabilities).all()


def test_thorough_search_tries_other_fits_and_keeps_best(parts: Split) -> None:
    phases: list[str] = []
    found = train_model(parts, replace(FIT, steps=10), effort="thorough", announce=phases.append)
    assert phases == [*["fitting", "tuning"] * len(found.kernels), "tuning"]
    changed = [name for kernel in found.kernels for name in kernel.change]
    assert {"learning_rate", "rank", "skew_rank", "alpha", "beta", "kernel"} == set(changed)
    assert found.tuning is not None
    best = min(found.kernels, key=lambda kernel: kernel.negative_log_likelihood)
    chosen = asdict(found.result.options)
    assert {name: chosen[name] for name in best.change} == best.change


def test_trials_are_stored_with_version(
    planted: Baskets, parts: Split, learned: TrainedModel, tmp_path: Path
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
    assert set(calibration) == {"next_item", "basket_size", "lifts", "bundles"}
    assert isinstance(calibration["next_item"], dict)
    assert calibration["next_item"]["queries"] == len(parts.test)


def test_report_without_held_out_baskets_uses_prior_from_training_baskets(
    planted: Baskets, tmp_path: Path
) -> None:
    parts = split(planted, validation=150, seed=1)
    found = train_model(parts, FIT, effort="quick")
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


def test_tuning_uses_more_validation_baskets_up_to_a_twentieth() -> None:
    sizes = [
        (n, validation_size(n, tuned=False), validation_size(n, tuned=True)) for n in (5, 2000, 9000, 10**6)
    ]
    assert sizes == [(5, 1, 1), (2000, 200, 200), (9000, 300, 450), (10**6, 300, 2000)]
