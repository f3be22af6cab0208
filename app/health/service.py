"""Whether everything is there that requests need."""

from __future__ import annotations

from app.errors import NotReady
from app.health.schemas import ReadyAnswer
from app.items.service import Catalogues
from app.models.service import Models
from app.redis_link import RedisLink
from app.watchers import Watchers


class Health:
    """Looks after what the service depends on."""

    def __init__(self, link: RedisLink, catalogues: Catalogues, models: Models, watchers: Watchers) -> None:
        self._link = link
        self._catalogues = catalogues
        self._models = models
        self._watchers = watchers

    async def ready(self) -> ReadyAnswer:
        """The model in use, or NotReady that names what is missing."""
        missing = {}
        if (reason := self._models.missing()) is not None:
            missing["model"] = reason
        if (reason := await self._link.missing()) is not None:
            missing["redis"] = reason
        if missing:
            detail = "; ".join(f"{name}: {why.rstrip('.')}" for name, why in missing.items())
            raise NotReady(f"Missing: {detail}.", missing=missing, watchers=self._watchers.health())
        refusal = self._models.refusal
        return ReadyAnswer(
            model_version=self._catalogues.current().model.version,
            refused_version=refusal.version if refusal else None,
            refused_because=refusal.reason if refusal else None,
            watchers=self._watchers.health(),
        )
