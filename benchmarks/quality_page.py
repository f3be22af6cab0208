"""docs/quality.md from the figures of `benchmarks.quality`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

_WORDS = Path(__file__).parent / "quality_notes.md"  # what figures do not say by themselves
_PAGE = Path(__file__).parent.parent / "docs" / "quality.md"
_METRICS = {"hit@10": "hit@10", "ndcg@10": "NDCG@10", "mpr": "MPR", "nll": "NLL"}
_NAMES = {
    "tripod": "**Tripod**",
    "plain": "plain NDPP",
    "popularity": "popularity",
    "item_knn": "item-KNN",
    "confidence": "confidence",
    "ease": "EASE-R",
    "als": "ALS",
    "blend": "blend without determinant",
    "bundle": "**Tripod bundle**",
    "plain bundle": "plain NDPP bundle",
}
_SIDES = ("claimed", "true")

Run = dict[str, Any]


def write_page(figures: dict[str, Any]) -> None:
    """Tables first, then what they do and do not show."""
    runs: list[Run] = figures["runs"]
    names = list(dict.fromkeys(run["data"] for run in runs))
    by_data = {name: [run for run in runs if run["data"] == name] for name in names}
    seeds = sorted({run["seed"] for run in runs})
    parts = [
        "# How good are the suggestions?",
        f"Made by `python -m benchmarks.quality --data DIR` on {figures['machine']}: "
        f"{figures['holdout']:,} baskets held out, seeds {', '.join(map(str, seeds))}, "
        "the model that `fit --tune quick` publishes. In percent; ± is half of a 95 % interval over the "
        "queries of all seeds; the lead is over the best peer of that column, paired by query. NLL is the "
        "negative log-likelihood of the held-out item in nats, of which less is better.",
        *(_next_items(name, found) for name, found in by_data.items()),
        _truth_table(by_data),
        "## Sets",
        _set_table(by_data),
        _completion_table(by_data),
        _WORDS.read_text(encoding="utf-8"),
    ]
    _PAGE.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")


def _next_items(name: str, runs: list[Run]) -> str:
    first = runs[0]
    rows = [
        "| " + " | ".join(["", *_METRICS.values()]) + " |",
        "|---|" + "---|" * len(_METRICS),
    ]
    models = [model for model in _NAMES if model in first["next_item"]]
    for model in models:
        cells = [_cell(runs, model, metric) for metric in _METRICS]
        rows.append(f"| {_NAMES[model]} | " + " | ".join(cells) + " |")
    leads = [_lead(runs, metric, [m for m in models if m not in ("tripod", "plain")]) for metric in _METRICS]
    rows.append("| lead over the best peer | " + " | ".join(leads) + " |")
    title = f"## {name}: next item ({first['items']:,} items, {first['baskets']:,} baskets)"
    return title + "\n\n" + "\n".join(rows)


def _cell(runs: list[Run], model: str, metric: str) -> str:
    if metric not in runs[0]["next_item"][model]:
        return "–"
    found = [run["next_item"][model][metric] for run in runs]
    return f"{np.mean([one['mean'] for one in found]):.2f} ± {_half([one['error'] for one in found]):.2f}"


def _lead(runs: list[Run], metric: str, peers: list[str]) -> str:
    known = [peer for peer in peers if metric in runs[0]["next_item"][peer]]
    choose = min if metric == "nll" else max
    best = choose(known, key=lambda peer: np.mean([run["next_item"][peer][metric]["mean"] for run in runs]))
    found = [run["next_item"][best][metric] for run in runs]
    lead, half = np.mean([one["lead"] for one in found]), _half([one["lead_error"] for one in found])
    return f"{lead:+.2f} ± {half:.2f} ({_NAMES[best]})"


def _truth_table(by_data: dict[str, list[Run]]) -> str:
    rows = [
        "## Are the probabilities true?",
        "",
        "One random prefix of each held-out basket, the empty cart included: what was claimed / what came "
        "true, in percent; the expected calibration error over ten bins of equal mass, in points.",
        "",
        "| data | first suggestion | first ten | error |",
        "|---|---|---|---|",
    ]
    for name, runs in by_data.items():
        found = [run["calibration"] for run in runs]
        claims = [
            " / ".join(
                f"{100 * np.mean([one[key][side] for one in found]):.1f}" for side in ("claimed", "true")
            )
            for key in ("first", "first_ten")
        ]
        error = 100 * np.mean([one["expected_error"] for one in found])
        rows.append(f"| {name} | {claims[0]} | {claims[1]} | {error:.2f} |")
    return "\n".join(rows)


def _half(errors: list[float]) -> float:
    """Half of the 95 % interval of a mean over independent seeds."""
    return float(1.96 * np.sqrt(np.sum(np.square(errors))) / len(errors))


def _set_table(by_data: dict[str, list[Run]]) -> str:
    peers = [peer for peer in ("item_knn", "confidence", "ease") if any(_has(by_data, peer))]
    rows = [
        "Real held-out baskets against made-up ones of the same size whose items are drawn by popularity: "
        "the mean log-likelihood of both, and how often the real one scores higher than its twin (a peer's "
        "score of a set is the mean of its weights over all pairs).",
        "",
        "| data | log-likelihood, real | made up | AUC **Tripod** | "
        + " | ".join(f"AUC {_NAMES[peer]}" for peer in peers)
        + " |",
        "|---|---|---|---|" + "---|" * len(peers),
    ]
    for name, runs in by_data.items():
        sets = [run["sets"] for run in runs]
        means = [np.mean([one[key] for one in sets]) for key in ("log_likelihood", "log_likelihood_of_twins")]
        aucs = [np.mean([one["auc"].get(who, np.nan) for one in sets]) for who in ("tripod", *peers)]
        cells = [f"{value:.2f}" for value in means] + [f"{value:.3f}" for value in aucs]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _has(by_data: dict[str, list[Run]], peer: str) -> list[bool]:
    return [peer in run["sets"]["auc"] for runs in by_data.values() for run in runs]


def _completion_table(by_data: dict[str, list[Run]]) -> str:
    rows = [
        "Half of a basket is shown, as many items are asked for as the other half has: recall of that half / "
        "share of substitute pairs in the answer (two items that meet less than half as often as chance "
        "would have it), in percent. A bundle is chosen as a set; the others are the top of a ranked list.",
        "",
        "| | " + " | ".join(by_data) + " |",
        "|---|" + "---|" * len(by_data),
    ]
    first = next(iter(by_data.values()))[0]["sets"]["completion"]
    for model in sorted(first, key=list(_NAMES).index):
        cells = []
        for runs in by_data.values():
            found = [run["sets"]["completion"].get(model) for run in runs]
            known = [one for one in found if one]
            cells.append(
                f"{np.mean([one['recall'] for one in known]):.2f} / "
                f"{np.mean([one['substitutes'] for one in known]):.2f}"
                if known
                else "–"
            )
        label = "Tripod's list" if model == "tripod" else _NAMES[model]
        rows.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(rows)
