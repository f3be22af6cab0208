"""The manifest: description of a version and checksums of its files."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)
from pydantic.dataclasses import dataclass

from model_store.errors import DamagedModelError, InvalidVersionError, NewerFormatError
from ndpp.arrivals import ArrivalWeights
from ndpp.mixture import Mixture

# 1, of release 0.1, has F and X in the kernel file; 1 and 2 have `relevance.npz` and lack the files of what
# serving would otherwise compute.
FORMAT_VERSION = 3
MANIFEST = "manifest.json"

Kind = Literal["symmetric", "ndpp2019", "scalable", "tied"]
# A file name without path separators, so that it cannot leave its folder.
FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
_VERSION = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{6}")
_SEAL = b'  "checksum": "'


# All members are required in schemas of responses, which always have them.
@dataclass(frozen=True, config=ConfigDict(json_schema_serialization_defaults_required=True))
class Knobs:
    """Serving parameters chosen on validation data; all zero is the paper's conditioning."""

    decoupling: Annotated[float, Field(ge=0, le=1)] = 0.0  # ω
    relevance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # β
    popularity: Annotated[float, Field(allow_inf_nan=False)] = 0.0  # γ


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class FileEntry(_Record):
    """Size and checksum of one file."""

    sha256: str
    bytes: int


class Sizes(_Record):
    """Number of items, M, and of columns of F = [V B], R."""

    items: int
    rank: int


class Manifest(_Record):
    """The contents of `manifest.json`."""

    format_version: int = FORMAT_VERSION
    version: str
    created: AwareDatetime
    kind: Kind
    sizes: Sizes
    data_fingerprint: str
    hyperparameters: dict[str, JsonValue]
    seed: int
    metrics: dict[str, JsonValue]
    knobs: Knobs
    mixture: Mixture | None = None  # None: scores are not probabilities
    arrivals: ArrivalWeights | None = None  # None: not fitted, see `StoredModel.arrival_weights`
    calibration: dict[str, JsonValue] | None = None  # predicted against observed, on held-out baskets
    tripod_version: str
    files: dict[Annotated[str, StringConstraints(pattern=FILE_NAME)], FileEntry]

    def to_json(self) -> bytes:
        """JSON whose last line is a checksum of all bytes before it."""
        text = json.dumps(json.loads(self.model_dump_json()), indent=2, ensure_ascii=False)
        return _sealed(text.removesuffix("\n}").encode() + b",\n")


def parse_manifest(data: bytes, version: str) -> Manifest:
    """Parse and verify a manifest; NewerFormatError if a newer release wrote it."""
    where = f"{version}/{MANIFEST}"
    try:
        fields = json.loads(data)
        written = fields["format_version"]
        if isinstance(written, int) and written > FORMAT_VERSION:
            raise NewerFormatError(
                f"{where} has format {written}, this release reads up to {FORMAT_VERSION}: upgrade Tripod"
            )
        manifest = Manifest.model_validate(fields)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        detail = (
            "a field is missing or wrong" if isinstance(error, ValidationError) else "it is not valid JSON"
        )
        raise DamagedModelError(f"{where} is damaged: {detail}") from error
    body, _, _ = data.rpartition(_SEAL)
    if _sealed(body) != data:
        raise DamagedModelError(f"{where} is damaged: its checksum does not match")
    if manifest.version != version:
        raise DamagedModelError(f"{where} is damaged: it belongs to version {manifest.version}")
    return manifest


def _sealed(body: bytes) -> bytes:
    return body + _SEAL + hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'


def new_version() -> tuple[str, datetime]:
    """A name that sorts by time: date, time and the fraction of the second in hexadecimal."""
    now = datetime.now(UTC)
    fraction = (now.microsecond << 24) // 1_000_000
    return f"{now:%Y%m%d-%H%M%S}-{fraction:06x}", now


def is_version(text: str) -> bool:
    """Whether the text has the form of a version name."""
    return _VERSION.fullmatch(text) is not None


def check_version(text: str) -> str:
    """The text if it is a version name, else InvalidVersionError; checks every name given by a caller."""
    if not is_version(text):
        raise InvalidVersionError(f"{text!r} is not a version name such as 20261116-021530-3f9a1c")
    return text
