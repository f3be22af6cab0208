"""Response schemas of models."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

from pydantic import BaseModel, Field, JsonValue

from app.catalogue.served_model import ServedModel
from model_store import Knobs, Manifest

ReportName = Literal["report.html", "report.json"]
ModelStatus = Literal["in_use", "loading", "refused", "stored"]


def has_report(manifest: Manifest) -> bool:
    """Whether the version has a report, in both formats."""
    return {*get_args(ReportName)} <= {*manifest.files}


class ModelEntry(BaseModel):
    """A version in the model store."""

    version: str = Field(examples=["20261116-021530-3f9a1c"])
    status: ModelStatus = Field(
        description="`in_use`: this process uses it. `loading`: it was activated a moment ago. `refused`: it "
        "is damaged or cannot be loaded, and the one in use stays."
    )
    created_at: datetime | None
    refused_because: str | None
    has_report: bool = Field(description="Whether there is a `GET /models/{version}/report.html`.")


class ModelsAnswer(BaseModel):
    """All versions, newest first."""

    in_use: str | None = Field(description="The version that this process uses.")
    models: list[ModelEntry]


class ModelInUse(BaseModel):
    """The model in use."""

    version: str
    created_at: datetime
    kind: str = Field(examples=["scalable"])
    items: int = Field(description="M, the size of the catalogue.", examples=[3300])
    rank: int = Field(description="R, the number of columns of F.", examples=[100])
    knobs: Knobs = Field(description="The serving parameters ω, β and γ, unless a request sets others.")
    metrics: dict[str, JsonValue] = Field(description="The evaluation of the training run.")
    calibration: dict[str, JsonValue] | None = Field(
        description="Predicted against observed figures, on held-out baskets."
    )
    has_report: bool = Field(description="Whether there is a `GET /models/{version}/report.html`.")

    @classmethod
    def of(cls, model: ServedModel) -> ModelInUse:
        """The response for a model."""
        manifest = model.stored.manifest
        return cls(
            version=model.version,
            created_at=manifest.created,
            kind=manifest.kind,
            items=model.kernel.size,
            rank=model.kernel.rank,
            knobs=model.knobs,
            metrics=manifest.metrics,
            calibration=manifest.calibration,
            has_report=has_report(manifest),
        )


class Activation(BaseModel):
    """An activated version."""

    version: str = Field(examples=["20261116-021530-3f9a1c"])
    previous_version: str | None = Field(description="The version that was active before.")
