"""Answers about models, training jobs and health."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class ModelEntry(TypedDict):
    """A version in the model store."""

    version: str
    status: Literal["in_use", "loading", "refused", "stored"]
    created_at: str | None
    refused_because: str | None
    has_report: bool


class ModelsAnswer(TypedDict):
    """All versions, newest first."""

    in_use: str | None
    models: list[ModelEntry]


class Knobs(TypedDict):
    """Default parameters of bundles."""

    decoupling: float
    relevance: float
    popularity: float


class ModelInUse(TypedDict):
    """The model that answers requests."""

    version: str
    created_at: str
    kind: str
    items: int
    rank: int
    knobs: Knobs
    metrics: dict[str, Any]
    calibration: dict[str, Any] | None
    has_report: bool


class Activation(TypedDict):
    """The newly activated version and the one before it."""

    version: str
    previous_version: str | None


class GateFigures(TypedDict):
    """Comparison of a new model with the active one and its strongest rival."""

    metric: str
    candidate: float
    active: float
    rival: str | None
    rival_figure: float | None
    difference: float
    interval: tuple[float, float]
    tolerance: float
    queries: int
    accepted: bool


class Job(TypedDict):
    """Current state of a training job."""

    job_id: str
    state: Literal["queued", "running", "succeeded", "failed", "cancelled", "rejected"]
    phase: str | None
    trigger: str
    request: dict[str, Any]
    attempt: int
    retries: int
    created_at: str
    started_at: str | None
    ended_at: str | None
    step: int | None
    steps: int | None
    validation_log_likelihood: float | None
    seconds_left: float | None
    purchases_drained: int | None
    options_used: dict[str, Any] | None
    baskets: int | None
    items: int | None
    version: str | None
    activated: bool
    gate: GateFigures | None
    error: str | None
    note: str | None


class JobsAnswer(TypedDict):
    """The latest jobs, newest first."""

    jobs: list[Job]
    worker_alive: bool


class AliveAnswer(TypedDict):
    """The process is alive."""

    status: Literal["alive"]


class ReadyAnswer(TypedDict):
    """The service is ready."""

    status: Literal["ready"]
    model_version: str
    refused_version: str | None
    refused_because: str | None
    watchers: dict[str, str | None]
