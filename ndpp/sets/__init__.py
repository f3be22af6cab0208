"""Sets that people buy whole: P(set | cart) by empirical Bayes, and the search for the best sets."""

from ndpp.limits import Limit
from ndpp.sets.attraction import Attraction, CountedSet, disjoint
from ndpp.sets.coefficients import SetModel
from ndpp.sets.constraints import Constraints
from ndpp.sets.prediction import SetPrediction
from ndpp.sets.probability import SetPredictor
from ndpp.sets.search import best_set
from ndpp.sets.top_bundles import TopBundles

__all__ = [
    "Attraction",
    "Constraints",
    "CountedSet",
    "Limit",
    "SetModel",
    "SetPrediction",
    "SetPredictor",
    "TopBundles",
    "best_set",
    "disjoint",
]
