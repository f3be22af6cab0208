"""The FastAPI service: carts, recommendations, bundles."""
