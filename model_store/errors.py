"""Errors of the model store; the docstring of `model_store` has the tree."""

from __future__ import annotations

import re
import textwrap


class ModelStoreError(Exception):
    """Base of all errors of the model store; its text is one sentence."""


class BadRequestError(ModelStoreError):
    """The request cannot be fulfilled."""


class InvalidDraftError(BadRequestError):
    """The parts of a draft do not fit together."""


class InvalidVersionError(BadRequestError):
    """The text is not a version name."""


class UnknownVersionError(BadRequestError):
    """The model store has no such version."""


class UnknownFileError(BadRequestError):
    """The version has no such file."""


class NoActiveModelError(BadRequestError):
    """The model store has no active version."""


class ActiveVersionError(BadRequestError):
    """The active version cannot be deleted."""


class DamagedModelError(ModelStoreError):
    """A stored file is missing, truncated, altered or does not fit the others."""


class NewerFormatError(DamagedModelError):
    """The model was written by a newer release."""


class StorageError(ModelStoreError):
    """The disk or the network failed."""


def reason(error: BaseException) -> str:
    """The cause of an error on one line: `No space left on device`, not `[Errno 28] …`."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    text = re.sub(r"^.*I/O error: | \(os error \d+\)", "", text)  # as safetensors writes it
    return textwrap.shorten(text, 200, placeholder=" …") or type(error).__name__
