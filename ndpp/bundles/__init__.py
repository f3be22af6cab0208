"""MAP inference: the most probable bundle of k items."""

from ndpp.bundles.costs import Method, operations
from ndpp.bundles.exact import map_exact
from ndpp.bundles.greedy import map_greedy
from ndpp.bundles.local_search import map_local_search
from ndpp.bundles.mcmc import map_mcmc, sample_k
from ndpp.bundles.problem import Bundle
from ndpp.bundles.stochastic import map_stochastic_greedy

__all__ = [
    "Bundle",
    "Method",
    "map_exact",
    "map_greedy",
    "map_local_search",
    "map_mcmc",
    "map_stochastic_greedy",
    "operations",
    "sample_k",
]
