"""What health routes give."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class AliveAnswer(BaseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class ReadyAnswer(BaseModel):
    """Everything is there."""

    status: Literal["ready"] = "ready"
    model_version: str
    refused_version: str | None = Field(description="A newer version that could not be loaded.")
    refused_because: str | None
    watchers: dict[str, str | None] = Field(
        description="Whether this process follows changes of the model and of items: for each task null, or "
        "what is wrong and since when. With a failing one the service goes on with what it knows.",
        examples=[{"models": None, "activations": None, "items": None}],
    )
