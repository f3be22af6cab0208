"""The report of a model: pure functions from what was measured to a page and to JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from training.evaluation.page import render
from training.evaluation.relations import StrongestPairs
from training.evaluation.scoring import Evaluation
from training.evaluation.truth import Truth


class CurvePoint(NamedTuple):
    """How far training had come after a step."""

    step: int
    validation_log_likelihood: float


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows; what is left empty is left out of the page."""

    title: str
    facts: Mapping[str, str]  # what was trained on what: label → value
    evaluation: Evaluation
    curve: Sequence[CurvePoint] = ()
    relations: StrongestPairs | None = None
    truth: Truth = field(default_factory=Truth)
    determinant: str = ""  # what the determinant adds, in a sentence
    notes: Sequence[str] = field(default_factory=tuple)  # what a reader must know before trusting a figure


class Report(NamedTuple):
    """The same report twice: `report.html` for people, `report.json` for programs."""

    html: bytes
    json: bytes


def write_report(data: ReportData) -> Report:
    """One self-contained page, and the same figures as JSON (the form of `evaluate --json`, and more)."""
    document = {
        "title": data.title,
        "facts": dict(data.facts),
        "notes": list(data.notes),
        **data.evaluation.as_json(),
        "curve": [point._asdict() for point in data.curve],
        "complements": [asdict(pair) for pair in data.relations.complements] if data.relations else [],
        "substitutes": [asdict(pair) for pair in data.relations.substitutes] if data.relations else [],
        "calibration": data.truth.as_dict(),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return Report(html=render(data).encode(), json=f"{text}\n".encode())
