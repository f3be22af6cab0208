"""Bundles: sets of items that belong together."""
