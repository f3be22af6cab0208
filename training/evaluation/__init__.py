"""Evaluation: queries, metrics, calibration, and the report."""
