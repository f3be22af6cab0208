"""The evaluation report of a model, as an HTML page and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from training.evaluation.calibration import Calibration
from training.evaluation.lifts import StrongestPairs
from training.evaluation.page import render
from training.evaluation.scoring import Evaluation


class CurvePoint(NamedTuple):
    """A point of the training curve."""

    step: int
    validation_log_likelihood: float


@dataclass(frozen=True)
class ReportData:
    """The contents of a report; empty parts are left out of the page."""

    title: str
    facts: Mapping[str, str]  # label → value
    evaluation: Evaluation
    curve: Sequence[CurvePoint] = ()
    relations: StrongestPairs | None = None
    calibration: Calibration = field(default_factory=Calibration)
    determinant: str = ""  # the contribution of the determinant, in a sentence
    notes: Sequence[str] = field(default_factory=tuple)  # warnings about the figures


class Report(NamedTuple):
    """The contents of `report.html` and `report.json`."""

    html: bytes
    json: bytes


def write_report(data: ReportData) -> Report:
    """The report as a self-contained page, and as JSON (a superset of `evaluate --json`)."""
    document = {
        "title": data.title,
        "facts": dict(data.facts),
        "notes": list(data.notes),
        **data.evaluation.as_json(),
        "curve": [point._asdict() for point in data.curve],
        "complements": [asdict(pair) for pair in data.relations.complements] if data.relations else [],
        "substitutes": [asdict(pair) for pair in data.relations.substitutes] if data.relations else [],
        "calibration": data.calibration.as_dict(),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return Report(html=render(data).encode(), json=f"{text}\n".encode())
