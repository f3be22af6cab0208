"""Statistics stored with a model: lifts of pairs, basket sizes, coherence of baskets."""
