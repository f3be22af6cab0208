"""The mathematics of nonsymmetric determinantal point processes: NumPy only, no I/O."""

from ndpp.basket_index import BasketIndex
from ndpp.bundles import (
    Bundle,
    map_greedy,
    map_local_search,
    map_mcmc,
    map_stochastic_greedy,
    sample_k,
)
from ndpp.conditional import Conditional, condition
from ndpp.kernel import Kernel
from ndpp.lifts import Lifts, Relations
from ndpp.mixture import Mixture
from ndpp.next_item import NextItem, Prediction
from ndpp.pairs import PairTable
from ndpp.relevance import Relevance
from ndpp.tilt import Tilt

__all__ = [
    "BasketIndex",
    "Bundle",
    "Conditional",
    "Kernel",
    "Lifts",
    "Mixture",
    "NextItem",
    "PairTable",
    "Prediction",
    "Relations",
    "Relevance",
    "Tilt",
    "condition",
    "map_greedy",
    "map_local_search",
    "map_mcmc",
    "map_stochastic_greedy",
    "sample_k",
]
