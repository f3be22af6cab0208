"""Everything that can go wrong with a model store; `model_store` draws the tree."""

from __future__ import annotations

import re
import textwrap


class ModelStoreError(Exception):
    """Base of all errors of the model store; its text is one sentence for a person."""


class BadRequestError(ModelStoreError):
    """The caller asked for something that cannot be done."""


class InvalidDraftError(BadRequestError):
    """The parts of a draft do not fit together."""


class InvalidVersionError(BadRequestError):
    """The text is not a version name."""


class UnknownVersionError(BadRequestError):
    """The store has no such version."""


class UnknownFileError(BadRequestError):
    """The model has no such file."""


class NoActiveModelError(BadRequestError):
    """The store has no active version."""


class ActiveVersionError(BadRequestError):
    """The active version cannot be deleted."""


class DamagedModelError(ModelStoreError):
    """A stored file is missing, truncated, altered or contradicts another."""


class NewerFormatError(DamagedModelError):
    """The model was written by a newer Tripod than this one."""


class StorageError(ModelStoreError):
    """The disk or the network failed."""


def reason(error: BaseException) -> str:
    """The cause in a few words, on one line: `No space left on device`, not `[Errno 28] …`."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    text = re.sub(r"^.*I/O error: | \(os error \d+\)", "", text)  # safetensors' way of saying it
    return textwrap.shorten(text, 200, placeholder=" …") or type(error).__name__
