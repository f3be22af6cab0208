"""Prometheus metrics, collected over all server processes."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.registry import REGISTRY

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

REQUESTS = Histogram(
    "tripod_request_seconds",
    "Response time by route template, method and status.",
    ["route", "method", "status"],
    buckets=_SECONDS,
)
REDIS = Histogram("tripod_redis_seconds", "Duration of calls to Redis.", ["outcome"], buckets=_SECONDS)
GAINS = Counter("tripod_gains_computed", "Conditional gains computed: one per item and request.")
REUSED = Counter("tripod_answers_reused", "Recommendations and bundles served from the cache.")
FALLBACKS = Counter("tripod_fallbacks", "Responses with a fallback, by reason.", ["reason"])
OVERLOADS = Counter("tripod_overloads", "Computations refused because too many were waiting.")
MODEL_LOADS = Counter("tripod_model_loads", "Attempts to load a model.", ["outcome"])
MODEL = Gauge(
    "tripod_model_info", "1 for the model version in use.", ["version"], multiprocess_mode="livemax"
)
MODEL_CREATED = Gauge(
    "tripod_model_created_timestamp_seconds",
    "When the model in use was trained, as a Unix time.",
    multiprocess_mode="livemin",
)
CATALOGUE = Gauge("tripod_catalogue_items", "Items of the model in use.", multiprocess_mode="livemin")


@cache
def request_seconds(route: str, method: str, status: int) -> Histogram:
    """The labelled histogram, cached because looking labels up costs more than the observation."""
    return REQUESTS.labels(route, method, str(status))


@cache
def redis_seconds(*, ok: bool) -> Histogram:
    """The histogram of calls to Redis that succeeded or failed."""
    return REDIS.labels("ok" if ok else "error")


def exposition() -> bytes:
    """All metrics in Prometheus' text format."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    _forget_dead_processes(Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]))
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def _forget_dead_processes(folder: Path) -> None:
    """Drop the live gauges of processes that have ended; their counters stay.

    This is done when metrics are read, because a process that is killed cannot do it at its end.
    """
    for pid in {int(path.stem.rsplit("_", 1)[1]) for path in folder.glob("gauge_live*.db")}:
        if not _is_alive(pid):
            with suppress(FileNotFoundError):  # another process has done it
                multiprocess.mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # PermissionError: another user has the pid now
        return False
    return True
