from __future__ import annotations

import asyncio
import os
import signal

import pytest
import redis
from app_process import Valkey
from redis.exceptions import ResponseError

from app.errors import RedisAway
from app.redis_link import RedisLink


def test_every_question_gets_its_own_answer(valkey: Valkey) -> None:
    client = redis.Redis.from_url(valkey.url)
    client.mset({f"key-{number}": f"value-{number}" * number for number in range(300)})

    async def ask() -> list[bytes]:
        link = RedisLink(valkey.url)
        answers = await asyncio.gather(*(link.read("GET", f"key-{number}") for number in range(300)))
        await link.close()
        return answers

    assert asyncio.run(ask()) == [f"value-{number}".encode() * number for number in range(300)]


def test_a_refused_command_fails_alone(valkey: Valkey) -> None:
    client = redis.Redis.from_url(valkey.url)
    client.set("text", "hello")

    async def ask() -> list[object]:
        link = RedisLink(valkey.url)
        questions = [("GET", "text"), ("LLEN", "text"), ("GET", "text")]
        answers = await asyncio.gather(*(link.read(*words) for words in questions), return_exceptions=True)
        await link.close()
        return answers

    before, refused, after = asyncio.run(ask())
    assert (before, after) == (b"hello", b"hello")
    assert isinstance(refused, ResponseError)


def test_after_a_stall_no_answer_goes_to_another_question(valkey: Valkey) -> None:
    client = redis.Redis.from_url(valkey.url)
    client.mset({"one": 1, "two": 2})
    pid = int(client.info("server")["process_id"])

    async def ask() -> bytes:
        link = RedisLink(valkey.url)
        assert await link.read("GET", "one") == b"1"
        os.kill(pid, signal.SIGSTOP)
        try:
            for outcome in await asyncio.gather(
                *(link.read("GET", "one") for _ in range(5)), return_exceptions=True
            ):
                assert isinstance(outcome, RedisAway)
        finally:
            os.kill(pid, signal.SIGCONT)
        answer: bytes = await link.read("GET", "two")
        await link.close()
        return answer

    assert asyncio.run(ask()) == b"2"


def test_a_server_that_went_away_and_came_back(valkey: Valkey) -> None:
    async def ask() -> None:
        link = RedisLink(valkey.url)
        await link.read("GET", "x")
        await asyncio.to_thread(valkey.kill)
        with pytest.raises(RedisAway):
            await link.read("GET", "x")
        await asyncio.to_thread(valkey.start)
        assert await link.read("GET", "x") is None
        await link.close()

    asyncio.run(ask())
