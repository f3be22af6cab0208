"""How good is a model, and against what: metrics, protocols and the report."""
