"""Versioned, checksummed, atomic model artifacts.

ModelStoreError
├── BadRequestError             the request cannot be fulfilled
│   ├── InvalidDraftError       the parts of a draft do not fit together
│   ├── InvalidVersionError     not a version name, for instance `../../x`
│   ├── UnknownVersionError     no such version, or deleted meanwhile
│   ├── UnknownFileError        the version has no such file
│   ├── NoActiveModelError      no version has been activated yet
│   └── ActiveVersionError      the active version cannot be deleted
├── DamagedModelError           a file is missing, truncated, altered or does not fit the others
│   └── NewerFormatError        written by a newer release
└── StorageError                the disk or the network failed

Each message is one sentence that names the file or version.
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
from model_store.places import default_data, default_store
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
    "default_data",
    "default_store",
]
