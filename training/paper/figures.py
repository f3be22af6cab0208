"""Figures 1 and 2 of the paper as SVG files, for light and dark pages."""

from __future__ import annotations

from math import log10
from pathlib import Path

import numpy as np

from training.evaluation.charts import (
    Axis,
    Point,
    cloud_chart,
    line_chart,
    log_axis,
    number_axis,
    standalone,
)
from training.paper.experiments import PaperResults
from training.paper.greedy_ratio import GreedyExperiment, GreedyRatios
from training.paper.training_time import DENSE_2019, LINEAR_2019, SCALABLE, TrainingCurve

_CURVES = {DENSE_2019: "2019, M×M", LINEAR_2019: "2019, linear", SCALABLE: "scalable NDPP"}
KINDS = {
    "symmetric": "symmetric",
    "p0": "nonsymmetric P₀",
    "semidefinite": "nonsymmetric V, B, C",
}
_BINS = 10
_STYLE = """
:root {
  --paper: #fcfbf8; --ink: #1f2328; --soft: #5f6670; --rule: #e4e1d9;
  --red: #be123c; --blue: #1d4ed8; --green: #0f766e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --ink: #e6e4df; --soft: #9aa0a8; --rule: #2b2f35;
    --red: #fb7185; --blue: #7aa7ff; --green: #2dd4bf;
  }
}
svg { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.paper { fill: var(--paper); } .grid { stroke: var(--rule); } .base { stroke: var(--soft); }
.tick { fill: var(--soft); } .axis { fill: var(--ink); font-size: 12.5px; }
.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.series { fill: currentColor; }
.cloud { fill: none; stroke: var(--blue); stroke-width: 2.4; stroke-linecap: round; stroke-opacity: .7; }
.m-scalable, .m-mean { color: var(--red); } .m-ndpp2019_linear { color: var(--green); }
.m-ndpp2019_dense { color: var(--blue); } .line.m-ndpp2019_dense { stroke-dasharray: 6 4; }
"""


def write_figures(results: list[PaperResults], folder: Path) -> None:
    """Write every figure into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for found in results:
        for name, (chart, _) in figures_of(found).items():
            (folder / name).write_text(standalone(chart, _STYLE), encoding="utf-8")


def figures_of(results: PaperResults) -> dict[str, tuple[str, str]]:
    """File name → chart and what it shows."""
    figures = {}
    if results.curves:
        shown = "negative log-likelihood of the training baskets against wall-clock seconds"
        figures[f"figure-1-{results.name}.svg"] = (_training_chart(results.curves), shown)
    if results.small_kernels is not None:
        figures |= _small_kernel_figures(results.small_kernels)
    return figures


def _training_chart(curves: dict[str, TrainingCurve]) -> str:
    """A logarithmic time axis, which begins at the first evaluation after the start."""
    y = number_axis(
        "negative log-likelihood",
        [value for curve in curves.values() for value in curve.negative_log_likelihood[1:]],
    )
    x = log_axis("training time in seconds", [t for curve in curves.values() for t in curve.seconds[1:]])
    lines = [
        (f"m-{name}", label, _points(curves[name].seconds[1:], curves[name].negative_log_likelihood[1:]))
        for name, label in _CURVES.items()
    ]
    return line_chart(x, y, lines, legend=True)


def _points(positive: list[float], values: list[float]) -> list[Point]:
    return [(log10(number), value) for number, value in zip(positive, values, strict=True)]


def _small_kernel_figures(experiment: GreedyExperiment) -> dict[str, tuple[str, str]]:
    measured = [getattr(experiment, kind) for kind in KINDS]
    ratios = np.concatenate([kind.ratios for kind in measured])
    y = number_axis("log det greedy / log det exact", [0.95, *ratios.tolist()])
    figures = {
        f"figure-2-{kind}.svg": (_ratio_chart(label, y, found), f"greedy's ratio to exact, {label} kernels")
        for (kind, label), found in zip(KINDS.items(), measured, strict=True)
    }
    values = experiment.singular_values
    chart = line_chart(
        number_axis("number of the singular value", [1.0, len(values)], from_zero=True),
        log_axis("singular value", values),
        [("m-mean", "", [(place, log10(value)) for place, value in enumerate(values, 1)])],
    )
    return figures | {"figure-2-singular-values.svg": (chart, "singular values of the learned kernel")}


def _ratio_chart(label: str, y: Axis, measured: GreedyRatios) -> str:
    """The kernels as points, and the mean ratio of equal parts of the axis."""
    x = number_axis(f"log(σ max / σ min), {label} kernels", measured.log_condition, from_zero=True)
    across, ratios = np.array(measured.log_condition), measured.ratios
    edges = np.linspace(across.min(), across.max(), _BINS + 1)
    place = np.clip(np.digitize(across, edges) - 1, 0, _BINS - 1)
    course = [
        (float(across[place == part].mean()), float(ratios[place == part].mean()))
        for part in range(_BINS)
        if (place == part).any()
    ]
    return cloud_chart(x, y, list(zip(across.tolist(), ratios.tolist(), strict=True)), ("mean", course))
