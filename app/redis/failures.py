"""Classification of redis-py errors: is Redis unavailable, or is it a bug of ours?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from redis import exceptions

from app.http.errors import RedisUnavailable

_UNREACHABLE = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)  # a TimeoutError is an OSError
# Redis responds, but its state does not allow the command. redis-py has classes for some of these codes;
# others begin the message (after the command in a pipeline, after the position in a script with Redis 6).
_CLASSES = {
    exceptions.AskError: "ASK",  # also MOVED: this Redis is part of a cluster
    exceptions.MasterDownError: "MASTERDOWN",
    exceptions.ClusterDownError: "CLUSTERDOWN",
    exceptions.NoPermissionError: "NOPERM",
    exceptions.OutOfMemoryError: "OOM",
    exceptions.ReadOnlyError: "READONLY",
    exceptions.TryAgainError: "TRYAGAIN",
}
_DENIED_IN_SCRIPT = "ACL failure in script"
_CODES = re.compile(
    r"(?:^|caused error: \(['\"]|: -)"
    r"(BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|NOMASTERLINK|NOREPLICAS|OOM|READONLY|TRYAGAIN) "
)


@dataclass(frozen=True)
class RedisFailure:
    """Why Redis is unavailable."""

    reason: str  # for the operator
    code: str | None = None  # the error code of a server that responds; None if it is unreachable

    def problem(self) -> RedisUnavailable:
        """The error that a client of the service gets."""
        if self.code is None:
            return RedisUnavailable("Redis does not respond: try again in a second.")
        return RedisUnavailable(f"Redis refuses the command ({self.code}): try again in a second.")


def failure_of(error: BaseException) -> RedisFailure | None:
    """The failure behind an exception, None if Redis is not the cause."""
    if isinstance(error, _UNREACHABLE):
        return RedisFailure(str(error))
    if not isinstance(error, exceptions.ResponseError):
        return None
    text = str(error)
    for kind, code in _CLASSES.items():
        if isinstance(error, kind):
            return RedisFailure(f"{code} {text}", code)
    if text.startswith(_DENIED_IN_SCRIPT):
        return RedisFailure(text, "NOPERM")
    found = _CODES.search(text)
    return RedisFailure(text, found[1]) if found else None
