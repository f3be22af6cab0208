from __future__ import annotations

from pathlib import Path

import pytest

from scripts.links import ROOT, anchors, broken_links, documents


def test_every_relative_link_of_the_documents_resolves() -> None:
    checked = documents()
    assert ROOT / "README.md" in checked
    assert [problem for document in checked for problem in broken_links(document)] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("see [other](other.md)", None),
        ("see [other](other.md#second-part-v-vᵀ)", None),
        ("# Top\n[here](#top)", None),
        ("[web](https://example.org/x) [route](/docs)", None),
        ("```text\n[code](missing.md)\n```", None),
        ("see [it](missing.md)", "missing.md does not exist"),
        ("[here](#bottom)", "#bottom: document.md has no such heading"),
        ("see [other](other.md#third)", "other.md#third: other.md has no such heading"),
        ('<img src="missing.png">', "missing.png does not exist"),
    ],
)
def test_broken_links_are_found(text: str, problem: str | None, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# First\n\n## Second part: V Vᵀ\n\n```bash\n# third\n```\n")
    document = tmp_path / "document.md"
    document.write_text(text)
    assert list(broken_links(document)) == ([problem] if problem else [])


def test_anchors_of_repeated_headings_are_numbered() -> None:
    assert anchors("# A (b)\n## `x_y`\n## A (b)\n") == {"a-b", "x_y", "a-b-1"}


def test_index_of_decisions_lists_every_page() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    pages = [path.name for path in folder.glob("*.md") if path.name != "README.md"]
    assert pages
    assert [name for name in pages if f"({name})" not in index] == []
