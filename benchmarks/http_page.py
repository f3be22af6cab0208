"""The results of `benchmarks.http` next to their goals, on the terminal and in docs/speed.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

_PAGE = Path(__file__).parent.parent / "docs" / "speed.md"
_BEFORE = 30  # requests a second at 400,000 items before the fast path
_SIZES_AHEAD = 50_000  # items from which Tripod has to be ahead of its peers
_PEERS = ("ALS", "EASE-R")
_RATIOS = {"new carts": 0.45, "shoppers": 0.65, "the same cart": 0.85}  # at 3,300 items
_READY = {3_300: 3.0, 1_000_000: 10.0}  # seconds
_PRIVATE = {3_300: 20.0, 400_000: 80.0}  # MB
_COLUMNS = ("requests/s", "p50 ms", "p95 ms", "p99 ms", "CPU ms", "of the bare route", "by CPU")

Results = dict[str, Any]
Run = dict[str, Any]


class Goal(NamedTuple):
    """A figure next to its goal."""

    what: str
    goal: str
    found: str
    reached: bool


def goals(results: Results) -> list[Goal]:
    """All goals for which there are figures."""
    return [goal for run in results["runs"] for goal in _goals_of(run, results["figures"])]


def _goals_of(run: Run, figures: dict[str, Any]) -> Iterator[Goal]:
    items, where = run["items"], _name(run)
    new = figures[run["loads"]["new carts"]]
    if run["workers"] == 1:
        if items == 1_000_000:
            yield _at_most(f"{where}: processor time of a new cart", new["CPU ms"], 5.0, "ms")
        if items == 400_000:
            speed = new["requests/s"]
            goal = f"≥ {10 * _BEFORE} a second, ten times that of before"
            yield Goal(f"{where}: new carts", goal, f"{speed:,.0f}", speed >= 10 * _BEFORE)
        if items == 3_300:
            for load, ratio in _RATIOS.items():
                found = figures[run["loads"][load]]["by CPU"]
                what = f"{where}: the bare route's processor time over ours, {load}"
                yield Goal(what, f"≥ {ratio}", f"{found:.2f}", found >= ratio)
        if items in _READY:
            yield _at_most(f"{where}: from start to ready", run["ready seconds"], _READY[items], "s")
    if items >= _SIZES_AHEAD:
        for peer in _PEERS:
            if name := run["loads"].get(f"{peer}, new carts"):
                theirs, ours = figures[name]["CPU ms"], new["CPU ms"]
                what = f"{where}: processor time of a new cart beside {peer}"
                yield Goal(what, "less", f"{_short(ours)} ms, {_short(theirs)} ms", ours < theirs)
    if items in _PRIVATE:
        memory = run["memory"]
        private = memory["Tripod"]["private MB"] - memory["Tripod without a model"]["private MB"]
        yield _at_most(f"{where}: private memory of a worker for the model", private, _PRIVATE[items], "MB")
    tails = run["tails"]
    ratio = tails["p99 ms"] / tails["p50 ms"]
    yield Goal(f"{where}: p99 over p50 at 70 % load", "< 5", f"{ratio:.1f}", ratio < 5)
    ratio = tails["swap"]["p99 ms"] / tails["p99 ms"]
    yield Goal(f"{where}: p99 during a swap of the model over the usual", "< 3", f"{ratio:.1f}", ratio < 3)
    if truth := run.get("truth"):
        same, near = truth["same ids"], truth["probabilities within 2 %"]
        carts = f"of {truth['carts']:,} carts"
        what = f"{where}: the list is that of a full pass"
        yield Goal(what, f"100 % {carts}", f"{100 * same:.1f} %", same == 1)
        what = f"{where}: all probabilities within 2 %"
        yield Goal(what, f"99 % {carts}", f"{100 * near:.1f} %", near >= 0.99)


def _at_most(what: str, found: float, most: float, unit: str) -> Goal:
    return Goal(what, f"≤ {most:g} {unit}", f"{_short(found)} {unit}", found <= most)


def _name(run: Run) -> str:
    workers = "1 worker" if run["workers"] == 1 else f"{run['workers']} workers"
    return f"{run['items']:,} items, {workers}"


def _short(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def _rows(run: Run, figures: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The rows of the table of loads; the first is that of the bare route beside them."""
    loads = {"bare route": run["bare"], **{what: figures[name] for what, name in run["loads"].items()}}
    for what, row in loads.items():
        yield what, [_short(row[column]) for column in _COLUMNS]


def console_tables(results: Results) -> Iterator[Table]:
    """The loads of each run, then the goals."""
    for run in results["runs"]:
        table = Table("", *_COLUMNS, title=f"GET /recommend?cart_id=…&k=10: {_name(run)}")
        for name, cells in _rows(run, results["figures"]):
            table.add_row(name, *cells)
        yield table
    table = Table("", "goal", "found", "", title="Goals")
    for goal in goals(results):
        table.add_row(goal.what, goal.goal, goal.found, "✓" if goal.reached else "[bold red]✗[/]")
    yield table


def write_page(results: Results) -> None:
    """Write docs/speed.md."""
    judged = goals(results)
    reached = sum(goal.reached for goal in judged)
    parts = [
        "# How fast is it?",
        f"Generated by `python -m benchmarks.http` on {results['machine']}; a full run takes about half an "
        f"hour. Over HTTP, `GET /recommend?cart_id=…&k=10`, {results['connections']} connections, medians of "
        f"{results['rounds']} rounds of {results['seconds']:g} seconds; the load generator runs on the same "
        "machine. Processor time is that of all processes of a server, per request.",
        f"The model has rank {results['rank']} and a prior of at least 100 neighbours. It is trained on the "
        "3,300 most frequent products of The Complete Journey, tuned and served as any model; larger "
        "catalogues are noisy copies of it, whose popularity continues Zipf's law. Carts are from copies of "
        f"baskets that it has not seen. New carts have {results['cart']} items and all answers are computed; "
        f"shoppers have carts of different sizes and ask {results['views']} times before a cart changes, "
        "which is an assumption; the same cart is answered from the cache.",
        "The bare route makes one call to Redis. ALS (`implicit`, 64 factors, the cart's factors solved for "
        "each request) and EASE-R (the sum of the weights from the cart's items; all weights up to 50,000 "
        "items, the 100 strongest of each item above) are plain FastAPI services that do the same job: they "
        "read the cart from Redis, score all items, leave out those of the cart, and answer with the ten "
        "best, their names and prices. They give no probabilities, reasons, filters or rules. EASE-R adds "
        "the listed weights to a score of every item; sums of the listed items alone would be faster.",
        f"{reached} of {len(judged)} goals are reached.",
        _markdown(
            ["", "goal", "found"],
            [[goal.what, goal.goal, goal.found + (" ✓" if goal.reached else " **✗**")] for goal in judged],
        ),
        *(_section(run, results["figures"]) for run in results["runs"]),
    ]
    _PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _section(run: Run, figures: dict[str, Any]) -> str:
    tails, swap = run["tails"], run["tails"]["swap"]
    parts = [
        f"## {_name(run)}",
        _markdown(["", *_COLUMNS], [[name, *cells] for name, cells in _rows(run, figures)]),
        f"Ready {run['ready seconds']:.1f} seconds after the start. "
        f"{100 * run['new carts from the cache']:.1f} % of the answers to new carts came from the cache.",
        f"At 70 % of the highest load of new carts ({tails['requests/s']:,.1f} a second at random times): "
        f"p50 {_short(tails['p50 ms'])} ms, p99 {_short(tails['p99 ms'])} ms. While another version of the "
        f"model was activated, p99 {_short(swap['p99 ms'])} ms; the last answer of the old version came "
        f"{swap['seconds']:.1f} seconds after the request to activate the new one.",
        "Memory of the largest process; pages of files are shared between processes:",
        _markdown(
            ["", "private MB", "shared MB"],
            [
                [name, _short(memory["private MB"]), _short(memory["shared MB"])]
                for name, memory in run["memory"].items()
            ],
        ),
    ]
    if truth := run.get("truth"):
        parts.append(
            f"Compared with a full pass on {truth['carts']:,} carts: the same list for "
            f"{100 * truth['same ids']:.1f} %, all probabilities within 2 % for "
            f"{100 * truth['probabilities within 2 %']:.1f} %; the largest relative error of a list is "
            f"{100 * truth['mean error']:.3f} % on average and {100 * truth['largest error']:.2f} % at most. "
            f"{100 * truth['said to be exact']:.1f} % of the answers say that their list is exact, and "
            f"{100 * truth['within the estimated error']:.1f} % give an estimate of the error that holds."
        )
    return "\n\n".join(parts)


def _markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
