"""A client of the Tripod service, with the names of its API.

from tripod_client import Tripod

with Tripod("http://127.0.0.1:8000") as tripod:
    tripod.add_items("cart-1", "hot-dog-buns")
    for item in tripod.recommend(cart_id="cart-1", k=3)["items"]:
        print(item["name"], item["probability"])

`AsyncTripod` has the same methods, to be awaited. Answers are the service's JSON, typed. Whatever goes
wrong with a request is raised as a `TripodError`: as a `ProblemError` what the service answers, as
`ConnectionFailed` that nothing came, as `UnreadableAnswer` that another server answered. Wrong arguments are
a `TypeError` or a `ValueError`.
"""

from tripod_client.client import AsyncTripod, Tripod
from tripod_client.errors import ConnectionFailed, ProblemError, TripodError, UnreadableAnswer

__all__ = ["AsyncTripod", "ConnectionFailed", "ProblemError", "Tripod", "TripodError", "UnreadableAnswer"]
