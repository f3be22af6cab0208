"""Settings for the property tests, and `ndpp_reference` importable beside them."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # pytest's importlib mode does not add it

settings.register_profile(
    "ndpp", deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ndpp")
