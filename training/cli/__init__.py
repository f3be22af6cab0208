"""The commands of `python -m training`, one module each."""
