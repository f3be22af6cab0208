"""The offline job: read baskets, fit a kernel, evaluate it, publish it."""
