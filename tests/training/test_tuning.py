import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from model_store import Knobs, ModelStore
from training.baskets import Baskets, merge
from training.evaluation.metrics import rank_metrics
from training.evaluation.queries import Queries
from training.evaluation.ranks import rank_targets
from training.evaluation.tripod import TripodModel
from training.item_table import describe_items
from training.learning import Learned, learn
from training.neighbours import NeighbourOptions, learn_neighbours
from training.options import FitOptions
from training.publishing import Publication, publish
from training.recipe import Recipe
from training.splitting import Split, split, validation_size
from training.tuning import Exam, Tune, tune

FIT = FitOptions(rank=6, skew_rank=6, steps=40, batch_size=100, learning_rate=0.03)


@pytest.fixture(scope="module")
def parts(planted: Baskets) -> Split:
    return split(planted, validation=150, holdout=200, seed=1)


@pytest.fixture(scope="module")
def learned(parts: Split) -> Learned:
    return learn(parts, FIT, effort="quick")


def test_a_trial_has_the_figures_that_the_model_gets_when_it_is_evaluated(
    parts: Split, learned: Learned
) -> None:
    kernel = learned.result.kernel
    exam = Exam(kernel, parts.validation, seed=3)
    options = NeighbourOptions()
    relevance = learn_neighbours(parts.train, options)
    queries = Queries(exam.carts, exam.targets, np.array([len(cart) for cart in exam.carts]))
    for knobs in (Knobs(), Knobs(0.9, 2.0, 0.2), Knobs(1.0, 8.0, -0.4), Knobs(0.5, 0.0, 0.1)):
        trial = exam.trial(knobs, options, exam.log_evidence(relevance))
        model = TripodModel.of(kernel, relevance, knobs)
        marks = rank_metrics(rank_targets(model, queries))
        for figure, name in ((trial.hit10, "hit@10"), (trial.ndcg10, "ndcg@10"), (trial.mpr, "mpr")):
            assert figure == pytest.approx(np.average(marks[name], weights=exam.weights), abs=0.05), knobs


def test_every_basket_counts_the_same_and_gives_every_item_in_turn(parts: Split, learned: Learned) -> None:
    exam = Exam(learned.result.kernel, parts.validation, seed=0)
    several = [basket for basket in parts.validation if len(basket) > 1]
    assert exam.weights.sum() == pytest.approx(len(several))
    asked = sorted(
        tuple(sorted([*cart, target])) for cart, target in zip(exam.carts, exam.targets, strict=True)
    )
    wanted = sorted(tuple(basket.tolist()) for basket in several for _ in basket)
    assert asked == wanted
    assert all(target not in cart for cart, target in zip(exam.carts, exam.targets, strict=True))


def test_with_a_half_life_recent_baskets_decide(parts: Split, learned: Learned) -> None:
    days = np.arange(len(parts.validation)) * np.timedelta64(1, "D")
    dated = replace(parts.validation, timestamps=np.datetime64("2026-01-01", "us") + days)
    kernel = learned.result.kernel
    exam = Exam(kernel, dated, seed=0, half_life_days=0.2)
    several = np.flatnonzero(dated.sizes > 1)
    newest = Exam(kernel, dated.select(several[-1:]), seed=0)
    assert exam.weights.sum() == pytest.approx(1, abs=0.1)
    trial, alone = exam.trial(Knobs()), newest.trial(Knobs())
    assert (trial.hit10, trial.ndcg10, trial.mpr) == pytest.approx(
        (alone.hit10, alone.ndcg10, alone.mpr), abs=5
    )


def test_the_best_trial_is_chosen_and_beats_the_plain_kernel(parts: Split, learned: Learned) -> None:
    tuning = learned.tuning
    assert tuning is not None
    merits = [trial.merit for trial in tuning.trials]
    assert merits == sorted(merits, reverse=True)
    plain = next(trial for trial in tuning.trials if trial.knobs == Knobs())
    assert tuning.best.merit > plain.merit + 1
    assert tuning.best.knobs == learned.knobs
    assert tuning.best.neighbours is not None
    again = tune(learned.result.kernel, parts.train, parts.validation, effort="quick")
    assert again is not None
    assert again.trials == tuning.trials


def test_the_prior_is_learned_from_the_validation_baskets_too_once_it_is_chosen(
    parts: Split, learned: Learned
) -> None:
    assert learned.tuning is not None
    assert learned.tuning.best.neighbours is not None
    assert learned.relevance is not None
    wanted = learn_neighbours(merge(parts.train, parts.validation), learned.tuning.best.neighbours)
    np.testing.assert_array_equal(learned.relevance.weights, wanted.weights)


def test_without_tuning_there_is_the_plain_kernel(parts: Split) -> None:
    plain = learn(parts, FIT, effort="none")
    assert plain.knobs == Knobs()
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
    assert tried == [0, 1, 2]
    assert found.interrupted
    assert not found.result.interrupted
    assert found.tuning is not None
    assert found.tuning.interrupted
    assert found.knobs == found.tuning.best.knobs
    assert found.relevance is not None
    assert learned.tuning is not None
    assert not learned.interrupted
    assert set(found.tuning.trials) < set(learned.tuning.trials)


def test_a_search_that_was_stopped_keeps_the_better_of_what_it_has_found(parts: Split) -> None:
    """The stop comes while the best kernel is tuned on the finer grid."""
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
    assert found.tuning.best.merit >= max(kernel.best.merit for kernel in found.kernels)


def test_validation_baskets_of_one_item_cannot_tune(parts: Split) -> None:
    single = replace(parts.validation, items=parts.validation.items[:5], offsets=np.arange(6))
    found = learn(parts._replace(validation=single), FIT, effort="quick")
    assert found.tuning is None
    assert found.knobs == Knobs()


def test_a_thorough_search_tries_other_fits_and_keeps_the_best(parts: Split) -> None:
    phases: list[str] = []
    found = learn(parts, replace(FIT, steps=10), effort="thorough", announce=phases.append)
    assert phases == [*["fitting", "tuning"] * len(found.kernels), "tuning"]
    changed = [name for kernel in found.kernels for name in kernel.change]
    assert {"learning_rate", "rank", "skew_rank", "alpha", "beta", "kernel"} == set(changed)
    assert found.tuning is not None
    best = max(found.kernels, key=lambda kernel: kernel.best.merit)
    assert found.tuning.best.merit >= best.best.merit
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
    assert tried["trials"][0] == learned.tuning.best.as_dict()
    noted = stored.manifest.metrics["tuning"]
    assert noted == {"queries": learned.tuning.queries, **learned.tuning.best.as_dict()}


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
    models = store.manifest(version).metrics["models"]
    assert isinstance(models, dict)
    figures = models["tripod"]
    assert isinstance(figures, dict)
    assert found.tuning is not None
    hit = figures["hit@10"]
    assert isinstance(hit, float)
    assert hit == pytest.approx(found.tuning.best.hit10, abs=8)  # the same baskets, other items of them


def test_tuning_takes_more_validation_baskets_but_a_twentieth_at_most() -> None:
    sizes = [
        (n, validation_size(n, tuned=False), validation_size(n, tuned=True)) for n in (5, 2000, 9000, 10**6)
    ]
    assert sizes == [(5, 1, 1), (2000, 200, 200), (9000, 300, 450), (10**6, 300, 2000)]
