import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # pytest's importlib mode does not add it

from retraining_shop import QUICK, Shop, ordered, written

from model_store import ModelStore
from training.baskets import Baskets
from training.generated import generate_baskets
from training.reading import read_baskets
from training.retraining import Retraining
from training.splitting import split_by_key


@pytest.fixture(scope="session")
def planted() -> Baskets:
    """40 items, 1,500 baskets: `a3` brings `b3`, `c3` replaces `d3`."""
    return generate_baskets(40, 1500, mean_size=4, seed=7)


@pytest.fixture(scope="session")
def planted_file(planted: Baskets, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted") / "baskets.txt"
    path.write_text("".join(" ".join(planted.catalogue[row] for row in basket) + "\n" for basket in planted))
    return path


@pytest.fixture(scope="module")
def shop(planted: Baskets, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A store with one active version, the data it was made from, and the baskets that it held out."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "baskets.txt").write_text(written(planted))
    store = ModelStore(folder / "store")
    found = ordered(store, Retraining(data=str(folder / "baskets.txt"), told=QUICK, report=False))
    store.activate(found.version)
    return (
        store,
        str(folder / "baskets.txt"),
        split_by_key(read_baskets(str(folder / "baskets.txt")).baskets).test,
    )


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `python -m training …` as a user would, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "training", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    return run
