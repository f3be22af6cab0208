"""The model in use: loaded once, swapped while requests run."""
