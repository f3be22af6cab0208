"""Invalid arguments, and answers from servers that are not Tripod."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import pytest
from tripod_client import AsyncTripod, ProblemError, Tripod, TripodError, UnreadableAnswer

from tests.app.other_server import server_of
from tests.client.client_usage import awaited_states, fill_a_cart, shop_history, states

DEEP = b"[" * 99_999


def test_typed_example_program(served: str, admin_key: str) -> None:
    with Tripod(served, admin_key=admin_key) as tripod:
        assert [line["quantity"] for line in fill_a_cart(tripod, "typed")["items"]] == [1, 3, 2]
        assert shop_history(tripod, "typed")["purchases"] == 2
        job = tripod.start_job(data="baskets.txt")["job_id"]
        tripod.cancel_job(job)
        assert states(tripod, job)[-1] == "cancelled"

    async def follow() -> list[str]:
        async with AsyncTripod(served, admin_key=admin_key) as tripod:
            return await awaited_states(tripod, job)

    assert asyncio.run(follow())[-1] == "cancelled"


@pytest.mark.parametrize("client", [Tripod, AsyncTripod])
@pytest.mark.parametrize("key", ["my-secret\nkey", "my-secret-ü", "my-secret\x00"])
def test_invalid_admin_key_is_refused_without_showing_it(client: type, key: str) -> None:
    with pytest.raises(ValueError, match="admin_key cannot be sent") as caught:
        client("http://127.0.0.1:1", admin_key=key)
    assert "my-secret" not in str(caught.value)


def test_trailing_line_break_of_the_admin_key_is_stripped(served: str, admin_key: str) -> None:
    with Tripod(served, admin_key=f"{admin_key}\n") as tripod:
        assert tripod.list_jobs()["jobs"] is not None


@pytest.mark.parametrize("text", ["two\nlines", "ü", "nul\x00"])
def test_invalid_header_values_raise_value_error(served: str, text: str) -> None:
    with Tripod(served) as tripod:
        with pytest.raises(ValueError, match="idempotency_key cannot be sent"):
            tripod.create_cart(idempotency_key=text)
        with pytest.raises(ValueError, match="if_match cannot be sent"):
            tripod.delete_cart("any", if_match=text)


def test_too_long_url_raises_value_error(served: str) -> None:
    with Tripod(served) as tripod, pytest.raises(ValueError, match="cannot be sent"):
        tripod.get_item("x" * 70_000)


def test_string_instead_of_a_list_raises_type_error(served: str) -> None:
    calls: list[Callable[[Tripod], object]] = [
        lambda tripod: tripod.recommend(items="catsup"),
        lambda tripod: tripod.recommend(exclude="catsup"),
        lambda tripod: tripod.recommend(category="Photo"),
        lambda tripod: tripod.find_bundles(items="catsup"),
        lambda tripod: tripod.insights(items="catsup"),
        lambda tripod: tripod.substitutes(items="catsup"),
        lambda tripod: tripod.cart_substitutes("typed", replace="catsup"),
        lambda tripod: tripod.find_bundles(exclude="catsup"),
        lambda tripod: tripod.recommend_batch([{"items": "catsup"}]),
        lambda tripod: tripod.recommend_batch([["catsup"]], exclude="catsup"),
    ]
    with Tripod(served) as tripod:
        for call in calls:
            with pytest.raises(TypeError, match="must be a list of strings"):
                call(tripod)


def test_list_instead_of_a_cart_id_raises_type_error() -> None:
    calls: list[Callable[[Tripod, Any], object]] = [
        lambda tripod, items: tripod.recommend(items),
        lambda tripod, items: tripod.find_bundles(items),
        lambda tripod, items: tripod.insights(items),
        lambda tripod, items: tripod.substitutes(items),
        lambda tripod, items: tripod.insights(items, items=["relish"]),
    ]
    with Tripod(
        "http://127.0.0.1:1"
    ) as tripod:  # nothing listens there: a request would raise ConnectionFailed
        for call in calls:
            with pytest.raises(TypeError, match="cart_id must be a string"):
                call(tripod, ["catsup", "mustard"])


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"<p>welcome</p>", b'{"a": "\xff"}', DEEP])
def test_answer_without_a_json_object_is_unreadable(content: bytes) -> None:
    with server_of(content) as url:
        message = "not a JSON object: is this the address of Tripod"
        with Tripod(url) as tripod, pytest.raises(UnreadableAnswer, match=message) as caught:
            tripod.get_cart("x")
        assert caught.value.status == 200

        async def ask() -> None:
            async with AsyncTripod(url) as tripod:
                await tripod.get_cart("x")

        with pytest.raises(UnreadableAnswer):
            asyncio.run(ask())


def test_content_in_answer_to_a_deletion_is_unreadable() -> None:
    answer = pytest.raises(UnreadableAnswer, match="should be empty")
    with server_of(b"<p>welcome</p>") as url, Tripod(url) as tripod, answer:
        tripod.delete_cart("x")


def test_answer_with_broken_gzip_is_unreadable() -> None:
    with server_of(b"this is not gzip", Content_Encoding="gzip") as url, Tripod(url) as tripod:
        with pytest.raises(UnreadableAnswer, match="cannot be decoded"):
            tripod.get_cart("x")
        with pytest.raises(UnreadableAnswer):
            list(tripod.follow_job("x"))
    with server_of(gzip.compress(b"{}"), Content_Encoding="gzip") as url, Tripod(url) as tripod:
        assert tripod.get_cart("x") == {}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"data: {broken\n\n", "text/event-stream"),
        (b"data: [1]\n\n", "text/event-stream; charset=utf-8"),
        (b"data: " + DEEP + b"\n\n", "text/event-stream"),
        (b"<p>welcome</p>", "text/html"),
    ],
)
def test_stream_without_job_events_is_unreadable(content: bytes, kind: str) -> None:
    with server_of(content, Content_Type=kind) as url:
        with Tripod(url) as tripod, pytest.raises(UnreadableAnswer, match="event"):
            list(tripod.follow_job("x"))

        async def follow() -> None:
            async with AsyncTripod(url) as tripod:
                async for _ in tripod.follow_job("x"):
                    pass

        with pytest.raises(UnreadableAnswer, match="event"):
            asyncio.run(follow())


@pytest.mark.parametrize("content", [b"", b"[]", b"<p>busy</p>", b"\xff\xfe\xff", DEEP, b'{"title": 5}'])
def test_any_error_status_raises_problem_error(content: bytes) -> None:
    with server_of(content, status=502) as url, Tripod(url) as tripod:
        for call in (lambda: tripod.get_cart("x"), lambda: list(tripod.follow_job("x")), tripod.metrics):
            with pytest.raises(ProblemError) as caught:
                call()
            assert caught.value.status == 502
            assert isinstance(caught.value, TripodError)
