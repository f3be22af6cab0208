"""Recommendations: what a cart should get next, and insights into a cart."""
