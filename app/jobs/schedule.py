"""When jobs begin by themselves: at certain times, or after enough purchases; once, however many workers.

Redis remembers when a worker last looked. A time that has come since then is due, also if no worker was alive
at that moment.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from croniter import croniter

from app.carts.store import PURCHASE_LOG
from app.jobs.schemas import JobRequest, Trigger
from app.jobs.store import JobStore
from app.logs import get_logger
from app.settings import Settings, SettingsError

_CLAIM_SECONDS = 3600  # a job that died before it looked at the purchases is not tried again sooner
_CATCH_UP = timedelta(days=1)  # a time that no worker has seen for longer is let go


class Schedule:
    """Asked every second or so; the workers agree through Redis on who starts a job."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._request = JobRequest.model_validate_json(settings.retrain_request)
        self._times = settings.retrain_cron
        self._after = settings.retrain_after_baskets
        if (self._times or self._after) and not (settings.data or self._request.data):
            raise SettingsError("TRIPOD_DATA is not set: scheduled training jobs have nothing to learn from.")

    def tick(self, store: JobStore, now: datetime) -> None:
        """Start what is due."""
        looked = store.last_look(now, _CATCH_UP)
        if self._times is not None and looked is not None:
            this_moment = now.astimezone(UTC) + timedelta(microseconds=1)  # `get_prev` gives what is before
            due: datetime = croniter(self._times, this_moment).get_prev(datetime)
            # Two workers may have looked at the same moment: the claim decides.
            if due > looked and store.first_to_claim(f"cron:{due:%Y%m%d%H%M%S}", _CLAIM_SECONDS):
                self._start(store, "schedule")
        if self._after is not None:
            seen, new = store.purchases(PURCHASE_LOG)
            if new >= self._after and store.first_to_claim(f"purchases:{seen}", _CLAIM_SECONDS):
                self._start(store, "purchases")

    def _start(self, store: JobStore, trigger: Trigger) -> None:
        created, job = store.create(self._request, trigger, self._settings.job_retries)
        event = "scheduled training job" if created else "no scheduled training job: one waits already"
        get_logger().info(event, job_id=job.job_id, trigger=trigger)
