"""Commands around the project: run it, smoke-test it, test the README."""
