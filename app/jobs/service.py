"""What can be done with training jobs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from redis import Redis
from redis.exceptions import RedisError

from app.errors import Invalid, JobEnded, JobNotFound, JobWaiting
from app.jobs.schemas import ENDED, Job, JobRequest, JobsAnswer
from app.jobs.store import JobStore, events_key, unpacked
from app.redis_link import RedisLink
from app.redis_trouble import trouble_of
from app.settings import Settings

_LOOK_SECONDS = 0.25  # how often a follower's events are looked for
_LOOKS_BETWEEN_CHECKS = 8  # now and then: does the job's process still live?
_EVENT_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_NUMBERS = 2**64  # both parts of an id are below it
_NO_WORKER = "No worker is alive: start one with `python -m app worker`."

Result = TypeVar("Result")
Event = tuple[str, Job]  # the event's id and the job at that moment


class Jobs:
    """Orders jobs and tells how they are doing."""

    def __init__(self, link: RedisLink, settings: Settings) -> None:
        self._link = link
        self._settings = settings
        # A client of its own: the store and RQ block, so they run in threads.
        self._client = Redis.from_url(settings.redis_url or "", socket_timeout=2, socket_connect_timeout=2)
        self._store = JobStore(self._client)

    async def start(self, request: JobRequest) -> Job:
        """Put a job into the queue, or JobWaiting if one is there already."""
        if request.data is None and self._settings.data is None:
            raise Invalid(
                ("body.data", "there is nothing to learn from: name the baskets, or set TRIPOD_DATA")
            )
        retries = self._settings.job_retries
        created, job = await self._in_thread(lambda: self._store.create(request, "request", retries))
        if not created:
            address = f"/training-jobs/{job.job_id}"
            raise JobWaiting(
                f"Job {job.job_id} waits already: follow it at {address}, or cancel it first.",
                job_id=job.job_id,
                location=address,
            )
        return await self._with_note(job)

    async def latest(self) -> JobsAnswer:
        """The latest jobs."""
        jobs = await self._in_thread(self._store.latest)
        alive = await self._in_thread(self._store.worker_alive)
        return JobsAnswer(jobs=[_noted(job, alive) for job in jobs], worker_alive=alive)

    async def get(self, job_id: str) -> Job:
        """The job, or JobNotFound."""
        job = await self._in_thread(lambda: self._store.get(job_id))
        if job is None:
            raise JobNotFound(f"There is no training job {job_id!r}, or it is too long ago.")
        return await self._with_note(job)

    async def cancel(self, job_id: str) -> Job:
        """Stop a job; its work process ends within a second."""
        await self.get(job_id)
        outcome, job = await self._in_thread(lambda: self._store.cancel(job_id))
        if outcome != "ok" or job is None:
            state = "its model is just going live" if job and job.state == "running" else "it has ended"
            raise JobEnded(f"Job {job_id} cannot be cancelled: {state}.")
        return job

    async def follow(self, job: Job, after: str | None) -> AsyncIterator[Event]:
        """The job as it stands, then every change until its end; or, after an event's id, what came since.

        An id beyond the newest event, of another job or another Redis, counts as the newest; one that Redis
        cannot read counts as none.
        """
        last = None
        if after and _EVENT_ID.fullmatch(after) and max(_order(after)) < _NUMBERS:
            ids = [event_id for event_id, _ in await self._events(job.job_id, None)]
            last = min([after, *ids], key=_order)
        newest, looks = job, 0
        while True:
            events = await self._events(job.job_id, last)
            for last, newest in events:
                yield last, await self._with_note(newest)
            if events:
                continue
            if newest.state in ENDED:
                return
            await asyncio.sleep(_LOOK_SECONDS)
            looks += 1
            if looks % _LOOKS_BETWEEN_CHECKS == 0:
                await self.get(job.job_id)  # which makes an event if the job's process has died

    async def _events(self, job_id: str, after: str | None) -> list[Event]:
        """What came after an event; without one, the newest event."""
        with self._link.reaching() as redis:
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
            trouble = trouble_of(error)
            if trouble is None:
                raise
            raise trouble.problem() from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _order(event_id: str) -> tuple[int, int]:
    milliseconds, number = event_id.split("-")
    return int(milliseconds), int(number)


def _noted(job: Job, worker_alive: bool) -> Job:
    if job.state == "queued" and not worker_alive:
        return job.model_copy(update={"note": _NO_WORKER})
    return job
