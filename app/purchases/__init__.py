"""Purchases that the shop made elsewhere, cancellations and returns."""
