"""New items from their features alone: `python -m benchmarks.arrivals --data FILE --items FILE`.

For each seed a tenth of the items is removed from the training baskets, and a model is fitted to what is
left. Then each removed item is an arrival, known by name, category and price. The queries are random prefixes
of held-out baskets whose next item is an arrival; it is ranked among all items that are not in the cart.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe_machine, save_results
from ndpp.arrivals import Arrivals, ArrivalWeights, Similarity
from ndpp.item_features import ItemFeatures
from training.arrivals import features_of, fit_arrivals
from training.baskets import UNKNOWN, Baskets, rows_in, translate
from training.demo import write_demo_data
from training.evaluation.queries import Queries, random_prefixes
from training.options import FitOptions
from training.pipeline import train_model
from training.reading import ReadingRules, read_baskets
from training.reading.item_table import describe_items, read_item_table
from training.splitting import split, validation_size

METRICS = ("mpr", "mpr_among_arrivals", "hit@100")
_HIDDEN = 10  # one item in ten
_MOST_HELD_OUT = 4000  # baskets, at most a tenth
_PREFIXES = 4  # per held-out basket
_NEW_BASKETS = 1000  # with arrivals, for `moved_by`
_RESAMPLES = 1000

Array = NDArray[np.float64]
Marks = dict[str, dict[str, Array]]  # model → metric → value of each query
console = Console()


class Data(NamedTuple):
    """A data set with its item table, and the ranks of the fit."""

    name: str
    baskets: Baskets
    table: pl.DataFrame
    rank: int | None = None  # None: from the data
    skew_rank: int | None = None


def main(  # noqa: PLR0917 - a command's options
    data: Annotated[Path | None, typer.Option(help="Baskets, in addition to the groceries.")] = None,
    items: Annotated[Path | None, typer.Option(help="Item table of --data.")] = None,
    item_id: Annotated[str, typer.Option(help="Column of --items with the item ids.")] = "item_id",
    seeds: Annotated[int, typer.Option(help="Number of seeds per data set.")] = 3,
    first_seed: Annotated[int, typer.Option(help="First seed.")] = 10,
    steps: Annotated[int, typer.Option(help="Number of steps of each fit.")] = 600,
) -> None:
    """Run the benchmark and save benchmarks/results/arrivals.json."""
    if data is not None and items is None:
        raise typer.BadParameter("--data needs --items: arrivals are known by their features")
    found = []
    for each in _data_sets(data, items, item_id):
        runs, marks, owners = [], [], []
        for seed in range(first_seed, first_seed + seeds):
            facts, values, targets = _measure(each, seed, steps)
            runs.append({"seed": seed, **facts})
            marks.append(values)
            owners.append(targets + len(each.baskets.catalogue) * (seed - first_seed))
            pooled = _pooled(marks, np.concatenate(owners))
            console.print(_table(f"{each.name}, seeds {first_seed} to {seed}", pooled))
        found.append({"data": each.name, "figures": pooled, "runs": runs})
        save_results("arrivals", {"steps": steps, "new_baskets": _NEW_BASKETS, "data": found})
    console.print(describe_machine())


def _data_sets(data: Path | None, items: Path | None, item_id: str) -> Iterator[Data]:
    with tempfile.TemporaryDirectory() as scratch:
        written = write_demo_data("groceries", Path(scratch))
        baskets = read_baskets(str(written.baskets), ReadingRules(min_item_count=20)).baskets
        table = read_item_table(str(written.items))
    yield Data("groceries", baskets, table, rank=50, skew_rank=100)  # as in the demo
    if data is not None and items is not None:
        table = read_item_table(str(items), {"item_id": item_id})
        yield Data(data.name.split(".")[0], read_baskets(str(data)).baskets, table)


def _measure(data: Data, seed: int, steps: int) -> tuple[dict[str, Any], Marks, NDArray[np.int64]]:
    """Facts about the run, the marks of each model, and the arrival that each query asks for."""
    rng = np.random.default_rng(seed)
    baskets, names = data.baskets, data.baskets.catalogue
    order, mixed = rng.permutation(len(baskets)), rng.permutation(len(names))
    held_out = baskets.select(order[: min(_MOST_HELD_OUT, len(baskets) // 10)])
    rest = baskets.select(np.sort(order[len(held_out) :]))
    hidden = np.sort(mixed[: len(names) // _HIDDEN])
    known = translate(rest, [names[row] for row in np.sort(mixed[len(hidden) :])])
    parts = split(known, validation=validation_size(len(known), tuned=True), seed=seed)
    options = FitOptions(seed=seed, steps=steps, rank=data.rank, skew_rank=data.skew_rank)
    learned = train_model(parts, options, effort="quick")
    features = features_of(describe_items(known, data.table))
    assert learned.before_validation is not None
    fit = fit_arrivals(learned.before_validation, features, parts.train, parts.validation, seed)
    assert fit is not None

    model, new = learned.next_item, features_of(describe_items(baskets, data.table)).select(hidden)
    usual = np.exp(model.log_usual)
    fitted = Similarity.of(features, usual, fit.weights).arrivals(new)
    recent = rest.select(rng.permutation(len(rest))[:_NEW_BASKETS])
    arrivals = {
        "tripod": fitted,
        "default weights": Similarity.of(features, usual, ArrivalWeights()).arrivals(new),
        f"after {_NEW_BASKETS:,} baskets": fitted.moved_by(
            recent.counts[hidden].astype(np.float64),
            np.full(len(hidden), float(len(recent))),
            known.counts / len(rest),
        ),
    }
    queries = _about(hidden, random_prefixes(held_out, _PREFIXES, rng)[0], rows_in(known.catalogue, names))
    marks = _arrival_marks(model.probabilities(queries.carts), queries, arrivals)
    counts, average = known.counts.astype(np.float64), _category_means(features, new, known.counts)
    marks["category popularity"] = _marks(queries, [counts] * len(queries), [average] * len(queries))
    any_order = rng.random((len(queries), len(names)))
    marks["random"] = _marks(queries, list(any_order[:, len(hidden) :]), list(any_order[:, : len(hidden)]))
    facts = {
        "known_items": len(known.catalogue),
        "arrivals": len(hidden),
        "arrivals_asked_for": len(np.unique(queries.targets)),
        "training_baskets": len(parts.train),
        "queries": len(queries),
        "fit": {**fit.as_dict(), "weights": asdict(fit.weights)},
        "figures": {
            name: {metric: float(each[metric].mean()) for metric in METRICS} for name, each in marks.items()
        },
    }
    return facts, marks, queries.targets


def _about(hidden: NDArray[np.int64], queries: Queries, row_of: NDArray[np.int32]) -> Queries:
    """The queries whose target is hidden, as its place; carts in rows of the known items, without others."""
    place = np.full(len(row_of), UNKNOWN, dtype=np.int64)
    place[hidden] = np.arange(len(hidden))
    chosen = np.flatnonzero(place[queries.targets] != UNKNOWN)
    carts = [row_of[queries.carts[number]] for number in chosen.tolist()]
    left = [cart[cart != UNKNOWN] for cart in carts]
    return Queries(left, place[queries.targets[chosen]], queries.cart_sizes[chosen])


def _arrival_marks(known: Array, queries: Queries, arrivals: dict[str, Arrivals]) -> Marks:
    return {
        name: _marks(queries, list(known), [each.probabilities(row) for row in known])
        for name, each in arrivals.items()
    }


def _category_means(features: ItemFeatures, new: ItemFeatures, counts: NDArray[np.int64]) -> Array:
    """The mean count of the known items of each arrival's category; of all of them if it has none."""
    categories = np.array([str(category) for category in features.categories])
    means = {name: float(counts[categories == name].mean()) for name in np.unique(categories).tolist()}
    return np.array([means.get(str(category), float(counts.mean())) for category in new.categories])


def _marks(queries: Queries, known: list[Array], new: list[Array]) -> dict[str, Array]:
    """Each metric of every query, given the scores of known items and of arrivals; ties are broken evenly."""
    found = np.zeros((len(queries), len(METRICS)))
    for marks, cart, target, items, arrivals in zip(
        found, queries.carts, queries.targets, known, new, strict=True
    ):
        own = arrivals[target]
        above, ties = (arrivals > own).sum(), (arrivals == own).sum() - 1
        marks[1] = 100 * (1 - (above + ties / 2) / max(len(arrivals) - 1, 1))
        others = np.delete(items, cart)
        above, ties = above + (others > own).sum(), ties + (others == own).sum()
        marks[0] = 100 * (1 - (above + ties / 2) / (len(arrivals) + len(others) - 1))
        marks[2] = 100 * np.clip((100 - above) / (ties + 1), 0, 1)
    return dict(zip(METRICS, found.T, strict=True))


def _pooled(marks: list[Marks], owners: NDArray[np.int64]) -> dict[str, dict[str, dict[str, float]]]:
    """The mean over the queries of all seeds with a 95 % interval, by resampling the arrivals."""
    _, places = np.unique(owners, return_inverse=True)
    size = int(places.max()) + 1
    drawn = np.random.default_rng(0).multinomial(size, np.full(size, 1 / size), size=_RESAMPLES)
    asked = drawn @ np.bincount(places, minlength=size)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in marks[0]:
        found[name] = {}
        for metric in METRICS:
            values = np.concatenate([each[name][metric] for each in marks])
            low, high = np.quantile(drawn @ np.bincount(places, values, size) / asked, [0.025, 0.975])
            found[name][metric] = {"mean": float(values.mean()), "low": float(low), "high": float(high)}
    return found


def _table(title: str, figures: dict[str, dict[str, dict[str, float]]]) -> Table:
    table = Table("ranked by", *METRICS, title=title)
    for name, found in figures.items():
        cells = (f"{each['mean']:.1f} ({each['low']:.1f} to {each['high']:.1f})" for each in found.values())
        table.add_row(name, *cells)
    return table


if __name__ == "__main__":
    typer.run(main)
