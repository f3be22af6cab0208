"""Versioned, checksummed, atomic model artifacts."""
