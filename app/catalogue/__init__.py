"""The catalogue: the model's items with the shop's changes to price, stock and boost."""
