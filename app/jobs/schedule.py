"""Scheduled jobs: at certain times, or after enough purchases; one job for any number of workers.

Redis remembers when a worker last checked the schedule. A time that has passed since then is due, even if no
worker was alive at that time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from croniter import croniter

from app.carts.store import PURCHASE_LOG
from app.jobs.schemas import JobRequest, Trigger
from app.jobs.store import JobStore
from app.runtime.logs import get_logger
from app.settings import Settings, SettingsError

_ONCE_SECONDS = 3600  # no second job for the same trigger within this time, even if the first one died
_CATCH_UP = timedelta(days=1)  # a time that was missed by more than this is skipped


class Schedule:
    """The schedule of the settings; the workers agree through Redis which of them creates a job."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._request = JobRequest.model_validate_json(settings.retrain_request)
        self._times = settings.retrain_cron
        self._after = settings.retrain_after_baskets
        if (self._times or self._after) and not (settings.data or self._request.data):
            raise SettingsError("TRIPOD_DATA is not set: scheduled training jobs need baskets to learn from.")

    def tick(self, store: JobStore, now: datetime) -> None:
        """Create the jobs that are due; called about every second."""
        last_polled = store.last_poll(now, _CATCH_UP)
        if self._times is not None and last_polled is not None:
            this_moment = now.astimezone(UTC) + timedelta(microseconds=1)  # `get_prev` excludes its argument
            due: datetime = croniter(self._times, this_moment).get_prev(datetime)
            # Two workers may have read the same `last_polled`: `once` lets one of them create the job.
            if due > last_polled and store.once(f"cron:{due:%Y%m%d%H%M%S}", _ONCE_SECONDS):
                self._create(store, "schedule")
        if self._after is not None:
            seen, new = store.purchases(PURCHASE_LOG)
            if new >= self._after and store.once(f"purchases:{seen}", _ONCE_SECONDS):
                self._create(store, "purchases")

    def _create(self, store: JobStore, trigger: Trigger) -> None:
        created, job = store.create(self._request, trigger, self._settings.job_retries)
        event = "scheduled training job" if created else "no scheduled training job: one is already waiting"
        get_logger().info(event, job_id=job.job_id, trigger=trigger)
