"""The mathematics of nonsymmetric determinantal point processes: NumPy only, no I/O."""

from ndpp.basket_index import BasketIndex
from ndpp.batch import ConditionalBatch, condition_many
from ndpp.bundles import (
    Bundle,
    map_exact,
    map_greedy,
    map_local_search,
    map_mcmc,
    map_stochastic_greedy,
    sample_k,
)
from ndpp.conditional import Conditional, condition
from ndpp.guarantee import Guarantee, greedy_guarantee
from ndpp.kernel import Kernel
from ndpp.lifts import Lifts, Relations
from ndpp.mixture import Mixture
from ndpp.next_item import NextItem, Prediction
from ndpp.pairs import PairTable
from ndpp.relevance import Relevance
from ndpp.sampling import sample
from ndpp.scan import Ranking
from ndpp.tilt import Tilt
from ndpp.topk import top_k

__all__ = [
    "BasketIndex",
    "Bundle",
    "Conditional",
    "ConditionalBatch",
    "Guarantee",
    "Kernel",
    "Lifts",
    "Mixture",
    "NextItem",
    "PairTable",
    "Prediction",
    "Ranking",
    "Relations",
    "Relevance",
    "Tilt",
    "condition",
    "condition_many",
    "greedy_guarantee",
    "map_exact",
    "map_greedy",
    "map_local_search",
    "map_mcmc",
    "map_stochastic_greedy",
    "sample",
    "sample_k",
    "top_k",
]
