from __future__ import annotations

import asyncio
import os
import signal

import pytest
import redis
from redis.exceptions import ResponseError

from app.http.errors import RedisUnavailable
from app.redis.client import RedisLink
from tests.app.app_process import Valkey


def test_concurrent_reads_get_their_own_responses(valkey: Valkey) -> None:
    client = redis.Redis.from_url(valkey.url)
    client.mset({f"key-{number}": f"value-{number}" * number for number in range(300)})

    async def read() -> list[bytes]:
        link = RedisLink(valkey.url)
        answers = await asyncio.gather(*(link.read("GET", f"key-{number}") for number in range(300)))
        await link.close()
        return answers

    assert asyncio.run(read()) == [f"value-{number}".encode() * number for number in range(300)]


def test_failed_command_does_not_affect_its_neighbours(valkey: Valkey) -> None:
    client = redis.Redis.from_url(valkey.url)
    client.set("text", "hello")

    async def read() -> list[object]:
        link = RedisLink(valkey.url)
        commands = [("GET", "text"), ("LLEN", "text"), ("GET", "text")]
        answers = await asyncio.gather(*(link.read(*command) for command in commands), return_exceptions=True)
        await link.close()
        return answers

    before, refused, after = asyncio.run(read())
    assert (before, after) == (b"hello", b"hello")
    assert isinstance(refused, ResponseError)


def test_late_response_does_not_go_to_another_read(valkey: Valkey) -> None:
    client = redis.Redis.from_url(valkey.url)
    client.mset({"one": 1, "two": 2})
    pid = int(client.info("server")["process_id"])

    async def read() -> bytes:
        link = RedisLink(valkey.url)
        assert await link.read("GET", "one") == b"1"
        os.kill(pid, signal.SIGSTOP)
        try:
            for outcome in await asyncio.gather(
                *(link.read("GET", "one") for _ in range(5)), return_exceptions=True
            ):
                assert isinstance(outcome, RedisUnavailable)
        finally:
            os.kill(pid, signal.SIGCONT)
        answer: bytes = await link.read("GET", "two")
        await link.close()
        return answer

    assert asyncio.run(read()) == b"2"


def test_reads_recover_after_a_redis_restart(valkey: Valkey) -> None:
    async def read() -> None:
        link = RedisLink(valkey.url)
        await link.read("GET", "x")
        await asyncio.to_thread(valkey.kill)
        with pytest.raises(RedisUnavailable):
            await link.read("GET", "x")
        await asyncio.to_thread(valkey.start)
        assert await link.read("GET", "x") is None
        await link.close()

    asyncio.run(read())
