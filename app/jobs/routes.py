"""Routes of training jobs."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Header, Path, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from app.dependencies import AdminKey, ServicesDep
from app.http.errors import JobEnded, JobNotFound, JobWaiting, RedisUnavailable, UnsupportedMediaType
from app.http.problems import ADMIN, declare, problem_response
from app.jobs.schemas import Job, JobRequest, JobsAnswer

router = APIRouter(prefix="/training-jobs", tags=["training jobs"], dependencies=[AdminKey], responses=ADMIN)

_LOCATION = {"Location": {"schema": {"type": "string"}, "description": "The address of the job."}}
_EXAMPLES = {
    "usual": {"summary": "With the defaults of the settings", "value": {}},
    "quick": {
        "summary": "Start from the active model, weight recent baskets, activate by hand",
        "value": {"activate": "never", "options": {"init": "previous", "steps": 300, "half_life_days": 90}},
    },
}
JobIdPath = Annotated[str, Path(description="The id of the job.", min_length=1, max_length=64)]


async def _job(services: ServicesDep, job_id: JobIdPath) -> Job:
    return await services.jobs.get(job_id)


JobDep = Annotated[Job, Depends(_job)]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", max_length=64, description="Resume after this event of an earlier stream."),
]


def _waiting_responses() -> dict[int | str, dict[str, object]]:
    responses = declare(JobWaiting, UnsupportedMediaType, RedisUnavailable)
    responses[409]["headers"] = _LOCATION
    return {202: {"headers": _LOCATION}, **responses}


@router.post(
    "",
    status_code=202,
    summary="Start a training job",
    response_model=Job,
    responses=_waiting_responses(),
)
async def start_job(
    services: ServicesDep,
    response: Response,
    body: Annotated[JobRequest | None, Body(openapi_examples=_EXAMPLES)] = None,
) -> Job | Response:
    """Train a model on the data and the purchase log, and activate it unless it is worse than the active one.

    One job runs at a time and one may wait. While one is waiting, another is refused (409) with the address
    of the waiting job.
    """
    try:
        job = await services.jobs.start(body or JobRequest())
    except JobWaiting as waiting:
        refusal = problem_response(waiting)
        refusal.headers["Location"] = waiting.members["location"]
        return refusal
    response.headers["Location"] = f"/training-jobs/{job.job_id}"
    return job


@router.get("", summary="List training jobs", responses=declare(RedisUnavailable))
async def list_jobs(services: ServicesDep) -> JobsAnswer:
    """The latest hundred jobs, the newest first."""
    return await services.jobs.latest()


@router.get("/{job_id}", summary="Read a training job", responses=declare(JobNotFound, RedisUnavailable))
async def get_job(job: JobDep) -> Job:
    """The state of the job: its progress, or how it ended."""
    return job


@router.get(
    "/{job_id}/events",
    summary="Follow a training job",
    response_class=EventSourceResponse,
    responses=declare(JobNotFound, RedisUnavailable),
)
async def follow_job(
    services: ServicesDep, job: JobDep, last_event_id: LastEventId = None
) -> AsyncIterable[ServerSentEvent]:
    """Server-sent events: the job as it is now, then each change until it ends.

    Each event's `data` is the whole job, its `event` is the job's state.
    """
    async for event_id, then in services.jobs.follow(job, last_event_id):
        yield ServerSentEvent(data=then, event=then.state, id=event_id)


@router.post(
    "/{job_id}/cancel",
    summary="Cancel a training job",
    responses=declare(JobNotFound, JobEnded, RedisUnavailable),
)
async def cancel_job(services: ServicesDep, job_id: JobIdPath) -> Job:
    """Cancel a waiting or running job; a running fit ends within two seconds."""
    return await services.jobs.cancel(job_id)
