"""What was activated lately, and who decided it: the lines of `HISTORY`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from model_store.manifest import is_version

_REMEMBERED = 20  # activations
_BY_GATE = "gate"


@dataclass(frozen=True)
class Activated:
    """A version that was activated, by the gate of a training job or by a person.

    Its line in the file is `VERSION gate`, or `VERSION` for a person's choice.
    """

    version: str
    by_gate: bool = False

    @classmethod
    def of(cls, line: str) -> Activated:
        """From its line."""
        version, _, mark = line.partition(" ")
        return cls(version, mark == _BY_GATE)

    def __str__(self) -> str:
        return f"{self.version} {_BY_GATE}" if self.by_gate else self.version


def parse_history(text: str) -> list[Activated]:
    """The entries of the file; what names no version is passed over."""
    entries = map(Activated.of, text.splitlines())
    return newest_of_each(entry for entry in entries if is_version(entry.version))


def write_history(entries: Iterable[Activated]) -> str:
    """The entries as the file's text."""
    return "".join(f"{entry}\n" for entry in entries)


def newest_of_each(entries: Iterable[Activated]) -> list[Activated]:
    """Of the entries, newest first, the newest of each version, as many as are remembered."""
    newest: dict[str, Activated] = {}
    for entry in entries:
        newest.setdefault(entry.version, entry)
    return list(newest.values())[:_REMEMBERED]
