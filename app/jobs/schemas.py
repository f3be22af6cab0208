"""Requests and answers of the job routes; a `Job` is also the record in Redis."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from app.http.inputs import LOCATION, Strict

State = Literal["queued", "running", "succeeded", "failed", "cancelled", "rejected"]
Phase = Literal["draining", "reading", "fitting", "tuning", "publishing", "comparing", "activating"]
Trigger = Literal["request", "schedule", "purchases"]
ENDED: tuple[State, ...] = ("succeeded", "failed", "cancelled", "rejected")

_Column = Literal["basket_id", "item_id", "timestamp", "quantity", "shopper_id"]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
_Location = Annotated[str, StringConstraints(min_length=1, max_length=2048, pattern=LOCATION)]
_Strength = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1, le=10_000_000)]


class FitOptions(Strict):
    """The options of `python -m training fit`, under the same names.

    An option that is left out is taken from the active version (except `threads` and `report`); without an
    active version it has the default of `fit`. An option that is null has the default of `fit`.
    """

    kernel: Literal["symmetric", "ndpp2019", "scalable", "tied"] | None = None
    rank: Annotated[int, Field(ge=1, le=10_000)] | None = Field(default=None, examples=[50])
    skew_rank: Annotated[int, Field(ge=2, le=10_000, multiple_of=2)] | None = Field(
        default=None, examples=[100]
    )
    diagonal: bool | None = None
    alpha: _Strength | None = None
    beta: _Strength | None = None
    init: Literal["scaled", "paper", "previous"] | None = Field(
        default=None, description="`previous` starts from the active model, if there is one."
    )
    steps: _Count | None = Field(default=None, examples=[1000])
    batch_size: _Count | None = None
    learning_rate: Annotated[float, Field(gt=0, le=10)] | None = None
    evaluate_every: _Count | None = None
    patience: _Count | None = None
    half_life_days: Annotated[float, Field(gt=0, le=100_000)] | None = Field(
        default=None, description="A basket this much older has half the weight; every basket needs a time."
    )
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    threads: Annotated[int, Field(ge=1, le=256)] | None = None
    tune: Literal["none", "quick", "thorough"] | None = Field(
        default=None,
        description="Choose the relevance prior and the scoring parameters on validation baskets; "
        "`thorough`: also the options of the fit, in several fits.",
    )
    validation: _Count | None = None
    max_basket_size: _Count | None = None
    min_item_count: _Count | None = Field(default=None, description="Items in fewer baskets are dropped.")
    only_listed_items: bool | None = Field(
        default=None, description="Drop items that the item table does not list."
    )
    report: bool | None = Field(
        default=None,
        description="Evaluate the model beside the baselines and publish `report.html` with the version. "
        "Default: true.",
    )
    format: Literal["lines", "csv", "parquet", "jsonl"] | None = None
    columns: dict[_Column, _Name] | None = Field(
        default=None,
        description="From our column names to those of your table.",
        examples=[{"basket_id": "order"}],
    )

    def given(self) -> dict[str, object]:
        """The options in the request; None means the default of `fit`."""
        return self.model_dump(exclude_unset=True)


class JobRequest(Strict):
    """A request for a training job."""

    data: _Location | None = Field(
        default=None,
        description="Baskets to learn from: a file, a folder or an fsspec URL that the worker can read. "
        "Default: `TRIPOD_DATA`.",
        examples=["/data/baskets.parquet"],
    )
    items: _Location | None = Field(
        default=None,
        description="The item table. Default: `TRIPOD_ITEM_TABLE`.",
        examples=["/data/items.csv"],
    )
    purchases: bool = Field(
        default=True,
        description="Also learn from checked-out carts.",
    )
    activate: Literal["auto", "never", "always"] = Field(
        default="auto",
        description="`auto`: activate the model unless it is worse than earlier ones or cannot be compared.",
    )
    options: FitOptions = Field(default_factory=FitOptions)


class GateFigures(BaseModel):
    """Comparison of the new model with the earlier ones on the same held-out items."""

    metric: str = Field(examples=["ndcg@10"])
    candidate: float = Field(description="In percent.", examples=[23.1])
    active: float = Field(description="The active version's figure.", examples=[22.8])
    rival: str | None = Field(
        default=None,
        description="The version that the new one is compared with: the active one, or a better one that a "
        "job activated since a person last chose a version.",
        examples=["20261115-021530-3f9a1c"],
    )
    rival_figure: float | None = Field(default=None, examples=[22.8])
    difference: float = Field(description="Candidate minus rival.", examples=[0.3])
    interval: tuple[float, float] = Field(
        description="95 % interval of the difference, by a paired bootstrap.", examples=[[-0.4, 1.1]]
    )
    tolerance: float = Field(examples=[1.0])
    queries: int = Field(examples=[812])
    accepted: bool


class Job(BaseModel):
    """A training job."""

    job_id: str = Field(examples=["20261116-021530-3f9a1c"])
    state: State
    phase: Phase | None = Field(default=None, description="What a running job is doing.")
    trigger: Trigger = "request"
    request: JobRequest
    attempt: int = 1
    retries: int = Field(default=0, description="How often it is started again if its worker dies.")
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    step: int | None = Field(default=None, description="Steps of the fit done so far.")
    steps: int | None = Field(default=None, description="Maximum number of steps.")
    validation_log_likelihood: float | None = Field(default=None, description="The best so far.")
    seconds_left: float | None = Field(default=None, description="Until the fit ends, at most.")
    purchases_drained: int | None = Field(default=None, description="Checked-out carts added to the data.")
    options_used: FitOptions | None = Field(
        default=None,
        description="All options, with those taken from the active version and the defaults. Options that "
        "depend on the data are null until it is read.",
    )
    baskets: int | None = None
    items: int | None = None
    version: str | None = Field(default=None, description="The model version that was published.")
    activated: bool = False
    gate: GateFigures | None = None
    error: str | None = Field(default=None, description="Why it failed, was rejected or is started again.")
    note: str | None = Field(
        default=None, description="Why it has not started, or a warning about its result."
    )


class JobsAnswer(BaseModel):
    """The latest jobs, the newest first."""

    jobs: list[Job]
    worker_alive: bool = Field(description="Whether a worker is running.")
