"""Follows the model store: loads the active version and replaces the one in use."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass
from time import monotonic

from app.catalogue.holder import SnapshotHolder
from app.catalogue.served_model import ServedModel
from app.http.errors import ModelActive, ModelDamaged, ModelNotFound, Problem, ReportNotFound, Unavailable
from app.models.activation import Activations
from app.models.schemas import (
    Activation,
    ModelEntry,
    ModelInUse,
    ModelsAnswer,
    ModelStatus,
    ReportName,
    has_report,
)
from app.runtime import metrics
from app.runtime.logs import get_logger
from model_store import (
    ActiveVersionError,
    BadRequestError,
    DamagedModelError,
    ModelStore,
    ModelStoreError,
    StorageError,
    UnknownFileError,
)

_RETRY_SECONDS = 30.0


@dataclass(frozen=True)
class Refusal:
    """A version that could not be loaded."""

    version: str
    reason: str
    at: float  # monotonic seconds


class Models:
    """Loads and activates versions. One that cannot be loaded is refused, and the one in use stays."""

    def __init__(
        self, store: ModelStore, snapshots: SnapshotHolder, activations: Activations, poll_seconds: float
    ) -> None:
        self._store = store
        self.activations = activations
        self._snapshots = snapshots
        self._poll_seconds = poll_seconds
        self._log = get_logger()
        self.refusal: Refusal | None = None
        self.store_error: str | None = None
        self.loading = False

    async def poll(self) -> None:
        """Load the active version if it is not the one in use."""
        await asyncio.to_thread(self._follow)

    async def pause(self) -> None:
        """Wait for the next poll, or until a version is activated."""
        await self.activations.wait(self._poll_seconds)

    def _follow(self) -> None:
        try:
            active = self._store.active()
        except ModelStoreError as error:
            self.store_error = str(error)
            raise
        self.store_error = None
        loaded = self._snapshots.model
        if active is None and loaded is not None:
            raise StorageError(
                f"{self._store.location} no longer has an active model: check that the model store still "
                f"exists. Model {loaded.version} stays in use"
            )
        if active is None or (loaded is not None and loaded.version == active):
            self.refusal = None
            return
        refusal = self.refusal
        if refusal and refusal.version == active and monotonic() - refusal.at < _RETRY_SECONDS:
            return
        self.loading = True
        try:
            self._load(active)
        finally:
            self.loading = False

    def _load(self, version: str) -> None:
        try:
            model = ServedModel.of(self._store.open(version))
            model.warm_up()
        except Exception as error:  # no broken version may stop the service
            known = isinstance(error, ModelStoreError | ValueError)
            self.refusal = Refusal(version, str(error) if known else repr(error), monotonic())
            metrics.MODEL_LOADS.labels("refused").inc()
            self._log.error("model refused", model_version=version, error=self.refusal.reason)
            return
        previous = self._snapshots.model
        self._snapshots.use_model(model)
        _spare_collections()
        self.refusal = None
        self._log_loaded(model, previous)

    def _log_loaded(self, model: ServedModel, previous: ServedModel | None) -> None:
        metrics.MODEL_LOADS.labels("ok").inc()
        if previous is not None:
            metrics.MODEL.labels(previous.version).set(0)
        metrics.MODEL.labels(model.version).set(1)
        metrics.MODEL_CREATED.set(model.stored.manifest.created.timestamp())
        metrics.CATALOGUE.set(model.kernel.size)
        self._log.info(
            "model loaded", model_version=model.version, items=model.kernel.size, rank=model.kernel.rank
        )

    def missing(self) -> str | None:
        """Why there is no model; None if there is one."""
        if self._snapshots.model is not None:
            return None
        if self.store_error is not None:
            return self.store_error
        if self.refusal is not None:
            return f"version {self.refusal.version} was refused: {self.refusal.reason}"
        return "the model store has no active model yet, or it is still loading"

    async def list(self) -> ModelsAnswer:
        """All versions of the model store with their status in this process."""
        try:
            return await asyncio.to_thread(self._list)
        except ModelStoreError as error:
            raise Unavailable(f"The model store cannot be read: {error}.") from error

    def _list(self) -> ModelsAnswer:
        sound, broken, in_use = self._store.versions(), self._store.broken(), self._snapshots.model
        refused = {name: str(error) for name, error in broken.items()}
        if (refusal := self.refusal) is not None:
            refused[refusal.version] = refusal.reason
        active = next((info.version for info in sound if info.active), None)
        manifests = {info.version: info.manifest for info in sound}
        names = sorted({*manifests, *refused}, reverse=True)
        entries = []
        for name in names:
            if in_use is not None and name == in_use.version:
                status: ModelStatus = "in_use"
            elif name in refused:
                status = "refused"
            else:
                status = "loading" if name == active else "stored"
            manifest = manifests.get(name)
            entries.append(
                ModelEntry(
                    version=name,
                    status=status,
                    created_at=manifest.created if manifest else None,
                    refused_because=refused.get(name),
                    has_report=manifest is not None and has_report(manifest),
                )
            )
        return ModelsAnswer(in_use=in_use.version if in_use else None, models=entries)

    def in_use(self) -> ModelInUse:
        """The model in use."""
        return ModelInUse.of(self._snapshots.current().model)

    async def report(self, version: str, name: ReportName) -> bytes:
        """The report of a version, verified by its checksum."""
        try:
            return await asyncio.to_thread(self._store.read_file, version, name)
        except UnknownFileError as error:
            raise ReportNotFound(f"Model {version} has no report.") from error
        except ModelStoreError as error:
            raise _problem(error) from error

    async def activate(self, version: str) -> Activation:
        """Activate a version; all processes load it at once."""
        try:
            previous = await asyncio.to_thread(self._activate, version)
        except ModelStoreError as error:
            raise _problem(error) from error
        await self.activations.publish(version)
        return Activation(version=version, previous_version=previous)

    def _activate(self, version: str) -> str | None:
        try:
            previous = self._store.active()
        except DamagedModelError:
            previous = None  # the activation repairs a damaged pointer
        self._store.activate(version)
        return previous

    async def delete(self, version: str) -> None:
        """Remove a version, unless it is the active one."""
        try:
            await asyncio.to_thread(self._store.delete, version)
        except ModelStoreError as error:
            raise _problem(error) from error


def _problem(error: ModelStoreError) -> Problem:
    """The problem for an error of the model store."""
    kinds: list[tuple[type[ModelStoreError], type[Problem]]] = [
        (ActiveVersionError, ModelActive),
        (BadRequestError, ModelNotFound),
        (DamagedModelError, ModelDamaged),
        (ModelStoreError, Unavailable),
    ]
    kind = next(problem for family, problem in kinds if isinstance(error, family))
    text = str(error)
    return kind(f"{text[0].upper()}{text[1:]}.")


def _spare_collections() -> None:
    """Keep Python's garbage collector from looking through the model again and again.

    For 100,000 items that took 55 ms each time, in which no request was answered.
    """
    gc.unfreeze()  # what is left of the model before
    gc.collect()
    gc.freeze()
