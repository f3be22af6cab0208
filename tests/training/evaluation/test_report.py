from __future__ import annotations

import json
import re
from dataclasses import asdict
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from ndpp import Kernel, NextItem
from training.baskets import Baskets
from training.evaluation.assess import Assessment, assess, questions_from
from training.evaluation.calibration import Calibration
from training.evaluation.charts import (
    category_axis,
    cloud_chart,
    interval_chart,
    line_chart,
    log_axis,
    number_axis,
    scatter_chart,
)
from training.evaluation.lifts import Pair, StrongestPairs
from training.evaluation.next_item_calibration import CalibrationBin, Claim, NextItemCalibration
from training.evaluation.report import CurvePoint, Report, ReportData, write_report
from training.evaluation.tripod import TripodModel
from training.next_item.mixture import START
from training.statistics.lifts import learn_lifts

HOSTILE = '<script>alert("1")</script> & Söhne'

RELATIONS = StrongestPairs(
    complements=(Pair(HOSTILE, "beans", 3.0, 2.5, 3.6, 120, 40.5),),
    substitutes=(Pair("tea", "coffee", 0.2, 0.1, 0.4, None, 9.0),),
)


class Page(HTMLParser):
    """Notes every tag and complains about one that is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="session")
def random_kernel() -> Kernel:
    rng = np.random.default_rng(11)
    D = rng.normal(size=(8, 8))
    return Kernel.tied(rng.normal(size=(60, 8)) / 4, D - D.T, np.full(60, 0.05))


@pytest.fixture(scope="session")
def assessment(random_kernel: Kernel, baskets: Baskets) -> Assessment:
    names = [HOSTILE, *(f"item {row}" for row in range(1, 60))]
    questions = questions_from(baskets, baskets.catalogue)
    model = TripodModel(NextItem(random_kernel, START.mixture(0.5)))
    return assess(
        model,
        names,
        questions,
        baskets,
        lifts=learn_lifts(baskets, baskets.select(np.arange(0)), random_kernel),
    )


@pytest.fixture(scope="session")
def report(assessment: Assessment) -> Report:
    curve = [CurvePoint(step, -30 + 10 * (1 - 0.9**step)) for step in range(0, 60, 2)]
    return write_report(
        ReportData(
            title=f"A model of {HOSTILE}",
            facts={"Data": HOSTILE},
            evaluation=assessment.evaluation,
            curve=curve,
            relations=RELATIONS,
            calibration=assessment.calibration,
            notes=[HOSTILE],
        )
    )


def test_page_is_well_formed_and_self_contained(report: Report) -> None:
    html = report.html.decode()
    page = Page(html)
    assert page.open == []
    assert page.links == []
    assert "script" not in page.tags
    assert not re.search(r"url\(|@import|https?:", html)
    assert "prefers-color-scheme: dark" in html


def test_page_escapes_item_names(report: Report) -> None:
    html = report.html.decode()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_charts_have_ticks_and_axis_titles(report: Report) -> None:
    charts = re.findall(r"<svg.*?</svg>", report.html.decode())
    assert len(charts) == 5  # two comparisons, by cart size, calibration, training curve
    for chart in charts:
        root = ElementTree.fromstring(chart)
        texts = [element for element in root.iter() if element.tag == "text"]
        titles = [element for element in texts if element.get("class") == "axis"]
        ticks = [element for element in texts if element.get("class") == "tick"]
        assert titles and all(element.text for element in titles)
        assert len(ticks) >= 2
        assert "nan" not in chart


def test_json_calibration_is_null_without_checks(assessment: Assessment) -> None:
    unchecked = ReportData(title="A model", facts={}, evaluation=assessment.evaluation)
    assert json.loads(write_report(unchecked).json)["calibration"] is None


def test_json_has_the_figures_of_the_page(report: Report, assessment: Assessment) -> None:
    document = json.loads(report.json)
    assert document["models"] == json.loads(json.dumps(assessment.evaluation.as_json()))["models"]
    assert document["curve"][0] == {"step": 0, "validation_log_likelihood": -30}
    claims = assessment.calibration.next_item
    assert claims is not None
    assert document["calibration"]["next_item"]["first"]["claimed"] == claims.first.claimed
    assert len(document["calibration"]["next_item"]["bins"]) == 10
    assert document["calibration"]["lifts"]["complements"] >= 0
    assert f"{100 * claims.first.true:.1f} %" in report.html.decode()
    assert document["complements"] == [asdict(pair) for pair in RELATIONS.complements]
    assert document["substitutes"] == [asdict(pair) for pair in RELATIONS.substitutes]
    assert "<td>0.20 (0.10–0.40)</td><td>–</td><td>9.0</td>" in report.html.decode()
    hit = document["models"]["tripod"]["hit@10"]
    assert f"<strong>{hit:.1f} %</strong>" in report.html.decode()


def test_page_leaves_out_missing_parts(assessment: Assessment) -> None:
    report = write_report(ReportData("Bare", {}, assessment.evaluation))
    html = report.html.decode()
    assert Page(html).open == []
    assert "Learning" not in html
    assert "Complements" not in html


def test_charts_of_extreme_values_are_well_formed() -> None:
    flat = number_axis("y", [5.0, 5.0])
    lines = [
        ("m-tripod", HOSTILE, [(0.0, 5.0), (1.0, 5.0)]),
        ("m-ease", "b", [(0.0, 5.0)]),
        ("m-als", "c", []),
    ]
    charts = [
        line_chart(category_axis("x", ["a", "b"]), flat, lines, mark=(0.0, 5.0)),
        line_chart(log_axis("x", [2.0, 2.0]), flat, lines, legend=True),
        cloud_chart(flat, flat, [(5.0, 5.0), (5.0, 5.0)], (HOSTILE, [(5.0, 5.0)])),
        interval_chart("t", [("m-tripod", "a", 0.0, (0.0, 0.0))]),
        interval_chart("t", [("m-tripod", "a", -1e6, (-1e6, 1e6)), ("m-ease", "b", 1.0, (0.5, 1.5))]),
        scatter_chart(
            number_axis("x", [-3, 0]), number_axis("y", [-3, 0]), [(-1, -1, (-2, -0.5))], "perfect"
        ),
    ]
    for chart in charts:
        root = ElementTree.fromstring(chart)
        assert root.tag == "svg"
        assert "nan" not in chart and "inf" not in chart


def test_log_axis_has_round_ticks() -> None:
    assert [label for _, label in log_axis("s", [0.3, 12]).ticks] == ["0.5", "1", "2", "5", "10"]
    wide = log_axis("s", [0.02, 3000])
    assert [label for _, label in wide.ticks] == ["0.1", "1", "10", "100", "1,000"]
    assert wide.share(np.log10(3000)) == 1


def test_cloud_chart_draws_each_pixel_once() -> None:
    axis = number_axis("x", [0.0, 1.0])
    chart = cloud_chart(axis, axis, [(0.1, 0.1), (0.1, 0.1000001), (0.9, 0.1)], ("mean", [(0.5, 0.1)]))
    assert chart.count("h0") == 2


def test_reliability_diagram_shows_shares_of_zero(assessment: Assessment) -> None:
    bins = (
        CalibrationBin(0.0, 0.02, (0.01, 0.03), 500),
        CalibrationBin(0.1, 0.0, (0.0, 0.02), 90),
        CalibrationBin(0.5, 0.4, (0.3, 0.5), 70),
    )
    found = NextItemCalibration(660, Claim(0.3, 0.1), Claim(0.6, 0.5), 0.05, 4.2, bins)
    html = write_report(
        ReportData("Zero", {}, assessment.evaluation, calibration=Calibration(next_item=found))
    ).html.decode()
    (chart,) = [svg for svg in re.findall(r"<svg.*?</svg>", html) if "share of items that came next" in svg]
    assert chart.count("<circle") == 3
    assert "The probabilities are too high" in html
    for tick in ("1 %", "2 %", "5 %", "50 %"):
        assert f">{tick}</text>" in chart
