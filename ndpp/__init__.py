"""The mathematics of nonsymmetric determinantal point processes: NumPy only, no I/O."""

from ndpp.batch import ConditionalBatch, condition_many
from ndpp.conditional import Conditional, condition
from ndpp.kernel import Kernel
from ndpp.relations import lift, lifts
from ndpp.relevance import Relevance
from ndpp.tilt import Tilt
from ndpp.topk import Ranking, top_k

__all__ = [
    "Conditional",
    "ConditionalBatch",
    "Kernel",
    "Ranking",
    "Relevance",
    "Tilt",
    "condition",
    "condition_many",
    "lift",
    "lifts",
    "top_k",
]
