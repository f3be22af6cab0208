"""Substitutes for items of a cart."""
