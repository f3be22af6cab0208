"""MAP inference: the most probable bundle of k items."""

from ndpp.bundles.chain import map_mcmc, sample_k
from ndpp.bundles.greedy import map_greedy
from ndpp.bundles.local_search import map_local_search
from ndpp.bundles.problem import Bundle
from ndpp.bundles.stochastic import map_stochastic_greedy

__all__ = [
    "Bundle",
    "map_greedy",
    "map_local_search",
    "map_mcmc",
    "map_stochastic_greedy",
    "sample_k",
]
