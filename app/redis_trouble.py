"""Which errors of a Redis client mean that Redis cannot be used at the moment, and are no mistake of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redis import exceptions

from app.errors import RedisAway

_UNREACHABLE = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)  # a TimeoutError is an OSError
# Redis answers, but its state does not allow the command. For some of its error codes the client has classes,
# the others begin the text (a pipeline puts the command before it, Redis 6 the place in the script).
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
_WORDS = re.compile(
    r"(?:^|caused error: \(['\"]|: -)"
    r"(BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|NOMASTERLINK|NOREPLICAS|OOM|READONLY|TRYAGAIN) "
)


@dataclass(frozen=True)
class RedisTrouble:
    """Why Redis cannot be used at the moment."""

    reason: str  # for the operator
    code: str | None = None  # of a server that answers, but refuses; None: it cannot be reached

    def problem(self) -> RedisAway:
        """What a caller is told."""
        if self.code is None:
            return RedisAway("Redis does not answer: try again in a second.")
        return RedisAway(f"Redis refuses this at the moment ({self.code}): try again in a second.")


def trouble_of(error: BaseException) -> RedisTrouble | None:
    """What the error says about the state of Redis; None if it says nothing about it."""
    if isinstance(error, _UNREACHABLE):
        return RedisTrouble(str(error))
    if not isinstance(error, exceptions.ResponseError):
        return None
    text = str(error)
    for kind, code in _CLASSES.items():
        if isinstance(error, kind):
            return RedisTrouble(f"{code} {text}", code)
    if text.startswith(_DENIED_IN_SCRIPT):
        return RedisTrouble(text, "NOPERM")
    found = _WORDS.search(text)
    return RedisTrouble(text, found[1]) if found else None
