"""The work process: one job from its beginning to its end. Only this needs PyTorch."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from redis import Redis
from redis.backoff import ConstantBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from app.carts.store import PURCHASE_LOG
from app.jobs.schemas import FitOptions, JobRequest
from app.jobs.store import RENEW_SECONDS, JobStore, Lease
from app.models.activation import CHANNEL
from app.settings import Settings, load_settings
from model_store import ModelStore, ModelStoreError

if TYPE_CHECKING:
    from training.fitting import Progress
    from training.retraining import Retrained


def run(job_id: str) -> None:
    """What RQ calls in a process of its own."""
    settings = load_settings()
    # A job of an hour must outlive a restart of Redis: each call is repeated for a minute.
    patient = Redis.from_url(settings.redis_url or "", retry=Retry(ConstantBackoff(1), 60))
    store = JobStore(patient)
    lease = store.begin(job_id)
    if lease is None:
        return  # it was cancelled meanwhile, or another one runs: the worker calls again
    job = store.get(job_id)
    assert job is not None
    with _alive(lease, settings):
        try:
            _Work(store, settings, lease, job.request).do()
        except Exception as error:
            store.end(lease, "failed", error=_sentence(error))
            raise


@contextmanager
def _alive(lease: Lease, settings: Settings) -> Iterator[None]:
    """Renew the job's lease; end this process at once when the job is not to go on, or the worker is gone."""
    over = threading.Event()
    worker = os.getppid()

    def watch() -> None:
        store = JobStore(Redis.from_url(settings.redis_url or "", socket_timeout=2, socket_connect_timeout=2))
        while not over.wait(RENEW_SECONDS):
            try:
                goes_on = store.renew(lease)
            except RedisError:
                continue  # the lease outlasts a short absence
            if over.is_set():
                return
            if not goes_on or os.getppid() != worker:
                os.kill(os.getpid(), signal.SIGKILL)

    thread = threading.Thread(target=watch, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


class _Work:
    """One job."""

    def __init__(self, store: JobStore, settings: Settings, lease: Lease, request: JobRequest) -> None:
        self._store = store
        self._settings = settings
        self._lease = lease
        self._request = request
        self._models = ModelStore(settings.store)

    def do(self) -> None:
        """Drain, retrain, decide."""
        # Here, not at the top: the service imports this package, and has neither PyTorch nor `training`.
        from training.purchase_log import drain, purchases_folder  # noqa: PLC0415
        from training.retraining import Retraining, retrain  # noqa: PLC0415

        request, purchases = self._request, None
        if request.purchases and self._settings.data is not None:
            purchases = purchases_folder(self._settings.data)
            self._note(phase="draining")
            self._store.note_purchases(PURCHASE_LOG)
            self._note(purchases_drained=drain(self._store.client, PURCHASE_LOG, purchases))
        told = request.options.given()
        report = told.pop("report", None) is not False
        order = Retraining(
            data=request.data or self._settings.data,
            items=request.items or self._settings.item_table,
            purchases=purchases,
            report=report,
            told=told,
        )
        found = retrain(
            self._models,
            order,
            tolerance=self._settings.gate_tolerance,
            callback=self._progress,
            announce=lambda phase: self._note(phase=phase),
            using=lambda options: self._note(options_used=_used(options | {"report": report})),
            warn=lambda text: self._note(note=text),
        )
        self._decide(request, found)

    def _progress(self, progress: Progress) -> None:
        self._note(
            step=progress.step,
            steps=progress.steps,
            validation_log_likelihood=round(progress.best, 4),
            seconds_left=round(progress.seconds_left, 1),
        )

    def _decide(self, request: JobRequest, found: Retrained) -> None:
        """Let the new version go live, or not."""
        gate = None if found.verdict is None else asdict(found.verdict)
        facts: dict[str, Any] = {"version": found.version, "baskets": found.baskets, "items": found.items}
        self._note(**facts, gate=gate)
        if request.activate == "never":
            self._store.end(self._lease, "succeeded")
        elif request.activate == "auto" and found.had_active and not (gate and gate["accepted"]):
            self._store.end(self._lease, "rejected", error=_why(found))
        elif self._store.note(self._lease, phase="activating"):  # from here on it cannot be cancelled
            self._models.activate(found.version, by_gate=request.activate == "auto")
            self._store.client.publish(CHANNEL, found.version)
            self._store.end(self._lease, "succeeded", activated=True, error=self._prune())

    def _prune(self) -> str | None:
        """Remove old versions; what is in the way of that is no failure of the job."""
        try:
            self._models.prune(self._settings.keep_models)
        except ModelStoreError as error:
            return f"The model is live, but old versions stay: {error}."
        return None

    def _note(self, **fields: Any) -> None:
        self._store.note(self._lease, **fields)


def _used(options: dict[str, Any]) -> dict[str, Any]:
    """The options by the names of a job's request; a kernel without skew columns has no skew rank there."""
    known = {name: value for name, value in options.items() if name in FitOptions.model_fields}
    return known | {"skew_rank": options["skew_rank"] or None}


def _why(found: Retrained) -> str:
    verdict = found.verdict
    if verdict is None:
        return f"Version {found.version} is not active: {found.no_verdict}."
    return (
        f"Version {found.version} is not active: its {verdict.metric} is {verdict.candidate:.1f}, that of "
        f"version {verdict.rival} is {verdict.rival_figure:.1f}, on {verdict.queries} held-out items, and "
        f"{verdict.tolerance:g} is tolerated. If it is better in another way, activate it by hand, or train "
        "with activate: always; later jobs are then compared with it and with nothing before it."
    )


def _sentence(error: Exception) -> str:
    """What went wrong, for a person; the traceback goes to the worker's log."""
    from training.errors import TrainingError  # noqa: PLC0415

    if isinstance(error, TrainingError | ModelStoreError):
        return str(error)
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror or error}{where}"
    if isinstance(error, MemoryError):
        return "There is not enough memory: lower the ranks or the batch size."
    return f"A mistake in Tripod: {error!r}; the worker's log has the details."
