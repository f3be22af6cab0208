"""Checkpoint of an unfinished fit: one safetensors file, replaced atomically."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from training.errors import DataError
from training.options import FitOptions
from training.splitting import Split

_SECONDS_BETWEEN_SAVES = 30.0
_LARGEST_SHARE_OF_TIME = 0.05  # saving may take this share of the time: large models are saved less often


class Checkpoint:
    """The checkpoint file of one fit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last_save = time.monotonic()
        self._pause = _SECONDS_BETWEEN_SAVES

    @classmethod
    def for_fit(cls, folder: Path, data_fingerprint: str, split: Split, options: FitOptions) -> Checkpoint:
        """The checkpoint of this data, split and options."""
        key = json.dumps([data_fingerprint, [len(part) for part in split], options.as_dict()], sort_keys=True)
        return cls(folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.safetensors")

    def exists(self) -> bool:
        """Whether there is a saved state."""
        return self.path.exists()

    def is_due(self) -> bool:
        """Whether it is time to save again."""
        return time.monotonic() - self._last_save >= self._pause

    def save(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Write a state; the previous file stays until the new one is complete."""
        began = time.monotonic()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
        save_file(
            {name: tensor.contiguous() for name, tensor in tensors.items()},
            temporary,
            {"facts": json.dumps(facts)},
        )
        temporary.replace(self.path)
        self._last_save = time.monotonic()
        self._pause = max(_SECONDS_BETWEEN_SAVES, (self._last_save - began) / _LARGEST_SHARE_OF_TIME)

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """The saved state, None if there is none."""
        if not self.exists():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                facts: dict[str, Any] = json.loads(file.metadata()["facts"])
                return {name: torch.clone(file.get_tensor(name)) for name in file.keys()}, facts  # noqa: SIM118
        except (SafetensorError, KeyError, ValueError, OSError) as error:
            raise DataError(
                f"the checkpoint is damaged ({error}); delete it to start from scratch", str(self.path)
            ) from error

    def discard(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)
