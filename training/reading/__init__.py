"""Reading baskets and item tables from files and URLs."""

from training.reading.basket_reader import BasketData, ReadingRules, read_baskets

__all__ = ["BasketData", "ReadingRules", "read_baskets"]
