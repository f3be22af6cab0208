"""Versioned, checksummed, atomic model artifacts.

ModelStoreError
├── BadRequestError             the caller asked for something that cannot be done
│   ├── InvalidDraftError       kernel, items, relevance or files of a draft do not fit together
│   ├── InvalidVersionError     not a version name at all, for instance `../../x`
│   ├── UnknownVersionError     no such version in this store (or deleted in the meantime)
│   ├── UnknownFileError        the model has no such extra file
│   ├── NoActiveModelError      no version has been activated yet
│   └── ActiveVersionError      the active version cannot be deleted
├── DamagedModelError           a file is missing, truncated, altered or contradicts another
│   └── NewerFormatError        written by a newer Tripod than this one
└── StorageError                the disk or the network failed: full, read-only, unreachable

Each message is one sentence that names the file or version concerned.
"""

from model_store.artifact import Draft, StoredModel
from model_store.errors import (
    ActiveVersionError,
    BadRequestError,
    DamagedModelError,
    InvalidDraftError,
    InvalidVersionError,
    ModelStoreError,
    NewerFormatError,
    NoActiveModelError,
    StorageError,
    UnknownFileError,
    UnknownVersionError,
)
from model_store.history import Activated
from model_store.items import Items
from model_store.manifest import Kind, Knobs, Manifest
from model_store.store import ModelStore, VersionInfo

__all__ = [
    "Activated",
    "ActiveVersionError",
    "BadRequestError",
    "DamagedModelError",
    "Draft",
    "InvalidDraftError",
    "InvalidVersionError",
    "Items",
    "Kind",
    "Knobs",
    "Manifest",
    "ModelStore",
    "ModelStoreError",
    "NewerFormatError",
    "NoActiveModelError",
    "StorageError",
    "StoredModel",
    "UnknownFileError",
    "UnknownVersionError",
    "VersionInfo",
]
