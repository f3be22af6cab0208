"""Check the relative links of Markdown documents: `python -m scripts.links`.

A link must lead to a file of the repository, and its #anchor to a heading of that file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1`*$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a document."""
    found: dict[str, int] = {}
    for heading in HEADING.findall(FENCE.sub("", text)):
        label = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", label).replace(" ", "-")
        repeats = found.get(anchor, 0)
        found[anchor] = repeats + 1
        if repeats:
            found[f"{anchor}-{repeats}"] = 1
    return set(found)


def broken_links(document: Path) -> Iterator[str]:
    """A sentence for each relative link that leads nowhere."""
    text = document.read_text()
    for match in LINK.finditer(FENCE.sub("", text)):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:|/", target):  # another site, or a route of the service
            continue
        path, _, anchor = target.partition("#")
        file = document.parent / path if path else document
        if not file.exists():
            yield f"{target} does not exist"
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield f"{target}: {file.name} has no such heading"


def documents() -> list[Path]:
    """Every Markdown file that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in sorted(listed.splitlines())]


def main() -> int:
    """Print the broken links of all documents; 1 if there are any."""
    checked = documents()
    broken = [
        f"{document.relative_to(ROOT)}: {problem}"
        for document in checked
        for problem in broken_links(document)
    ]
    print("\n".join([*broken, f"{len(checked)} documents, {len(broken)} broken links."]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
