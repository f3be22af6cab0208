"""Python client for the Tripod service. Methods and members have the same names as in the HTTP API.

from tripod_client import Tripod

with Tripod("http://127.0.0.1:8000") as tripod:
    tripod.add_items("cart-1", "hot-dog-buns")
    for item in tripod.recommend(cart_id="cart-1", k=3)["items"]:
        print(item["name"], item["probability"])

`AsyncTripod` has the same methods as coroutines. Methods return the service's JSON as typed dictionaries.
A failed request raises a `TripodError`: `ProblemError` if the service answered with an error,
`ConnectionFailed` if no answer came, `UnreadableAnswer` if the answer is not from Tripod. Invalid arguments
raise `TypeError` or `ValueError` before anything is sent.
"""

from tripod_client.client import AsyncTripod, Tripod
from tripod_client.errors import ConnectionFailed, ProblemError, TripodError, UnreadableAnswer

__all__ = ["AsyncTripod", "ConnectionFailed", "ProblemError", "Tripod", "TripodError", "UnreadableAnswer"]
