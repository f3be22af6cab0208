"""Structured logs: one JSON object per line on standard output, also for libraries that use `logging`."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def configure_logs(level: str) -> None:
    """Send structlog's and the standard library's records to standard output as JSON."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer(default=str)],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(sys.stdout),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processor=structlog.processors.JSONRenderer(default=str),
            foreign_pre_chain=shared,
        )
    )
    logging.basicConfig(handlers=[handler], level=_LEVELS[level], force=True)
    # Our middleware logs requests; uvicorn's start and stop messages stay.
    logging.getLogger("uvicorn.access").disabled = True


def get_logger() -> Any:
    """The service's logger."""
    return structlog.get_logger("tripod")
