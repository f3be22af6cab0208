"""Readiness: the model and Redis."""

from __future__ import annotations

from app.catalogue.holder import SnapshotHolder
from app.health.schemas import ReadyAnswer
from app.http.errors import NotReady
from app.models.service import Models
from app.redis.client import RedisLink
from app.runtime.watchers import Watchers


class Health:
    """Checks what the service depends on."""

    def __init__(
        self, link: RedisLink, snapshots: SnapshotHolder, models: Models, watchers: Watchers
    ) -> None:
        self._link = link
        self._snapshots = snapshots
        self._models = models
        self._watchers = watchers

    async def ready(self) -> ReadyAnswer:
        """The model in use, or NotReady with what is missing."""
        missing = {}
        if (reason := self._models.missing()) is not None:
            missing["model"] = reason
        if (reason := await self._link.why_unavailable()) is not None:
            missing["redis"] = reason
        if missing:
            detail = "; ".join(f"{name}: {why.rstrip('.')}" for name, why in missing.items())
            raise NotReady(f"Missing: {detail}.", missing=missing, watchers=self._watchers.health())
        refusal = self._models.refusal
        return ReadyAnswer(
            model_version=self._snapshots.current().model.version,
            refused_version=refusal.version if refusal else None,
            refused_because=refusal.reason if refusal else None,
            watchers=self._watchers.health(),
        )
