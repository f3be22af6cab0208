"""The mathematics of nonsymmetric determinantal point processes: NumPy only, no I/O."""

from ndpp.basket_index import BasketIndex
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
from ndpp.decomposition import decompose
from ndpp.dense_kernel import DenseKernel
from ndpp.history import History
from ndpp.kernel import Kernel
from ndpp.lifts import Lifts, RelatedItems
from ndpp.mixture import Mixture
from ndpp.next_item import NextItem, Prediction
from ndpp.ranking import Order, Ranked, best_items
from ndpp.relevance import Relevance
from ndpp.tilt import Tilt

__all__ = [
    "BasketIndex",
    "Bundle",
    "Conditional",
    "DenseKernel",
    "History",
    "Kernel",
    "Lifts",
    "Mixture",
    "NextItem",
    "Order",
    "Prediction",
    "Ranked",
    "RelatedItems",
    "Relevance",
    "Tilt",
    "best_items",
    "condition",
    "decompose",
    "map_exact",
    "map_greedy",
    "map_local_search",
    "map_mcmc",
    "map_stochastic_greedy",
    "sample_k",
]
