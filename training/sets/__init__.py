"""Learn P(set | cart) and the bundles of the whole catalogue."""
