"""Settings for the property tests."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ndpp", deadline=None, max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ndpp")
