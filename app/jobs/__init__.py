"""Training jobs: ordered here, done by the worker, recorded in Redis."""
