"""What job routes take and give; the answer is also the form in which Redis keeps a job."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from app.fields import LOCATION, Strict

State = Literal["queued", "running", "succeeded", "failed", "cancelled", "rejected"]
Phase = Literal["draining", "reading", "fitting", "tuning", "publishing", "comparing", "activating"]
Trigger = Literal["request", "schedule", "purchases"]
ENDED: tuple[State, ...] = ("succeeded", "failed", "cancelled", "rejected")

_Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
_Location = Annotated[str, StringConstraints(min_length=1, max_length=2048, pattern=LOCATION)]
_Strength = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1, le=10_000_000)]


class FitOptions(Strict):
    """The options of `python -m training fit`, under the same names.

    What is left out is as in the active version (but for `threads` and `report`), and without one the default
    of `fit`. An explicit null is the default of `fit`, whatever the active version has.
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
        default=None, description="`previous` begins at the active model, if there is one."
    )
    steps: _Count | None = Field(default=None, examples=[1000])
    batch_size: _Count | None = None
    learning_rate: Annotated[float, Field(gt=0, le=10)] | None = None
    evaluate_every: _Count | None = None
    patience: _Count | None = None
    half_life_days: Annotated[float, Field(gt=0, le=100_000)] | None = Field(
        default=None, description="Baskets this much older count half; needs a time for every basket."
    )
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    threads: Annotated[int, Field(ge=1, le=256)] | None = None
    tune: Literal["none", "quick", "thorough"] | None = Field(
        default=None,
        description="Choose the relevance prior and the knobs on held-out items; `thorough`: the fit's "
        "options as well, in several fits.",
    )
    validation: _Count | None = None
    max_basket_size: _Count | None = None
    min_item_count: _Count | None = Field(default=None, description="Items in fewer baskets are dropped.")
    only_listed_items: bool | None = Field(
        default=None, description="Drop items that the item table does not list."
    )
    report: bool | None = Field(
        default=None,
        description="Measure the model beside the baselines; `report.html` goes with the version. "
        "Done unless this is false.",
    )
    format: Literal["lines", "csv", "parquet", "jsonl"] | None = None
    columns: dict[Literal["basket_id", "item_id", "timestamp", "quantity"], _Name] | None = Field(
        default=None,
        description="Our names of columns to those of your table.",
        examples=[{"basket_id": "order"}],
    )

    def given(self) -> dict[str, object]:
        """What was asked for; None is the default of `fit`."""
        return self.model_dump(exclude_unset=True)


class JobRequest(Strict):
    """A training job to be done."""

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
        description="Learn from checked-out carts as well: the drained ones, with the newest.",
    )
    activate: Literal["auto", "never", "always"] = Field(
        default="auto",
        description="`auto`: unless the new model is worse than those before it, or cannot be compared.",
    )
    options: FitOptions = Field(default_factory=FitOptions)


class GateFigures(BaseModel):
    """The new model against what was live before, on the same held-out items."""

    metric: str = Field(examples=["ndcg@10"])
    candidate: float = Field(description="In percent.", examples=[23.1])
    active: float = Field(description="The active version's figure.", examples=[22.8])
    rival: str | None = Field(
        default=None,
        description="The version that decided: the active one, or a better one that was active since a "
        "person last chose a version.",
        examples=["20261115-021530-3f9a1c"],
    )
    rival_figure: float | None = Field(default=None, examples=[22.8])
    difference: float = Field(description="Of the candidate and the rival.", examples=[0.3])
    interval: tuple[float, float] = Field(
        description="95 % of the difference, by a paired bootstrap.", examples=[[-0.4, 1.1]]
    )
    tolerance: float = Field(examples=[1.0])
    queries: int = Field(examples=[812])
    accepted: bool


class Job(BaseModel):
    """A training job as it stands."""

    job_id: str = Field(examples=["20261116-021530-3f9a1c"])
    state: State
    phase: Phase | None = Field(default=None, description="What a running job is busy with.")
    trigger: Trigger = "request"
    request: JobRequest
    attempt: int = 1
    retries: int = Field(default=0, description="How often it is started again should its worker die.")
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    step: int | None = Field(default=None, description="Steps of the fit that are done, of `steps` at most.")
    steps: int | None = None
    validation_log_likelihood: float | None = Field(default=None, description="Of the best kernel so far.")
    seconds_left: float | None = Field(default=None, description="Of the fit, at most, at its present pace.")
    purchases_drained: int | None = Field(default=None, description="Checked-out carts new to the data.")
    options_used: FitOptions | None = Field(
        default=None,
        description="All options, also those that were not asked for. What is chosen from the data is null "
        "until it is read.",
    )
    baskets: int | None = None
    items: int | None = None
    version: str | None = Field(default=None, description="The model version that was published.")
    activated: bool = False
    gate: GateFigures | None = None
    error: str | None = Field(default=None, description="Why it failed, was rejected or is tried again.")
    note: str | None = Field(
        default=None, description="What keeps it from beginning, or what to know about its result."
    )


class JobsAnswer(BaseModel):
    """The latest jobs, the newest first."""

    jobs: list[Job]
    worker_alive: bool = Field(description="Whether a worker is there to do them.")
