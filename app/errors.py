"""All errors that a caller of the service can meet, as RFC 9457 problems.

Problem
├── BadRequest             400  the request cannot be read at all
├── Unauthorized           401  the admin key is missing
├── Forbidden              403  the admin key is wrong, or the service has none
├── NotFound               404
│   ├── CartNotFound            no such cart, or it has expired
│   ├── ItemNotInCart           the cart has no such line
│   ├── ItemNotFound            the model does not know the item
│   ├── ModelNotFound           the store has no such version
│   ├── ReportNotFound          the version came without a report
│   └── JobNotFound             no such training job, or it is too long ago
├── MethodNotAllowed       405
├── Conflict               409
│   ├── CartCheckedOut          a cart that was checked out does not change
│   ├── CartEmpty               an empty cart cannot be checked out
│   ├── CartFull                a cart holds at most 500 lines
│   ├── ModelActive             the active version cannot be deleted
│   ├── ModelDamaged            a damaged version cannot be activated
│   ├── JobWaiting              one training job waits already
│   └── JobEnded                the training job cannot be cancelled any more
├── CartChanged            412  If-Match names another state of the cart
├── CartExists             412  If-None-Match rules out that the cart exists, or its state
├── BodyTooLarge           413
├── UnsupportedMediaType   415  the body is not said to be JSON
├── Invalid                422  a parameter or the body does not make sense
│   └── IdempotencyKeyReused    the key was used with another request
├── TooManyRequests        429  this client asks too often: try again after `Retry-After` seconds
├── InternalError          500
└── Unavailable            503  try again after `Retry-After` seconds
    ├── RedisAway               carts cannot be reached
    ├── ModelMissing            no model has been loaded yet
    ├── NotReady                what /readyz misses
    └── Overloaded              too many computations are waiting

Subclasses carry defaults only; `type` is `urn:tripod:problem:<slug>` and never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class Problem(Exception):  # noqa: N818  RFC 9457's word
    """One problem: a stable kind (`slug`), a sentence about this occurrence (`detail`), more members."""

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal-error"
    title: ClassVar[str] = "Something went wrong on our side"
    headers: ClassVar[Mapping[str, str]] = {}
    retry_after: int | None = None  # seconds

    def __init__(self, detail: str, *, retry_after: int | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after or self.retry_after
        self.members = members

    def document(self) -> dict[str, Any]:
        """The members of the problem+json document."""
        kind = {"type": problem_type(self.slug), "title": self.title, "status": self.status}
        return {**kind, "detail": self.detail, **self.members}


def problem_type(slug: str) -> str:
    """The stable `type` URI of a kind of problem."""
    return f"urn:tripod:problem:{slug}"


class BadRequest(Problem):
    """The request cannot be read at all."""

    status, slug, title = 400, "bad-request", "The request cannot be read"


class Unauthorized(Problem):
    """The admin key is missing."""

    status, slug, title = 401, "unauthorized", "The admin key is missing"
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": 'ApiKey realm="tripod"'}


class Forbidden(Problem):
    """The admin key is wrong, or the service has none."""

    status, slug, title = 403, "forbidden", "The admin key is wrong, or the service has none"


class NotFound(Problem):
    """There is nothing under this address."""

    status, slug, title = 404, "not-found", "There is nothing under this address"


class CartNotFound(NotFound):
    """No such cart, or it has expired."""

    slug, title = "cart-not-found", "There is no such cart"


class ItemNotInCart(NotFound):
    """The cart has no line with this item."""

    slug, title = "item-not-in-cart", "The cart does not hold this item"


class ItemNotFound(NotFound):
    """The model does not know the item."""

    slug, title = "item-not-found", "The model does not know this item"


class ModelNotFound(NotFound):
    """The store has no such version."""

    slug, title = "model-not-found", "There is no such model version"


class ReportNotFound(NotFound):
    """The version came without a report."""

    slug, title = "report-not-found", "This model version has no report"


class JobNotFound(NotFound):
    """No such training job, or it is too long ago."""

    slug, title = "job-not-found", "There is no such training job"


class MethodNotAllowed(Problem):
    """The address exists, but not with this method."""

    status, slug, title = 405, "method-not-allowed", "The address does not take this method"


class Conflict(Problem):
    """The state of the cart does not allow the change."""

    status, slug, title = 409, "conflict", "The state of the resource does not allow this"


class CartCheckedOut(Conflict):
    """A cart that was checked out does not change any more."""

    slug, title = "cart-checked-out", "The cart was checked out"


class CartEmpty(Conflict):
    """An empty cart cannot be checked out."""

    slug, title = "cart-empty", "The cart is empty"


class CartFull(Conflict):
    """The cart would hold too many lines or too large a quantity."""

    slug, title = "cart-full", "The cart cannot hold more"


class ModelActive(Conflict):
    """The active version cannot be deleted."""

    slug, title = "model-active", "The model version is active"


class ModelDamaged(Conflict):
    """A damaged version cannot be activated."""

    slug, title = "model-damaged", "The model version is damaged"


class JobWaiting(Conflict):
    """One training job waits already; `location` is its address."""

    slug, title = "job-waiting", "A training job waits already"


class JobEnded(Conflict):
    """The training job cannot be cancelled any more."""

    slug, title = "job-ended", "The training job cannot be cancelled any more"


class CartChanged(Problem):
    """`If-Match` names another state of the cart."""

    status, slug, title = 412, "cart-changed", "The cart has changed in the meantime"


class CartExists(Problem):
    """`If-None-Match` names the state of the cart; `*` names every cart that exists."""

    status, slug, title = 412, "cart-exists", "The cart exists, in a state that If-None-Match rules out"


class BodyTooLarge(Problem):
    """The request body is larger than the service takes."""

    status, slug, title = 413, "body-too-large", "The request body is too large"


class UnsupportedMediaType(Problem):
    """The request has a body that is not said to be JSON."""

    status, slug, title = 415, "unsupported-media-type", "The request body must be JSON"


class Invalid(Problem):
    """A parameter or the body does not make sense."""

    status, slug, title = 422, "invalid-request", "The request does not make sense"

    def __init__(self, *errors: tuple[str, str]) -> None:
        """Each error is where it is, such as `query.k`, and what is wrong there, without a full stop."""
        where, message = errors[0]
        parts = [{"where": where, "message": message} for where, message in errors]
        super().__init__(f"{where}: {message}.", errors=parts)


class IdempotencyKeyReused(Invalid):
    """The same Idempotency-Key came with another request."""

    slug, title = "idempotency-key-reused", "The Idempotency-Key was used for another request"


class TooManyRequests(Problem):
    """One client asks more often than the service allows."""

    status, slug, title, retry_after = 429, "too-many-requests", "Too many requests from this client", 1


class InternalError(Problem):
    """A bug of ours."""


class Unavailable(Problem):
    """Something the request needs is not there at the moment."""

    status, slug, title, retry_after = 503, "unavailable", "Not available at the moment", 1


class RedisAway(Unavailable):
    """Carts cannot be reached."""

    slug, title = "redis-away", "Carts cannot be reached at the moment"


class ModelMissing(Unavailable):
    """No model has been loaded yet."""

    slug, title, retry_after = "model-missing", "No model has been loaded yet", 5


class NotReady(Unavailable):
    """Something that requests need is missing; `missing` names it."""

    slug, title = "not-ready", "The service is not ready"


class Overloaded(Unavailable):
    """Too many computations are waiting."""

    slug, title = "overloaded", "Too many requests are waiting"
