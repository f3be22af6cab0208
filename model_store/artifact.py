"""The files of a version: written from a draft, read back as a stored model."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, get_args

import numpy as np
import safetensors.numpy
from pydantic import JsonValue

from model_store.arrays import read_array, read_arrays, write_arrays
from model_store.errors import (
    DamagedModelError,
    InvalidDraftError,
    StorageError,
    UnknownFileError,
    UnknownVersionError,
    reason,
)
from model_store.items import ItemArrays, Items
from model_store.kernel_file import KERNEL, kernel_tensors, read_kernel, write_kernel
from model_store.manifest import FILE_NAME, MANIFEST, FileEntry, Kind, Knobs, Manifest, Sizes
from model_store.version import VERSION
from model_store.words import Words
from ndpp.arrivals import ArrivalWeights
from ndpp.basket_index import BasketIndex
from ndpp.basket_sizes import BasketSizes
from ndpp.coherence import CoherenceScale
from ndpp.dense_kernel import DENSE_ITEMS, DenseKernel
from ndpp.kernel import Kernel
from ndpp.lifts import Lifts, RelatedItems
from ndpp.mixture import Mixture
from ndpp.next_item import NextItem
from ndpp.relevance import Relevance
from ndpp.sets import SetModel, SetPredictor, TopBundles

ITEMS, RELEVANCE = "items.json", "relevance.safetensors"
_RELEVANCE_0_2 = "relevance.npz"  # of releases 0.1 and 0.2, in which it cannot be memory-mapped
# What serving would otherwise compute from the kernel and the item table, in memory of each process.
ITEM_ARRAYS, WORDS, PAIRS = "items.safetensors", "words.safetensors", "pairs.safetensors"
_PAIRS = ("forward", "backward")
# Optional parts, each in its own file (release 0.1 has none): attribute → class.
PARTS: dict[str, type[BasketIndex | Lifts | BasketSizes | CoherenceScale | SetModel | TopBundles]] = {
    "baskets": BasketIndex,
    "lifts": Lifts,
    "basket_sizes": BasketSizes,
    "coherence": CoherenceScale,
    "sets": SetModel,
    "top_bundles": TopBundles,
}
_RESERVED = (
    *(KERNEL, ITEMS, RELEVANCE, MANIFEST, ITEM_ARRAYS, WORDS, PAIRS),
    *(f"{name}.safetensors" for name in PARTS),
)


@dataclass(frozen=True, eq=False)
class Draft:
    """A trained model to publish."""

    kernel: Kernel
    kind: Kind
    items: Items
    relevance: Relevance | None
    knobs: Knobs
    hyperparameters: dict[str, JsonValue]
    metrics: dict[str, JsonValue]
    data_fingerprint: str
    seed: int
    files: Mapping[str, bytes] = field(default_factory=dict)  # report.html, report.json, …
    mixture: Mixture | None = None  # coefficients of P(next item | cart)
    arrivals: ArrivalWeights | None = None  # None: not fitted
    calibration: dict[str, JsonValue] | None = None  # predicted against observed, on held-out baskets
    baskets: BasketIndex | None = None
    basket_sizes: BasketSizes | None = None
    coherence: CoherenceScale | None = None
    lifts: Lifts | None = None
    sets: SetModel | None = None  # coefficients of P(set | cart)
    top_bundles: TopBundles | None = None

    def __post_init__(self) -> None:
        try:
            if self.kind not in get_args(Kind):
                raise ValueError(f"its kind {self.kind!r} is none of {', '.join(get_args(Kind))}")
            kernel_tensors(self.kernel, self.kind)
            check_fit(self.kernel, self.items, self.relevance)
            for part in PARTS:
                if (given := getattr(self, part)) is not None:
                    given.check(self.kernel.size)
            for name in self.files:
                if not re.fullmatch(FILE_NAME, name) or name in _RESERVED:
                    raise ValueError(f"an extra file cannot be named {name!r}")
        except ValueError as error:
            raise InvalidDraftError(f"the model cannot be published: {error}") from error


@dataclass(frozen=True, eq=False)
class StoredModel:
    """An opened version; large arrays are memory-mapped."""

    version: str
    kernel: Kernel
    items: Items
    relevance: Relevance | None
    manifest: Manifest
    folder: Path
    baskets: BasketIndex | None = None
    lifts: Lifts | None = None
    basket_sizes: BasketSizes | None = None
    coherence: CoherenceScale | None = None
    sets: SetModel | None = None
    top_bundles: TopBundles | None = None
    words: Words | None = None  # None, as the pairs, for versions of releases 0.1 and 0.2
    pairs: DenseKernel | None = None  # None also for a large catalogue

    @property
    def next_item(self) -> NextItem:
        """The next-item model; versions of release 0.1 have no mixture and rank by their parameters."""
        mixture = self.manifest.mixture or Mixture.plain(**asdict(self.manifest.knobs))
        return NextItem(self.kernel, mixture, self.relevance, self.baskets)

    @property
    def arrival_weights(self) -> ArrivalWeights:
        """The weights of new arrivals; the defaults if the version has none of its own."""
        return self.manifest.arrivals or ArrivalWeights()

    @property
    def set_predictor(self) -> SetPredictor | None:
        """P(set | cart); None for versions of release 0.1 and versions without tuning."""
        if self.sets is None or self.lifts is None or self.baskets is None or self.basket_sizes is None:
            return None
        relations = RelatedItems(self.kernel, self.lifts)
        return SetPredictor(self.sets, self.next_item, relations, self.baskets, self.basket_sizes)

    def read_file(self, name: str) -> bytes:
        """Read and verify one of the version's files, such as `report.html`."""
        entry = self.manifest.files.get(name)
        if entry is None:
            raise UnknownFileError(f"model {self.version} has no file {name!r}")
        try:
            data = (self.folder / name).read_bytes()
        except FileNotFoundError as error:
            raise UnknownVersionError(f"model {self.version} has been deleted") from error
        check_sum(io.BytesIO(data), entry, f"{self.version}/{name}")
        return data


def write_files(draft: Draft, version: str, created: datetime, folder: Path) -> None:
    """Write the files of a draft, the manifest last."""
    writers: dict[str, Callable[[Path], object]] = {
        KERNEL: partial(write_kernel, draft.kernel, draft.kind),
        ITEMS: lambda path: path.write_bytes(draft.items.to_json()),
    }
    writers[ITEM_ARRAYS] = partial(write_arrays, draft.items.arrays)
    writers[WORDS] = lambda path: write_arrays(Words.of(item_texts(draft.items)), path)
    if draft.kernel.size <= DENSE_ITEMS:
        writers[PAIRS] = lambda path: _write_pairs(draft.kernel, path)
    if draft.relevance is not None:
        writers[RELEVANCE] = partial(write_arrays, draft.relevance)
    for name in PARTS:
        if (part := getattr(draft, name)) is not None:
            writers[f"{name}.safetensors"] = partial(write_arrays, part)
    for name, data in draft.files.items():
        writers[name] = partial(Path.write_bytes, data=data)
    writers[MANIFEST] = lambda path: path.write_bytes(_manifest(draft, version, created, folder).to_json())
    for name, write in writers.items():
        try:
            write(folder / name)
        except (OSError, safetensors.SafetensorError) as error:
            what = f"{version}/{name} could not be written in {folder.parent}"
            raise StorageError(f"{what}: {reason(error)}") from error
        except ValueError as error:  # text that is not Unicode, a hyper-parameter that is not JSON
            raise InvalidDraftError(f"the model cannot be published: {reason(error)}") from error


def _manifest(draft: Draft, version: str, created: datetime, folder: Path) -> Manifest:
    return Manifest(
        version=version,
        created=created,
        kind=draft.kind,
        sizes=Sizes(items=draft.kernel.size, rank=draft.kernel.rank),
        data_fingerprint=draft.data_fingerprint,
        hyperparameters=draft.hyperparameters,
        seed=draft.seed,
        metrics=draft.metrics,
        knobs=draft.knobs,
        mixture=draft.mixture,
        arrivals=draft.arrivals,
        calibration=draft.calibration,
        tripod_version=VERSION,
        files={path.name: _entry(path) for path in sorted(folder.iterdir())},
    )


def read_files(folder: Path, manifest: Manifest) -> StoredModel:
    """Read the model from a folder whose files have been verified against the manifest."""
    with damage_named(f"{manifest.version}/{KERNEL}"):
        kernel = read_kernel(folder / KERNEL, manifest.kind)
    with damage_named(f"{manifest.version}/{ITEM_ARRAYS if ITEM_ARRAYS in manifest.files else ITEMS}"):
        items = _read_items(folder, manifest, kernel.size)
    prior = next((name for name in (RELEVANCE, _RELEVANCE_0_2) if name in manifest.files), None)
    with damage_named(f"{manifest.version}/{prior}"):
        relevance = None if prior is None else _read_relevance(folder / prior)
    with damage_named(f"model {manifest.version}"):
        check_fit(kernel, items, relevance)
    parts = {
        name: _read_part(folder, manifest, f"{name}.safetensors", kind, kernel.size)
        for name, kind in PARTS.items()
    }
    words = _read_part(folder, manifest, WORDS, Words, kernel.size)
    pairs = None
    if PAIRS in manifest.files:
        with damage_named(f"{manifest.version}/{PAIRS}"):
            pairs = DenseKernel(kernel, *(read_array(folder / PAIRS, name) for name in _PAIRS))
    return StoredModel(
        manifest.version, kernel, items, relevance, manifest, folder, **parts, words=words, pairs=pairs
    )


def _read_items(folder: Path, manifest: Manifest, size: int) -> Items:
    if ITEM_ARRAYS not in manifest.files:
        return Items.from_json((folder / ITEMS).read_bytes())
    arrays = read_arrays(ItemArrays, folder / ITEM_ARRAYS)
    arrays.check(size)
    return Items.of(arrays)


def _read_part(folder: Path, manifest: Manifest, file: str, kind: type[Any], size: int) -> Any:
    if file not in manifest.files:
        return None
    with damage_named(f"{manifest.version}/{file}"):
        part = read_arrays(kind, folder / file)
        part.check(size)
        return part


@contextmanager
def damage_named(what: str) -> Iterator[None]:
    """Turn any error of a parser into a DamagedModelError; errors of the disk pass through."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise DamagedModelError(f"{what} is damaged: {reason(error)}") from error


def check_sum(file: BinaryIO, entry: FileEntry, path: str) -> None:
    """DamagedModelError unless the file has the checksum of the manifest."""
    if _sha256(file) != entry.sha256:
        raise DamagedModelError(f"{path} is damaged: its checksum does not match")


def check_fit(kernel: Kernel, items: Items, relevance: Relevance | None) -> None:
    """ValueError unless kernel, items and relevance have the same items."""
    if len(items) != kernel.size:
        raise ValueError(f"the kernel has {kernel.size} items, the item table {len(items)}")
    if relevance is None:
        return
    offsets, neighbours = relevance.offsets, relevance.neighbours
    weights = [array for array in (relevance.weights, relevance.support) if array is not None]
    if offsets.shape != (kernel.size + 1,):
        raise ValueError(f"the kernel has {kernel.size} items, the relevance {len(offsets) - 1}")
    lengths = {int(offsets[-1]), len(neighbours), *map(len, weights)}
    if offsets[0] != 0 or (np.diff(offsets) < 0).any() or len(lengths) > 1:
        raise ValueError("the relevance offsets do not fit its neighbours and weights")
    if len(neighbours) and not 0 <= neighbours.min() <= neighbours.max() < kernel.size:
        raise ValueError("the relevance names a neighbour that is not an item")
    if not all(np.isfinite(array).all() for array in weights) or not 0 < relevance.floor < np.inf:
        raise ValueError("the relevance needs finite weights and a floor above 0")


def item_texts(items: Items) -> Iterator[str]:
    """What a search for each item may name: its name, id and category."""
    for parts in zip(items.names, items.ids, items.categories, strict=True):
        yield " ".join(part for part in parts if part)


def _write_pairs(kernel: Kernel, path: Path) -> None:
    dense = DenseKernel.of(kernel)
    safetensors.numpy.save_file({name: getattr(dense, name) for name in _PAIRS}, path)


def _read_relevance(path: Path) -> Relevance:
    if path.name == RELEVANCE:
        return read_arrays(Relevance, path)
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
        return Relevance(**{**arrays, "floor": float(arrays["floor"])})


def _entry(path: Path) -> FileEntry:
    with path.open("rb") as file:
        return FileEntry(sha256=_sha256(file), bytes=path.stat().st_size)


def _sha256(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.hexdigest()
