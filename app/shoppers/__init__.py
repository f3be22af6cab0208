"""Shoppers: what a person bought before, kept under a hash of the shop's own id."""
