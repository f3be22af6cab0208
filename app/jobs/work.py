"""The work process, `python -m app.jobs.work JOB_ID TOKEN WORKER`: runs one job. Only this needs PyTorch."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
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
from app.runtime.logs import configure_logs, get_logger
from app.settings import Settings, load_settings
from model_store import ModelStore, ModelStoreError

if TYPE_CHECKING:
    from training.fitting import Progress
    from training.retraining import Retrained


def run(lease: Lease, worker: int) -> None:
    """Run the job that a worker has claimed; `worker` is its process id."""
    settings = load_settings()
    configure_logs(settings.log_level)
    # A job of an hour must survive a restart of Redis: each call is repeated for a minute.
    store = JobStore(Redis.from_url(settings.redis_url or "", retry=Retry(ConstantBackoff(1), 60)))
    with lease_renewed(lambda renewing: renewing.update(lease), worker, settings):
        job = store.get(lease.job_id)
        if job is None:
            return  # Redis was emptied
        try:
            _Work(store, settings, lease, job.request).run()
        except Exception as error:
            get_logger().exception("training job failed", job_id=lease.job_id)
            store.end(lease, "failed", error=_sentence(error))


@contextmanager
def lease_renewed(renew: Callable[[JobStore], bool], worker: int, settings: Settings) -> Iterator[None]:
    """Renew the lease in a thread; kill this process if `renew` returns False or its worker died."""
    over = threading.Event()

    def watch() -> None:
        store = JobStore.connect(settings.redis_url)
        while not over.wait(RENEW_SECONDS):
            try:
                has_lease = renew(store)
            except RedisError:
                has_lease = True  # the lease outlasts a short outage
            if not over.is_set() and (not has_lease or os.getppid() != worker):
                os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="lease", daemon=True).start()
    try:
        yield
    finally:
        over.set()


class _Work:
    """One job: drain the purchase log, retrain, decide whether the new version goes live."""

    def __init__(self, store: JobStore, settings: Settings, lease: Lease, request: JobRequest) -> None:
        self._store = store
        self._settings = settings
        self._lease = lease
        self._request = request
        self._models = ModelStore(settings.store)

    def run(self) -> None:
        """Run the job to its end."""
        # Imported while the lease is being renewed, because loading PyTorch may take many seconds.
        from training.purchase_log import drain, purchases_folder  # noqa: PLC0415
        from training.retraining import Retraining, retrain  # noqa: PLC0415

        request, purchases = self._request, None
        if request.purchases and self._settings.data is not None:
            purchases = purchases_folder(self._settings.data)
            self._note(phase="draining")
            self._store.note_purchases(PURCHASE_LOG)
            self._note(purchases_drained=drain(self._store.client, PURCHASE_LOG, purchases))
        options = request.options.given()
        report, key = options.pop("report", None) is not False, self._settings.shopper_key
        retraining = Retraining(
            data=request.data or self._settings.data,
            items=request.items or self._settings.item_table,
            purchases=purchases,
            report=report,
            shopper_key=None if key is None else key.get_secret_value(),
            options=options,
        )
        found = retrain(
            self._models,
            retraining,
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
        """Activate the new version, or not."""
        gate = None if found.verdict is None else asdict(found.verdict)
        facts: dict[str, Any] = {"version": found.version, "baskets": found.baskets, "items": found.items}
        self._note(**facts, gate=gate)
        if request.activate == "never":
            self._store.end(self._lease, "succeeded")
        elif request.activate == "auto" and found.had_active and not (gate and gate["accepted"]):
            self._store.end(self._lease, "rejected", error=_rejection(found))
        elif self._store.update(self._lease, phase="activating"):  # from here on it cannot be cancelled
            self._models.activate(found.version, by_gate=request.activate == "auto")
            self._store.client.publish(CHANNEL, found.version)
            self._store.end(self._lease, "succeeded", activated=True, error=self._prune())

    def _prune(self) -> str | None:
        """Remove old versions; return what went wrong, which does not fail the job."""
        try:
            self._models.prune(self._settings.keep_models)
        except ModelStoreError as error:
            return f"The model is live, but old versions were not removed: {error}."
        return None

    def _note(self, **fields: Any) -> None:
        self._store.update(self._lease, **fields)


def _used(options: dict[str, Any]) -> dict[str, Any]:
    """The options that a request can name; it writes the skew rank 0 of a symmetric kernel as null."""
    known = {name: value for name, value in options.items() if name in FitOptions.model_fields}
    return known | {"skew_rank": options["skew_rank"] or None}


def _rejection(found: Retrained) -> str:
    verdict = found.verdict
    if verdict is None:
        return f"Version {found.version} is not active: {found.no_verdict}."
    return (
        f"Version {found.version} is not active: its {verdict.metric} is {verdict.candidate:.1f}, that of "
        f"version {verdict.rival} is {verdict.rival_figure:.1f}, on {verdict.queries} held-out items; the "
        f"tolerance is {verdict.tolerance:g}. To use it anyway, activate it by hand, or train "
        "with activate: always; later jobs are then compared with it and not with earlier versions."
    )


def _sentence(error: Exception) -> str:
    """The error in one sentence for the user; the traceback is in the worker's log."""
    from training.errors import TrainingError  # noqa: PLC0415

    if isinstance(error, TrainingError | ModelStoreError):
        return str(error)
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror or error}{where}"
    if isinstance(error, MemoryError):
        return "Not enough memory: lower the ranks or the batch size."
    return f"Internal error: {error!r}; the worker's log has the details."


if __name__ == "__main__":
    run(Lease(*sys.argv[1:3]), int(sys.argv[3]))
