"""Jobs in Redis: the only record of a job's state. Blocking calls; the service makes them in a thread."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Self

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.jobs.schemas import Job, JobRequest, State, Trigger

_START_SECONDS = 60.0  # a work process must start and renew the lease within this time
_LEASE_SECONDS = 15.0  # a job whose lease is not renewed for this long counts as dead
RENEW_SECONDS = 0.5  # also the time in which a work process notices that its job was cancelled
_WORKER_SECONDS = 10.0
_KEPT = 100  # jobs to keep
_INDEX, _LEASE, _WORKER = "tripod:jobs", "tripod:jobs:lease", "tripod:jobs:worker"
_SEEN = "tripod:jobs:purchases"  # number of purchases when a job last drained the log
_LOOKED = "tripod:jobs:schedule"  # when a worker last checked the schedule

Outcome = Literal["ok", "missing", "busy", "refused"]


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one work process to run one job."""

    job_id: str
    token: str


class JobStore:
    """Reads and changes jobs; each change is one Lua script, so it happens as a whole or not at all."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self._create = client.register_script(Path(__file__).with_name("create.lua").read_text())
        self._change = client.register_script(Path(__file__).with_name("change.lua").read_text())
        self._lease = client.register_script(Path(__file__).with_name("lease.lua").read_text())

    @classmethod
    def connect(cls, url: str | None) -> Self:
        """Connect with short timeouts and one retry per call, because a stop may take only ten seconds."""
        retry = Retry(NoBackoff(), 1)
        return cls(Redis.from_url(url or "", socket_timeout=1.5, socket_connect_timeout=1.5, retry=retry))

    def create(self, request: JobRequest, trigger: Trigger, retries: int) -> tuple[bool, Job]:
        """Queue a new job and return it with True, or return the job that is queued already with False."""
        now = datetime.now(UTC)
        job = Job(
            job_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            state="queued",
            trigger=trigger,
            request=request,
            retries=retries,
            created_at=now,
        )
        outcome = b"changed"
        while outcome == b"changed":
            self.latest()  # a job whose process died may be queued again
            ids = self._ids()
            keys = [_INDEX, _job_key(job.job_id), events_key(job.job_id), *map(_job_key, ids)]
            outcome, text = self._create(keys=keys, args=[job.job_id, _packed(job), " ".join(ids)])
        for old in self._ids()[_KEPT:]:
            self.client.delete(_job_key(old), events_key(old))
            self.client.zrem(_INDEX, old)
        found = unpacked(text)
        return found.job_id == job.job_id, found  # also if the first answer was lost and the call repeated

    def get(self, job_id: str) -> Job | None:
        """The job, or None if Redis does not have it."""
        text: Any = self.client.get(_job_key(job_id))
        return None if text is None else self._settled(unpacked(text))

    def latest(self) -> list[Job]:
        """All jobs, the newest first."""
        ids = self._ids()
        texts: Any = self.client.mget(map(_job_key, ids)) if ids else []
        return [self._settled(unpacked(text)) for text in texts if text]

    def _ids(self) -> list[str]:
        found: Any = self.client.zrevrange(_INDEX, 0, -1)
        return [job_id.decode() for job_id in found]

    def claim(self) -> tuple[Job, Lease] | None:
        """Mark the oldest queued job as running and take the lease; None if there is none or another runs."""
        queued = [job.job_id for job in self.latest() if job.state == "queued"]
        if not queued:
            return None
        lease = Lease(queued[-1], f"{queued[-1]}:{secrets.token_hex(8)}")
        fields = {"state": "running", "started_at": _now(), "error": None, "note": None}
        taken = {"token": lease.token, "seconds": _START_SECONDS}
        outcome, job = self._apply(lease.job_id, ("queued",), fields=fields, **taken)
        return (job, lease) if outcome == "ok" and job else None

    def update(self, lease: Lease, **fields: Any) -> bool:
        """Renew the lease and set fields of the job; False if the job was cancelled or taken over."""
        return self._apply(lease.job_id, ("running",), fields=fields or None, token=lease.token)[0] == "ok"

    def end(self, lease: Lease, state: State, **fields: Any) -> None:
        """End a running job."""
        self.update(lease, **_ended(state), **fields)

    def cancel(self, job_id: str) -> tuple[Outcome, Job | None]:
        """Cancel a queued or running job, unless its model is being activated."""
        return self._apply(job_id, ("queued", "running"), fields=_ended("cancelled"), unless="activating")

    def died(self, job: Job, reason: str, lease: Lease | None = None, *, again: bool = False) -> Job:
        """The process of a running job is gone: queue the job again if retries are left, else it has failed.

        With a lease, nothing changes unless the job still holds that lease; without one, nothing changes if
        the job holds any lease. `again` queues the job without counting an attempt.
        """
        fields: dict[str, Any] = {"error": reason, "phase": None, "seconds_left": None, "step": None}
        if again or job.attempt <= job.retries:
            fields |= {"state": "queued", "attempt": job.attempt + (not again)}
        else:
            fields |= {"state": "failed", "ended_at": _now()}
        held = {"token": lease.token} if lease else {"dead": True}
        return self._apply(job.job_id, ("running",), fields=fields, **held)[1] or job

    def hold(self, token: str) -> bool:
        """Take or renew the lease for a process that is not a job; False if another has it."""
        return bool(self._lease(keys=[_LEASE], args=[token, int(_LEASE_SECONDS * 1000)]))

    def give_back(self, token: str) -> None:
        """Give back the lease that `hold` took."""
        self._lease(keys=[_LEASE], args=[token, 0])

    def _settled(self, job: Job) -> Job:
        """The job; if it is running without the lease, its worker has died."""
        if job.state != "running":
            return job
        return self.died(job, "The worker died in the middle of the job.")

    def _apply(self, job_id: str, states: Sequence[State], **change: Any) -> tuple[Outcome, Job | None]:
        """Change a job that is in one of the states; change.lua explains the members of a change."""
        change = {"from": states, "seconds": _LEASE_SECONDS} | change
        given = {name: value for name, value in change.items() if value is not None}
        keys = [_job_key(job_id), events_key(job_id), _LEASE]
        outcome, text = self._change(keys=keys, args=[job_id, json.dumps(given)])
        return outcome.decode(), unpacked(text) if text else None

    def note_worker(self, host: str) -> None:
        """Record that a worker is alive on this host."""
        for key in (_WORKER, f"{_WORKER}:{host}"):
            self.client.set(key, 1, px=int(_WORKER_SECONDS * 1000))

    def worker_alive(self, host: str | None = None) -> bool:
        """Whether a worker was alive in the last seconds, on any host or on this one."""
        return bool(self.client.exists(_WORKER if host is None else f"{_WORKER}:{host}"))

    def purchases(self, stream: str) -> tuple[int, int]:
        """The number of purchases when a job last drained the log, and the number since then."""
        found: Any = self.client.get(_SEEN)
        seen = int(found or 0)
        return seen, self._purchases_ever(stream) - seen

    def note_purchases(self, stream: str) -> None:
        """Record the number of purchases; call it before the log is drained."""
        self.client.set(_SEEN, self._purchases_ever(stream))

    def _purchases_ever(self, stream: str) -> int:
        if not self.client.exists(stream):
            return 0
        found: Any = self.client.xinfo_stream(stream)
        return int(found.get("entries-added", 0))  # Redis 6 does not count the entries

    def last_poll(self, now: datetime, remembered: timedelta) -> datetime | None:
        """When a worker last checked the schedule (None: longer ago than `remembered`); records `now`."""
        found: Any = self.client.set(_LOOKED, now.isoformat(), ex=remembered, get=True)
        return None if found is None else datetime.fromisoformat(found.decode())

    def once(self, name: str, seconds: int) -> bool:
        """True for the first call with this name in these seconds, over all processes; then False."""
        return bool(self.client.set(f"tripod:jobs:claim:{name}", 1, nx=True, ex=seconds))


def events_key(job_id: str) -> str:
    """The stream of a job's changes; each entry has the whole job in the field `job`."""
    return f"{_job_key(job_id)}:events"


def unpacked(text: bytes | str) -> Job:
    """A job from its JSON in Redis."""
    fields = json.loads(text)
    return Job.model_validate(fields | {"request": json.loads(fields["request"])})


def _packed(job: Job) -> str:
    """JSON with the request as text inside, because Lua would not write it back exactly as it was."""
    request = job.request.model_dump_json(exclude_unset=True)
    return json.dumps(job.model_dump(mode="json") | {"request": request})


def _ended(state: State) -> dict[str, Any]:
    return {"state": state, "phase": None, "seconds_left": None, "ended_at": _now()}


def _job_key(job_id: str) -> str:
    return f"tripod:job:{job_id}"


def _now() -> str:
    return datetime.now(UTC).isoformat()
