"""Response schemas of health."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


class AliveAnswer(BaseModel):
    """The process responds."""

    status: Literal["alive"] = "alive"


class ReadyAnswer(BaseModel):
    """The service is ready."""

    status: Literal["ready"] = "ready"
    model_version: str
    refused_version: str | None = Field(description="A newer version that could not be loaded.")
    refused_because: str | None
    watchers: dict[str, str | None] = Field(
        description="The background tasks that follow changes of models and items, and purchases of "
        "shoppers: null, or what is wrong and since when. While a task fails, the service uses what it "
        "knows.",
        examples=[{"models": None, "activations": None, "items": None, "shoppers": None}],
    )
