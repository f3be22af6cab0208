"""How long neighbours of new arrivals take to find: `python -m benchmarks.arrivals_speed`."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from benchmarks.machine import save_results
from ndpp.arrivals import ArrivalWeights, Similarity
from ndpp.item_features import Attribute, ItemFeatures

_WORDS, _NAME = 5_000, 5  # different words, and words in a name
_REPEATS = 20

console = Console()


def main(
    items: Annotated[int, typer.Option(help="Number of known items.")] = 50_000,
    arrivals: Annotated[int, typer.Option(help="Number of arrivals.")] = 1_000,
) -> None:
    """Measure and save benchmarks/results/arrivals_speed.json."""
    rng = np.random.default_rng(0)
    known, new = _features(items, rng), _features(arrivals, rng)
    usual = rng.dirichlet(np.ones(items))
    start = perf_counter()
    similarity = Similarity.of(known, usual, ArrivalWeights())
    prepared = perf_counter()
    similarity.arrivals(new)
    done = perf_counter()
    one = []
    for place in range(min(_REPEATS, arrivals)):
        alone, begun = new.select(np.array([place])), perf_counter()
        similarity.arrivals(alone)
        one.append(perf_counter() - begun)
    figures: dict[str, object] = {
        "items": items,
        "arrivals": arrivals,
        "prepare_seconds": round(prepared - start, 2),
        "all_arrivals_seconds": round(done - prepared, 2),
        "one_arrival_milliseconds": round(1000 * float(np.median(one)), 2),
    }
    save_results("arrivals_speed", figures)
    console.print(figures)


def _features(size: int, rng: np.random.Generator) -> ItemFeatures:
    """Names of random words, some of them frequent; two levels of categories; attributes and variants."""
    letters = np.random.default_rng(1).integers(97, 123, size=(_WORDS, 7)).astype(np.uint8)
    vocabulary = [bytes(word).decode() for word in letters]
    frequency = 1 / np.arange(1, _WORDS + 1)
    chosen = rng.choice(_WORDS, p=frequency / frequency.sum(), size=(size, _NAME)).tolist()
    groups = rng.integers(200, size=size).tolist()
    attributes: list[dict[str, Attribute]] = [
        {"brand": f"brand {brand}", "litres": litres / 4}
        for brand, litres in rng.integers(1, 300, size=(size, 2)).tolist()
    ]
    return ItemFeatures.of(
        [" ".join(vocabulary[word] for word in words) for words in chosen],
        [f"Group {group % 20} > Part {group}" for group in groups],
        rng.lognormal(size=size).tolist(),
        [f"product {parent}" for parent in rng.integers(size, size=size).tolist()],
        attributes,
    )


if __name__ == "__main__":
    typer.run(main)
