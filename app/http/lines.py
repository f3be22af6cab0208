"""Lines of a long body, in small batches, so that other requests are answered in between."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass

LINES_AT_ONCE = 100  # a millisecond or two of work
_BYTES_AT_ONCE = 65_536


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line that is not blank."""

    number: int  # from 1
    text: bytes | None  # None: it is too long


async def batches_of_lines(
    chunks: AsyncIterable[bytes], max_line_bytes: int
) -> AsyncIterator[list[NumberedLine]]:
    """Split a body into batches of lines. A line that is too long is not kept in memory."""
    batch, size = list[NumberedLine](), 0
    async for line in _lines(chunks, max_line_bytes):
        batch.append(line)
        size += len(line.text or b"")
        if len(batch) == LINES_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def _without_mark(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The body without a byte order mark, which some editors write before the first line."""
    start: bytes | None = b""
    async for chunk in chunks:
        if start is None:
            yield chunk
        elif len(start := start + chunk) >= len(BOM_UTF8):
            yield start.removeprefix(BOM_UTF8)
            start = None
    if start:
        yield start


async def _lines(chunks: AsyncIterable[bytes], max_line_bytes: int) -> AsyncIterator[NumberedLine]:
    number, begun, too_long = 1, bytearray(), False
    async for chunk in _without_mark(chunks):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            begun += end
            if too_long or len(begun) > max_line_bytes:
                yield NumberedLine(number, None)
            elif begun.strip():
                yield NumberedLine(number, bytes(begun))
            number, too_long = number + 1, False
            begun.clear()
        begun += rest
        if len(begun) > max_line_bytes:
            too_long = True
            begun.clear()
    if too_long or begun.strip():
        yield NumberedLine(number, None if too_long else bytes(begun))
