"""Recommendations: what a cart should get next, and what can be said about a cart."""
