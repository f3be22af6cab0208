"""When jobs begin by themselves: at certain times, or after enough purchases; once, however many workers."""

from __future__ import annotations

from datetime import UTC, datetime

from croniter import croniter

from app.carts.store import PURCHASE_LOG
from app.jobs.schemas import JobRequest, Trigger
from app.jobs.store import JobStore
from app.logs import get_logger
from app.settings import Settings, SettingsError

_CLAIM_SECONDS = 3600  # a job that died before it looked at the purchases is not tried again sooner


class Schedule:
    """Asked every second or so; the workers agree through Redis on who starts a job."""

    def __init__(self, settings: Settings, now: datetime) -> None:
        self._settings = settings
        self._request = JobRequest.model_validate_json(settings.retrain_request)
        self._after = settings.retrain_after_baskets
        self._next = self._following(now)
        if (self._next or self._after) and not (settings.data or self._request.data):
            raise SettingsError("TRIPOD_DATA is not set: scheduled training jobs have nothing to learn from.")

    def tick(self, store: JobStore, now: datetime) -> None:
        """Start what is due."""
        if self._next is not None and now >= self._next:
            due, self._next = self._next, self._following(now)
            if store.first_to_claim(f"cron:{due:%Y%m%d%H%M%S}", _CLAIM_SECONDS):
                self._start(store, "schedule")
        if self._after is not None:
            seen, new = store.purchases(PURCHASE_LOG)
            if new >= self._after and store.first_to_claim(f"purchases:{seen}", _CLAIM_SECONDS):
                self._start(store, "purchases")

    def _following(self, now: datetime) -> datetime | None:
        expression = self._settings.retrain_cron
        if expression is None:
            return None
        moment: datetime = croniter(expression, now.astimezone(UTC)).get_next(datetime)
        return moment

    def _start(self, store: JobStore, trigger: Trigger) -> None:
        created, job = store.create(self._request, trigger, self._settings.job_retries)
        event = "scheduled training job" if created else "no scheduled training job: one waits already"
        get_logger().info(event, job_id=job.job_id, trigger=trigger)
