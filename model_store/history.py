"""The latest activations: the lines of the file `HISTORY`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from model_store.manifest import is_version

_LENGTH = 20
_BY_GATE = "gate"


@dataclass(frozen=True)
class Activated:
    """A version activated by the gate of a training job (line `VERSION gate`) or by a person (`VERSION`)."""

    version: str
    by_gate: bool = False

    @classmethod
    def of(cls, line: str) -> Activated:
        """Parse a line of the file."""
        version, _, mark = line.partition(" ")
        return cls(version, mark == _BY_GATE)

    def __str__(self) -> str:
        return f"{self.version} {_BY_GATE}" if self.by_gate else self.version


def parse_history(text: str) -> list[Activated]:
    """Parse the file; lines without a version are skipped."""
    entries = map(Activated.of, text.splitlines())
    return newest_of_each(entry for entry in entries if is_version(entry.version))


def write_history(entries: Iterable[Activated]) -> str:
    """The text of the file."""
    return "".join(f"{entry}\n" for entry in entries)


def newest_of_each(entries: Iterable[Activated]) -> list[Activated]:
    """The newest entry of each version, newest first, up to the length of the history."""
    newest: dict[str, Activated] = {}
    for entry in entries:
        newest.setdefault(entry.version, entry)
    return list(newest.values())[:_LENGTH]
