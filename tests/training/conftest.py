import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from model_store import ModelStore
from tests.training.retraining_shop import QUICK, Shop, ordered, written
from training.baskets import Baskets
from training.reading import read_baskets
from training.retraining import Retraining
from training.splitting import split_by_key
from training.synthetic import generate_baskets


@pytest.fixture(scope="session")
def planted() -> Baskets:
    """40 items, 1,500 baskets: `a3` and `b3` are complements, `c3` and `d3` substitutes."""
    return generate_baskets(40, 1500, mean_size=4, seed=7)


@pytest.fixture(scope="session")
def planted_file(planted: Baskets, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted") / "baskets.txt"
    path.write_text(written(planted))
    return path


@pytest.fixture(scope="module")
def shop(planted: Baskets, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A model store with one active version, its training data, and its held-out baskets."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "baskets.txt").write_text(written(planted))
    store = ModelStore(folder / "store")
    found = ordered(store, Retraining(data=str(folder / "baskets.txt"), options=QUICK, report=False))
    store.activate(found.version)
    return (
        store,
        str(folder / "baskets.txt"),
        split_by_key(read_baskets(str(folder / "baskets.txt")).baskets).test,
    )


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `python -m training …` in a process, with its own cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "training", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    return run
