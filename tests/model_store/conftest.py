from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from model_store import Draft, Items, Knobs, ModelStore
from ndpp.kernel import Kernel
from ndpp.relevance import Relevance


def make_draft(seed: int = 1, size: int = 7, **changes: Any) -> Draft:
    rng = np.random.default_rng(seed)
    V, B = rng.normal(size=(2, size, 2)).astype(np.float32)
    relevance = Relevance(
        offsets=np.array([0, 2, 3, *[3] * (size - 2)], dtype=np.int64),
        neighbours=np.array([1, 2, 0], dtype=np.int32),
        weights=np.array([0.5, 0.25, 0.5], dtype=np.float32),
        floor=0.01,
    )
    items = Items(
        ids=tuple(f"item-{row}" for row in range(size)),
        names=("Kaffee für zwei", *[None] * (size - 1)),
        categories=("drinks", *[None] * (size - 1)),
        prices=(2.5, *[None] * (size - 1)),
        in_stock=(True, False, *[None] * (size - 2)),
        counts=tuple(range(size, 0, -1)),
    )
    parts: dict[str, Any] = {
        "kernel": Kernel.scalable(V, B, [[0, 0.7], [-0.7, 0]], rng.uniform(size=size)),
        "kind": "scalable",
        "items": items,
        "relevance": relevance,
        "knobs": Knobs(decoupling=0.9, relevance=2.0, popularity=0.1),
        "hyperparameters": {"rank": 2, "learning_rate": 0.03},
        "metrics": {"test": {"log_likelihood": -3.25}},
        "data_fingerprint": "sha256:0123",
        "seed": seed,
        "files": {"report.html": b"<p>report</p>", "report.json": b"{}"},
    }
    return Draft(**{**parts, **changes})


@pytest.fixture
def draft() -> Callable[..., Draft]:
    return make_draft


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "store")


@pytest.fixture(params=["path", "file", "memory"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ModelStore]:
    urls = {
        "path": str(tmp_path / "store"),
        "file": f"file://{tmp_path}/store",
        "memory": f"memory://{uuid.uuid4()}/store",
    }
    url = urls[request.param]
    yield ModelStore(url, cache=tmp_path / "cache")
    if request.param == "memory":
        fsspec.filesystem("memory").rm(url, recursive=True)
