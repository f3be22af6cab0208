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
