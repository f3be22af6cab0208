"""Time of the search: `python -m benchmarks.search` compares the index with a scan for parts of names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from app.catalogue.search import SearchIndex
from benchmarks.machine import describe_machine, save_results

SIZES = (3_300, 50_000)
REPEATS = 30
SYLLABLES = [consonant + vowel for consonant in "bcdfgklmnprst" for vowel in "aeiou"]
QUERIES = {
    "nothing typed": "",
    "one letter": "c",
    "beginning": "{0:.3}",
    "word": "{0}",
    "word with a typo": "{0_typo}",
    "three words": "{0} {1} {2}",
    "three words with typos": "{0_typo} {1_typo} {2_typo}",
    "part of words": "eka",
    "all ids": "sku",
    "one id": "sku-{id}",
    "not there": "xylophone",
}


def names(size: int, rng: np.random.Generator) -> list[str]:
    """Names of 3 to 6 words, in which a few words are frequent, and an id in each."""
    vocabulary = sorted({"".join(rng.choice(SYLLABLES, rng.integers(2, 5))) for _ in range(10_000)})
    rng.shuffle(vocabulary)
    shares = 1 / np.arange(10, len(vocabulary) + 10)
    words = rng.choice(vocabulary, (size, 6), p=shares / shares.sum())
    lengths = rng.integers(3, 7, size)
    return [
        f"{' '.join(row[:length])} sku-{number}"
        for number, (row, length) in enumerate(zip(words, lengths, strict=True))
    ]


def scan(texts: list[str], query: str) -> list[int]:
    """The rows whose text contains all words of the query."""
    words = query.casefold().split()
    return [row for row, text in enumerate(texts) if all(word in text for word in words)]


def milliseconds(work: Callable[[], object]) -> float:
    """The median time of a call."""
    times = []
    for _ in range(REPEATS):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return 1e3 * float(np.median(times))


def filled(pattern: str, text: str) -> str:
    """A query with the words of a text, or with their second and third letters swapped."""
    *words, number = text.replace("sku-", "").split()
    values = {str(place): word for place, word in enumerate(words)}
    values |= {f"{place}_typo": word[0] + word[2] + word[1] + word[3:] for place, word in enumerate(words)}
    for key, value in (values | {"id": number}).items():
        pattern = pattern.replace("{" + key + "}", value).replace("{" + key + ":.3}", value[:3])
    return pattern


def main() -> None:
    """Print the time of each kind of query, and save it as JSON."""
    columns = ("items", "query", "rows found", "index, ms", "scan, ms", "scan ÷ index")
    table = Table(*columns, title=describe_machine())
    rows: list[dict[str, object]] = []
    for size in SIZES:
        texts = names(size, np.random.default_rng(0))
        start = perf_counter()
        index = SearchIndex.of(texts)
        built = perf_counter() - start
        changes = {row: texts[-row] for row in range(1, 1_001)}
        changed = milliseconds(partial(index.changed, size, changes, list))
        Console().print(f"{size} items: built in {built:.2f} s, 1,000 rows changed in {changed:.0f} ms")
        for kind, pattern in QUERIES.items():
            query = filled(pattern, texts[size // 2])
            fast = milliseconds(partial(index.matches, query))
            slow = milliseconds(partial(scan, texts, query))
            found = len(index.matches(query))
            rows.append({"items": size, "query": kind, "found": found, "index_ms": fast, "scan_ms": slow})
            table.add_row(str(size), kind, str(found), f"{fast:.2f}", f"{slow:.2f}", f"{slow / fast:.1f}")
    Console(width=120).print(table)
    save_results("search", {"rows": rows})


if __name__ == "__main__":
    typer.run(main)
