"""The catalogue: the model's items with what the shop says about them."""
