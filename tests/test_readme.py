"""Runs the commands of the documents; see `scripts/readme.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.readme import (
    ROOT,
    ReadmeError,
    Sandbox,
    blocks_of,
    check_document,
    difference_in_shape,
    runnable,
    sandbox_in,
)

DOCUMENTS = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with sandbox_in(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_of_the_document(document: str, sandbox: Sandbox) -> None:
    has_commands = "```bash" in (ROOT / document).read_text()
    assert (check_document(ROOT / document, sandbox) > 0) == has_commands


def test_wrong_documents_are_detected(sandbox: Sandbox, tmp_path: Path) -> None:
    request = "```bash\ncurl -s 'http://127.0.0.1:8000/recommend?k=1'\n```\n"
    for text, reason in (
        ("Try\n\n```bash\nfalse\n```\n", "line 3: exit code 1"),
        ("```bash\ncurl 'http://127.0.0.1:8000/nothing'\n```\n", "line 1: exit code 22: .*404"),
        (f'{request}```json\n{{"model_version": "x"}}\n```\n', "line 4: the answer has the members"),
        (f"{request}```json\n{{…}}\n```\n", "line 4: not JSON"),
    ):
        document = tmp_path / "document.md"
        document.write_text(text)
        with pytest.raises(ReadmeError, match=reason):
            check_document(document, sandbox)


def test_blocks_and_runnable_commands() -> None:
    blocks = blocks_of("one\n```bash\nmake test  # long\necho 'a'\n```\ntwo\n\n```text\nx\n```\n")
    assert [(block.line, block.language) for block in blocks] == [(2, "bash"), (8, "text")]
    assert runnable(blocks[0].text) == "echo 'a'"


def test_difference_in_shape() -> None:
    shown = {"items": [{"item_id": "a", "price": 1}], "fallback": None}
    assert difference_in_shape(shown, {"items": [], "fallback": {"reason": "x"}}) is None
    assert difference_in_shape(shown, {"items": [{"item_id": "b", "price": 2.5}], "fallback": None}) is None
    assert difference_in_shape(shown, {"items": [{"item_id": 7, "price": 1}], "fallback": None}) == (
        "the answer.items[0].item_id is 7, but the document shows 'a'"
    )
    assert "['fallback']" in (difference_in_shape(shown, {"fallback": None}) or "")
