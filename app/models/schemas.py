"""What model routes give."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

from pydantic import BaseModel, Field, JsonValue

from app.models.loaded import LoadedModel
from model_store import Manifest

ReportName = Literal["report.html", "report.json"]
ModelStatus = Literal["in_use", "loading", "refused", "stored"]


def has_report(manifest: Manifest) -> bool:
    """Whether the version came with both forms of its report."""
    return {*get_args(ReportName)} <= {*manifest.files}


class ModelEntry(BaseModel):
    """A version in the store."""

    version: str = Field(examples=["20261116-021530-3f9a1c"])
    status: ModelStatus = Field(
        description="`in_use`: this process answers with it. `loading`: it was activated a moment ago. "
        "`refused`: it is damaged or cannot be loaded, and the one in use goes on."
    )
    created_at: datetime | None
    refused_because: str | None
    has_report: bool = Field(description="Whether `GET /models/{version}/report.html` shows one.")


class ModelsAnswer(BaseModel):
    """All versions, the newest first."""

    in_use: str | None = Field(description="The version that this process answers with.")
    models: list[ModelEntry]


class ServingKnobs(BaseModel):
    """How the model is served unless a request says otherwise."""

    decoupling: float
    relevance: float
    popularity: float


class ModelInUse(BaseModel):
    """The model in use."""

    version: str
    created_at: datetime
    kind: str = Field(examples=["scalable"])
    items: int = Field(description="M, the size of the catalogue.", examples=[3300])
    rank: int = Field(description="R, the number of columns of F.", examples=[100])
    knobs: ServingKnobs
    metrics: dict[str, JsonValue] = Field(description="The evaluation that came with the model.")
    calibration: dict[str, JsonValue] | None = Field(
        description="How true its numbers are: claimed against true, on baskets that it has not seen."
    )
    has_report: bool = Field(description="Whether `GET /models/{version}/report.html` shows more of it.")

    @classmethod
    def of(cls, model: LoadedModel) -> ModelInUse:
        """The answer that shows a model."""
        manifest = model.stored.manifest
        return cls(
            version=model.version,
            created_at=manifest.created,
            kind=manifest.kind,
            items=model.kernel.size,
            rank=model.kernel.rank,
            knobs=ServingKnobs(
                decoupling=model.knobs.decoupling,
                relevance=model.knobs.relevance,
                popularity=model.knobs.popularity,
            ),
            metrics=manifest.metrics,
            calibration=manifest.calibration,
            has_report=has_report(manifest),
        )


class Activation(BaseModel):
    """A version that was made the active one."""

    version: str = Field(examples=["20261116-021530-3f9a1c"])
    previous_version: str | None = Field(description="The version to activate to go back.")
