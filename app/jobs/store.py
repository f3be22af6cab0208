"""Jobs in Redis. Blocking, because the worker is: the service calls it in a thread."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from redis import Redis
from rq import Queue
from rq.serializers import JSONSerializer

from app.jobs.schemas import Job, JobRequest, State, Trigger
from app.jobs.scripts import CHANGE_JOB, CREATE_JOB

QUEUE = "tripod"
LEASE_SECONDS = 15.0  # without a renewal for this long a job counts as dead
RENEW_SECONDS = 0.5  # also how soon a work process notices that its job was cancelled
_WORKER_SECONDS = 10.0
_KEPT = 100  # jobs that are remembered
_INDEX, _LEASE, _WORKER = "tripod:jobs", "tripod:jobs:lease", "tripod:jobs:worker"
_SEEN = "tripod:jobs:purchases"  # how many purchases there had been when a job last looked
_LOOKED = "tripod:jobs:schedule"  # when a worker last looked at the schedule

Outcome = Literal["ok", "missing", "busy", "refused"]


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one work process to do one job."""

    job_id: str
    token: str


class JobStore:
    """Reads and changes jobs; every change is one script."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self._create = client.register_script(CREATE_JOB)
        self._change = client.register_script(CHANGE_JOB)
        self._queue = Queue(QUEUE, connection=client, serializer=JSONSerializer)

    def create(self, request: JobRequest, trigger: Trigger, retries: int) -> tuple[bool, Job]:
        """A new job in the queue and True, or the one that waits already and False."""
        self.latest()  # a job that died may wait again
        now = datetime.now(UTC)
        job = Job(
            job_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
            state="queued",
            trigger=trigger,
            request=request,
            retries=retries,
            created_at=now,
        )
        keys = [_INDEX, _job_key(job.job_id), events_key(job.job_id)]
        outcome, text = self._create(keys=keys, args=[job.job_id, _packed(job), _KEPT])
        if outcome == b"ok":
            self.enqueue(job.job_id)
        return outcome == b"ok", unpacked(text)

    def enqueue(self, job_id: str) -> None:
        """Tell a worker. Twice does no harm: only a job that waits is ever begun."""
        self._queue.enqueue("app.jobs.work.run", job_id, job_timeout=-1, result_ttl=0, failure_ttl=3600)

    def get(self, job_id: str) -> Job | None:
        """The job, None if there is none (any more)."""
        text: Any = self.client.get(_job_key(job_id))
        return None if text is None else self._settle(unpacked(text))

    def latest(self) -> list[Job]:
        """The newest first."""
        ids: Any = self.client.zrevrange(_INDEX, 0, -1)
        texts: Any = self.client.mget([_job_key(job_id.decode()) for job_id in ids]) if ids else []
        return [self._settle(unpacked(text)) for text in texts if text]

    def begin(self, job_id: str) -> Lease | None:
        """Take the lease and mark the job as running; None if it is not this one's turn."""
        lease = Lease(job_id, f"{job_id}:{secrets.token_hex(8)}")
        fields = {"state": "running", "started_at": _now(), "error": None, "note": None}
        taken = self._apply(job_id, fields, ("queued",), "take", token=lease.token)[0] == "ok"
        return lease if taken else None

    def renew(self, lease: Lease) -> bool:
        """Keep the lease; False if the job is not to go on, or not here."""
        return self._apply(lease.job_id, None, ("running",), "take", token=lease.token)[0] == "ok"

    def note(self, lease: Lease, **fields: Any) -> bool:
        """Write down how a running job is doing; False if it is not to go on, or not here."""
        return self._apply(lease.job_id, fields, ("running",), "take", token=lease.token)[0] == "ok"

    def end(self, lease: Lease, state: State, **fields: Any) -> None:
        """The end of a running job."""
        ended = {"state": state, "phase": None, "seconds_left": None, "ended_at": _now()}
        self._apply(lease.job_id, ended | fields, ("running",), "take", token=lease.token)

    def cancel(self, job_id: str) -> tuple[Outcome, Job | None]:
        """Cancel a job that waits or runs, unless its model is about to go live."""
        fields = {"state": "cancelled", "phase": None, "seconds_left": None, "ended_at": _now()}
        return self._apply(job_id, fields, ("queued", "running"), "any", unless="activating")

    def died(
        self, job_id: str, reason: str, *, again: bool = False, lease: Literal["any", "dead"] = "any"
    ) -> Job | None:
        """The process of a running job is gone: the job waits again if it may be retried, or has failed."""
        text: Any = self.client.get(_job_key(job_id))
        if text is None:
            return None
        job = unpacked(text)
        fields: dict[str, Any] = {"error": reason, "phase": None, "seconds_left": None, "step": None}
        if again or job.attempt <= job.retries:
            fields |= {"state": "queued", "attempt": job.attempt + (not again)}
        else:
            fields |= {"state": "failed", "ended_at": _now()}
        return self._apply(job_id, fields, ("running",), lease)[1]

    def _settle(self, job: Job) -> Job:
        """The job as it is, after looking whether its process still lives."""
        if job.state != "running" or self._apply(job.job_id, None, ("running",), "dead")[0] != "ok":
            return job
        return self.died(job.job_id, "The worker died in the middle of the job.", lease="dead") or job

    def keep_going(self) -> None:
        """Bring jobs that wait to a worker's notice again, should a queue or a worker be lost."""
        waiting = [job for job in self.latest() if job.state == "queued"]
        if waiting and not self._queue.count and not self.client.exists(_LEASE):
            self.enqueue(waiting[-1].job_id)

    def note_worker(self, host: str) -> None:
        """A worker is alive on this host."""
        for key in (_WORKER, f"{_WORKER}:{host}"):
            self.client.set(key, 1, px=int(_WORKER_SECONDS * 1000))

    def worker_alive(self, host: str | None = None) -> bool:
        """Whether a worker has been alive a moment ago, anywhere or on one host."""
        return bool(self.client.exists(_WORKER if host is None else f"{_WORKER}:{host}"))

    def _apply(
        self,
        job_id: str,
        fields: dict[str, Any] | None,
        states: Sequence[State],
        lease: Literal["take", "dead", "any"],
        *,
        token: str | None = None,
        unless: str | None = None,
    ) -> tuple[Outcome, Job | None]:
        change = {
            "from": states,
            "lease": lease,
            "milliseconds": int(LEASE_SECONDS * 1000),
            "token": token,
            "unless": unless,
            "fields": fields,
        }
        change = {name: value for name, value in change.items() if value is not None}
        keys = [_job_key(job_id), events_key(job_id), _LEASE]
        outcome, text = self._change(keys=keys, args=[job_id, json.dumps(change)])
        return outcome.decode(), unpacked(text) if text else None

    def purchases(self, stream: str) -> tuple[int, int]:
        """How many carts had been checked out when a job last drained the log, and how many since."""
        found: Any = self.client.get(_SEEN)
        seen = int(found or 0)
        return seen, self._purchases_ever(stream) - seen

    def note_purchases(self, stream: str) -> None:
        """A job is about to drain the log."""
        self.client.set(_SEEN, self._purchases_ever(stream))

    def _purchases_ever(self, stream: str) -> int:
        if not self.client.exists(stream):
            return 0
        found: Any = self.client.xinfo_stream(stream)
        return int(found.get("entries-added", 0))  # Redis 6 does not count

    def last_look(self, now: datetime, remembered: timedelta) -> datetime | None:
        """When a worker last looked at the schedule, None if that is longer ago; now counts as a look too."""
        found: Any = self.client.set(_LOOKED, now.isoformat(), ex=remembered, get=True)
        return None if found is None else datetime.fromisoformat(found.decode())

    def first_to_claim(self, name: str, seconds: int) -> bool:
        """True for exactly one of all processes that ask with the same name."""
        return bool(self.client.set(f"tripod:jobs:claim:{name}", 1, nx=True, ex=seconds))


def events_key(job_id: str) -> str:
    """The stream of a job's changes; each entry has the whole job in the field `job`."""
    return f"{_job_key(job_id)}:events"


def unpacked(text: bytes | str) -> Job:
    """A job from its form in Redis."""
    fields = json.loads(text)
    return Job.model_validate(fields | {"request": json.loads(fields["request"])})


def _packed(job: Job) -> str:
    request = job.request.model_dump_json(exclude_unset=True)
    return json.dumps(job.model_dump(mode="json") | {"request": request})


def _job_key(job_id: str) -> str:
    return f"tripod:job:{job_id}"


def _now() -> str:
    return datetime.now(UTC).isoformat()
