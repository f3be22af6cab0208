"""How a program uses the client: mypy checks it as strictly as the client itself, and a test runs it."""

from __future__ import annotations

from typing import assert_type

from tripod_client import AsyncTripod, Tripod
from tripod_client.answers import CartAnswer, Job, Recommendations


def fill_a_cart(tripod: Tripod, cart_id: str) -> CartAnswer:
    cart = tripod.add_items(cart_id, "camera-0", {"item_id": "film-0"}, {"item_id": "film-1", "quantity": 2})
    assert_type(cart, CartAnswer)
    assert_type(tripod.recommend(cart_id, k=3, exclude=["film-2"], discovery=0.5), Recommendations)
    assert_type(tripod.recommend(cart_id, knobs={"decoupling": 0.5}, scoring="mixture"), Recommendations)
    return tripod.set_quantity(cart_id, "film-0", 3, if_match=cart["etag"])


def states(tripod: Tripod, job_id: str) -> list[str]:
    seen: list[str] = []
    for job in tripod.follow_job(job_id):
        assert_type(job, Job)
        seen.append(job["state"])
    return seen


async def awaited_states(tripod: AsyncTripod, job_id: str) -> list[str]:
    assert_type(await tripod.get_job(job_id), Job)
    return [job["state"] async for job in tripod.follow_job(job_id)]
