"""Start, list, read, follow and cancel training jobs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from redis.exceptions import RedisError

from app.http.errors import Invalid, JobEnded, JobNotFound, JobWaiting, RedisUnavailable
from app.jobs.schemas import ENDED, Job, JobRequest, JobsAnswer
from app.jobs.store import JobStore, events_key, unpacked
from app.redis.client import RedisLink
from app.redis.failures import failure_of
from app.settings import Settings

_POLL_SECONDS = 0.25  # how often `follow` reads new events
_POLLS_BETWEEN_CHECKS = 8  # how often `follow` checks that the job's process is alive
_EVENT_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_ID_LIMIT = 2**64  # both parts of an event's id are below this
_NO_WORKER = "No worker is alive: start one with `python -m app worker`."

Result = TypeVar("Result")
Event = tuple[str, Job]  # the event's id and the job after that change


class Jobs:
    """The training jobs of the service."""

    def __init__(self, link: RedisLink, settings: Settings) -> None:
        self._link = link
        self._settings = settings
        self._store = JobStore.connect(settings.redis_url)

    async def start(self, request: JobRequest) -> Job:
        """Queue a job; JobWaiting if one is queued already."""
        if request.data is None and self._settings.data is None:
            raise Invalid(("body.data", "no baskets to learn from: name them here, or set TRIPOD_DATA"))
        retries = self._settings.job_retries
        created, job = await self._in_thread(lambda: self._store.create(request, "request", retries))
        if not created:
            address = f"/training-jobs/{job.job_id}"
            raise JobWaiting(
                f"Job {job.job_id} is already waiting: follow it at {address}, or cancel it first.",
                job_id=job.job_id,
                location=address,
            )
        return await self._with_note(job)

    async def latest(self) -> JobsAnswer:
        """The latest jobs, the newest first."""
        jobs = await self._in_thread(self._store.latest)
        alive = await self._in_thread(self._store.worker_alive)
        return JobsAnswer(jobs=[_noted(job, alive) for job in jobs], worker_alive=alive)

    async def get(self, job_id: str) -> Job:
        """The job, or JobNotFound."""
        job = await self._in_thread(lambda: self._store.get(job_id))
        if job is None:
            raise JobNotFound(f"There is no training job {job_id!r}; only the latest hundred are kept.")
        return await self._with_note(job)

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job; its work process ends within a second."""
        await self.get(job_id)
        outcome, job = await self._in_thread(lambda: self._store.cancel(job_id))
        if outcome != "ok" or job is None:
            state = "its model is being activated" if job and job.state == "running" else "it has ended"
            raise JobEnded(f"Job {job_id} cannot be cancelled: {state}.")
        return job

    async def follow(self, job: Job, after: str | None) -> AsyncIterator[Event]:
        """The job as it is now, then each change until it ends; with an event's id, the changes after it.

        An id newer than the newest event (from another job or another Redis) counts as the newest event. An
        invalid id is ignored. While Redis is unavailable the stream waits.
        """
        last = None
        if after and _EVENT_ID.fullmatch(after) and max(_order(after)) < _ID_LIMIT:
            ids = [event_id for event_id, _ in await self._events(job.job_id, None)]
            last = min([after, *ids], key=_order)
        newest, polls = job, 1
        while True:
            try:
                events = [
                    (event_id, await self._with_note(then))
                    for event_id, then in await self._events(job.job_id, last)
                ]
                if not events and polls % _POLLS_BETWEEN_CHECKS == 0:
                    await self.get(job.job_id)  # adds an event if the job's process has died
            except RedisUnavailable:  # the response has begun: wait until Redis is back
                events = []
            except JobNotFound:  # Redis has lost its data
                return
            for last, newest in events:
                yield last, newest
            if events:
                continue
            if newest.state in ENDED:
                return
            await asyncio.sleep(_POLL_SECONDS)
            polls += 1

    async def _events(self, job_id: str, after: str | None) -> list[Event]:
        """The events after an event; without one, the newest event."""
        with self._link.call() as redis:
            if after is None:
                found: Any = await redis.xrevrange(events_key(job_id), count=1)
            else:
                found = await redis.xrange(events_key(job_id), min=f"({after}", count=100)
        return [(entry_id.decode(), unpacked(fields[b"job"])) for entry_id, fields in found]

    async def _with_note(self, job: Job) -> Job:
        if job.state != "queued":
            return job
        return _noted(job, await self._in_thread(self._store.worker_alive))

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        try:
            return await asyncio.to_thread(work)
        except (RedisError, OSError) as error:
            failure = failure_of(error)
            if failure is None:
                raise
            raise failure.problem() from error

    def close(self) -> None:
        """Close the connections."""
        self._store.client.close()


def _order(event_id: str) -> tuple[int, int]:
    milliseconds, number = event_id.split("-")
    return int(milliseconds), int(number)


def _noted(job: Job, worker_alive: bool) -> Job:
    if job.state == "queued" and not worker_alive:
        return job.model_copy(update={"note": _NO_WORKER})
    return job
