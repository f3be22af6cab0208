"""Training jobs: requested over HTTP or by schedule, recorded in Redis, run by the worker."""
