"""Reproduce the tables and figures of the paper: its data sets, settings and printed figures."""
