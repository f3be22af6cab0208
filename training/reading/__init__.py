"""Reading baskets and item tables from files and URLs."""

from training.reading.basket_reader import BasketData, ReadingRules, read_baskets
from training.reading.shoppers import ShopperRules

__all__ = ["BasketData", "ReadingRules", "ShopperRules", "read_baskets"]
