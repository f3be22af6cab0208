"""`python -m scripts.readme README.md`: run the commands of a document and compare their output.

- Fenced blocks marked `bash` are run in order in a sandbox folder, with a service that `scripts.run` started
  there on the tiny data set. A command that fails makes the check fail.
- A following `json` block shows the answer: the real one must have the same members with values of the same
  types.
- A following `output` block shows the printed text; it must match exactly.
- The sandbox contains `baskets.txt` and `items.csv`. Addresses, keys and versions in the document are
  replaced by the real ones (`_replacements`).
- Commands that cannot run in a sandbox are listed with the reason in `NOT_RUN`. Blocks in other languages are
  not checked.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from model_store import ModelStore
from scripts.run import BANNER_END

ROOT = Path(__file__).parents[1]
ADMIN_KEY = "the-sandbox-admin-key"
NOT_RUN = {
    "make run": "the service of the sandbox is started by the same module",
    "make test": "it would run this check again",
    "docker compose up": "tested by scripts/smoke with Docker",
}
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_START_SECONDS = 180
_COMMAND_SECONDS = 180


class ReadmeError(Exception):
    """A command of the document fails or prints something else; the message names the line."""


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Sandbox:
    """A folder for the commands and the URL of a running service."""

    folder: Path
    url: str

    def run(self, script: str) -> str:
        """Run the commands and return their output; raises ReadmeError if one fails."""
        for pattern, value in self._replacements().items():
            script = re.sub(pattern, value, script)
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=_environment() | {"PATH": f"{self.folder / 'bin'}:{_environment()['PATH']}"},
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        if result.returncode:
            raise ReadmeError(
                f"exit code {result.returncode}: {result.stderr.strip()} {result.stdout.strip()}"
            )
        return result.stdout

    def _replacements(self) -> dict[str, str]:
        """Real values for the placeholders in a document: URL, admin key and version."""
        version = ModelStore(self.folder / "var" / "models").active() or ""
        return {r"http://127\.0\.0\.1:8000": self.url, r"\bADMIN_KEY\b": ADMIN_KEY, r"\bVERSION\b": version}


def blocks_of(text: str) -> list[Block]:
    """All fenced blocks of a Markdown document."""
    return [
        Block(text.count("\n", 0, match.start()) + 1, match[1], match[2]) for match in _FENCE.finditer(text)
    ]


def runnable(script: str) -> str:
    """The script without comments and without the commands of NOT_RUN."""
    lines = (re.sub(r"(^|\s)#.*", "", line).rstrip() for line in script.splitlines())
    return "\n".join(line for line in lines if line not in NOT_RUN)


def check_document(path: Path, sandbox: Sandbox) -> int:
    """Run all commands of a document; returns the number of `bash` blocks."""
    blocks = blocks_of(path.read_text(encoding="utf-8"))
    output, run = "", 0
    for block in blocks:
        try:
            if block.language == "bash":
                output = sandbox.run(runnable(block.text))
                run += 1
            elif block.language == "json":
                check_answer(block.text, output)
            elif block.language == "output" and block.text.strip() != output.strip():
                raise ReadmeError(f"the output differs; it is:\n{output}")
        except ReadmeError as error:
            raise ReadmeError(f"{path.name}, line {block.line}: {error}") from error
    return run


def check_answer(shown: str, printed: str) -> None:
    """Raise ReadmeError unless the printed JSON has the shape of the JSON in the document."""
    try:
        expected, real = json.loads(shown), json.loads(printed)
    except json.JSONDecodeError as error:
        raise ReadmeError(f"not JSON ({error}); the output is: {printed[:300]!r}") from error
    if difference := difference_in_shape(expected, real):
        raise ReadmeError(difference)


def difference_in_shape(shown: Any, real: Any, where: str = "the answer") -> str | None:
    """First difference in members or types of two JSON values; null matches anything."""
    if isinstance(shown, dict) and isinstance(real, dict):
        if shown.keys() != real.keys():
            return f"{where} has the members {sorted(real)}, but the document shows {sorted(shown)}"
        inner = ((shown[name], real[name], f"{where}.{name}") for name in shown)
        return next((found for pair in inner if (found := difference_in_shape(*pair))), None)
    if isinstance(shown, list) and isinstance(real, list):
        return difference_in_shape(shown[0], real[0], f"{where}[0]") if shown and real else None
    if shown is None or real is None or _kind(shown) == _kind(real):
        return None
    return f"{where} is {real!r}, but the document shows {shown!r}"


def _kind(value: object) -> type:
    return float if type(value) is int else type(value)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIPOD_")}
    kept.pop("REDIS_URL", None)
    return kept | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "TRIPOD_ADMIN_KEY": ADMIN_KEY,
        "TRIPOD_POLL_SECONDS": "0.1",
        "COLUMNS": "120",
    }


@contextmanager
def sandbox_in(folder: Path) -> Iterator[Sandbox]:
    """Create a sandbox with a running service, which is stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    for name in ("scripts", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    curl = folder / "bin" / "curl"
    curl.parent.mkdir()
    curl.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/scripts/curl.py" "$@"\n')
    curl.chmod(0o755)
    log = folder / "run.txt"
    with log.open("wb") as output:
        service = subprocess.Popen(
            [sys.executable, "-u", "-m", "scripts.run", "--dataset", "tiny", "--port", str(port)],
            cwd=folder,
            env=_environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_for_banner(service, log)
        _write_sample_files(folder)
        yield Sandbox(folder, f"http://127.0.0.1:{port}")
    finally:
        service.send_signal(signal.SIGINT)
        service.wait(60)


def _wait_for_banner(service: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while BANNER_END not in log.read_text():
        if service.poll() is not None or time.monotonic() > deadline:
            raise ReadmeError(f"the service of the sandbox did not start: {log.read_text()}")
        time.sleep(0.1)


def _write_sample_files(folder: Path) -> None:
    """Write the tiny data set in other formats."""
    pairs = pl.read_parquet(folder / "var" / "data" / "baskets.parquet")
    lines = pairs.group_by("basket_id", maintain_order=True).agg(pl.col("item_id").str.join(" "))
    (folder / "baskets.txt").write_text("\n".join(lines["item_id"]) + "\n")
    pl.read_parquet(folder / "var" / "data" / "items.parquet").write_csv(folder / "items.csv")


def main(*documents: str) -> None:
    """Check the documents; stops at the first difference."""
    try:
        with tempfile.TemporaryDirectory() as folder, sandbox_in(Path(folder)) as sandbox:
            for document in documents:
                print(f"{document}: {check_document(Path(document), sandbox)} command blocks checked")
    except ReadmeError as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main(*sys.argv[1:])
