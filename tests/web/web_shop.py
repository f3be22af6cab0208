"""The shop that the browser visits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from app_shop import draft
from playwright.sync_api import Page

from model_store import ModelStore

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"

Visit = Callable[..., Page]


def publish_shop(store: Path) -> str:
    """The planted shop; its third camera has a name that would be a script if it were ever markup."""
    planted = draft()
    names = [HOSTILE if name == "Camera 2" else name for name in planted.items.names]
    models = ModelStore(store)
    version = models.publish(replace(planted, items=replace(planted.items, names=tuple(names))))
    models.activate(version)
    return version
