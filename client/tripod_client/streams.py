"""Answers that arrive line by line: the events of a job, and exported items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from tripod_client.errors import UnreadableAnswer, json_object


@dataclass(frozen=True)
class Stream:
    """A kind of stream: each line that begins with the prefix has a JSON object."""

    media_type: str
    prefix: bytes
    is_called: str
    parts_are_called: str

    def check(self, response: httpx.Response) -> None:
        """Raise UnreadableAnswer unless the answer is such a stream."""
        if response.headers.get("content-type", "").partition(";")[0] != self.media_type:
            raise unreadable(response, f"it is not {self.is_called}")

    def objects(self, response: httpx.Response, lines: Iterator[bytes]) -> Iterator[Any]:
        """The objects in some lines of the answer."""
        for line in lines:
            if not line.strip() or not line.startswith(self.prefix):
                continue
            value = json_object(line.removeprefix(self.prefix))
            if value is None:
                raise unreadable(response, f"one of its {self.parts_are_called} is not a JSON object")
            yield value


EVENTS = Stream("text/event-stream", b"data:", "an event stream", "events")
LINES = Stream("application/x-ndjson", b"", "a list of items", "lines")


@dataclass
class Lines:
    """Splits bytes at line feeds only: names of items may contain other signs that end a line of text."""

    _begun: list[bytes] = field(default_factory=list)

    def of(self, part: bytes) -> Iterator[bytes]:
        """The lines that end in the next part."""
        *ended, rest = part.split(b"\n")
        for line in ended:
            yield b"".join([*self._begun, line])
            self._begun.clear()
        self._begun.append(rest)

    def last(self) -> Iterator[bytes]:
        """The line after the last line feed."""
        yield b"".join(self._begun)


def unreadable(response: httpx.Response, why: str) -> UnreadableAnswer:
    """The error about an answer that is not one of Tripod's."""
    return UnreadableAnswer(response.request, response.status_code, why)
