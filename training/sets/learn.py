"""Learn what bundles need: the coefficients of P(set | cart), and the best bundles of the catalogue."""

from __future__ import annotations

from typing import NamedTuple

from ndpp import RelatedItems
from ndpp.sets import Attraction, SetModel, SetPredictor, TopBundles
from training.pipeline import TrainedModel
from training.sets.probability import START, learn_set_model
from training.splitting import Split
from training.statistics.collect import Statistics
from training.statistics.lifts import count_lifts
from training.statistics.pair_counts import PairCounts


class Sets(NamedTuple):
    """The learned parts of a version, and the predictor with all parts as they are served."""

    model: SetModel
    top: TopBundles
    predictor: SetPredictor


def learn_sets(learned: TrainedModel, parts: Split, statistics: Statistics) -> Sets | None:
    """Fit to the validation baskets with what was learned from the training baskets; None without tuning."""
    if learned.tuning is None or learned.baskets is None:
        return None
    kernel, trained = learned.result.kernel, learned.tuning.trained
    assert trained.baskets is not None
    lifts = count_lifts(PairCounts(parts.train), kernel, statistics.lifts.prior)
    first = SetPredictor(
        SetModel.of(START, START),
        trained,
        RelatedItems(kernel, lifts),
        trained.baskets,
        statistics.basket_sizes,
    )
    model = learn_set_model(first, parts.validation, seed=learned.result.options.seed)
    relations = RelatedItems(kernel, statistics.lifts)
    served = SetPredictor(model, learned.next_item, relations, learned.baskets, statistics.basket_sizes)
    return Sets(model, TopBundles.find(Attraction(relations, learned.baskets)), served)
