"""Figures 1 and 2 as SVG files."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from training.paper.experiments import Effort, PaperResults
from training.paper.figures import figures_of, write_figures
from training.paper.greedy_ratio import GreedyExperiment, GreedyRatios
from training.paper.page import page
from training.paper.tables import tables
from training.paper.training_time import DENSE_2019, LINEAR_2019, SCALABLE, TrainingCurve

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def results() -> PaperResults:
    ratios = GreedyRatios([0.5, 1.0, 3.0], greedy=[-2.0, -3.0, -4.4], exact=[-2.0, -2.0, -4.0])
    return PaperResults(
        name="uk_retail",
        baskets=10,
        items=5,
        predictive={},
        bundles={},
        curves={
            SCALABLE: TrainingCurve([0, 0.1, 0.2], [9, 6, 5]),
            DENSE_2019: TrainingCurve([0, 20, 40], [9, 6, 5]),
            LINEAR_2019: TrainingCurve([0, 0.2, 0.3], [9, 6, 5]),
        },
        speed_up=200.0,
        small_kernels=GreedyExperiment(list(np.linspace(0.4, 0.002, 50)), ratios, ratios, ratios),
    )


def test_figures_are_self_contained_and_have_a_dark_theme(results: PaperResults, tmp_path: Path) -> None:
    write_figures([results], tmp_path / "new" / "folder")
    written = sorted((tmp_path / "new" / "folder").iterdir())
    assert [path.name for path in written] == sorted(figures_of(results))
    assert len(written) == 5
    for path in written:
        root = ElementTree.parse(path).getroot()
        assert root.tag == f"{SVG}svg"
        style = root.findtext(f"{SVG}style") or ""
        assert "prefers-color-scheme: dark" in style
        used = {name for node in root.iter() for name in node.get("class", "").split()}
        assert all(f".{name}" in style for name in used)


def test_training_chart_has_a_line_for_each_fit_on_a_logarithmic_axis(results: PaperResults) -> None:
    root = ElementTree.fromstring(figures_of(results)["figure-1-uk_retail.svg"][0])
    lines = {node.get("class"): node.get("points", "").split() for node in root.iter("polyline")}
    assert set(lines) == {f"line m-{name}" for name in (SCALABLE, DENSE_2019, LINEAR_2019)}
    assert all(len(points) == 2 for points in lines.values())  # without the start, at 0 seconds
    texts = {node.text for node in root.iter("text")}
    assert {"0.1", "1", "10", "2019, M×M", "2019, linear", "scalable NDPP"} <= texts


def test_ratio_chart_has_a_point_for_each_kernel(results: PaperResults) -> None:
    figure, alternative = figures_of(results)["figure-2-p0.svg"]
    (cloud,) = ElementTree.fromstring(figure).iter("path")
    assert cloud.get("d", "").count("h0") == 3
    assert alternative == "greedy's ratio to exact, nonsymmetric P₀ kernels"


def test_data_set_without_the_2019_kernel_has_no_figures(results: PaperResults) -> None:
    bare = PaperResults("instacart", 1, 1, {}, {}, {}, None, None)
    assert figures_of(bare) == {}
    assert [table.title[:7] for table in tables(bare)] == ["Table 2", "Tables "]
    assert len(tables(results)) == 4


def test_table_of_small_kernels_shows_the_worst_ratio(results: PaperResults) -> None:
    row = tables(results)[-1].rows[1]
    assert row[1:5] == ["3", "33.3 %", "1.2000", "1.5000"]


def test_speed_table_shows_both_normalisers(results: PaperResults) -> None:
    rows = tables(results)[2].rows
    assert [row[1:] for row in rows] == [["8.31", "200.00"], ["–", "1.50"]]


def test_page_says_how_many_curves_still_fall(results: PaperResults) -> None:
    results.curves[SCALABLE] = TrainingCurve([0, 0.1, 0.2], [9, 5, 5])
    text = page([results], Effort(), 0, "command", None)
    assert "2 of the 3 curves come that close only at the last step" in text
    for name in (DENSE_2019, LINEAR_2019):
        results.curves[name] = results.curves[SCALABLE]
    assert "last step" not in page([results], Effort(), 0, "command", None)
