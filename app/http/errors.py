"""All errors that a client of the service can get, as RFC 9457 problems.

Problem
├── BadRequest             400  the request cannot be parsed
├── Unauthorized           401  the admin key is missing
├── Forbidden              403  the admin key is wrong, or none is configured
├── NotFound               404
│   ├── CartNotFound            no such cart, or it has expired
│   ├── ItemNotInCart           the cart has no such line
│   ├── ItemNotFound            the shop has no such item
│   ├── ModelNotFound           the model store has no such version
│   ├── ReportNotFound          the model version has no report
│   ├── PurchaseNotFound        no such purchase, or it is too old
│   ├── ShopperNotFound         nothing is stored about the shopper
│   ├── RuleNotFound            no such rule
│   └── JobNotFound             no such training job, or it is too old
├── MethodNotAllowed       405
├── Conflict               409
│   ├── CartCheckedOut          a cart cannot be changed after checkout
│   ├── CartEmpty               an empty cart cannot be checked out
│   ├── CartFull                a cart has at most 500 lines
│   ├── PurchaseExists          the order was recorded with other content
│   ├── TooManyRules            a shop has at most 200 rules
│   ├── ModelActive             the active version cannot be deleted
│   ├── ModelDamaged            a damaged version cannot be activated
│   ├── JobWaiting              a training job is waiting already
│   └── JobEnded                the training job can no longer be cancelled
├── CartChanged            412  If-Match does not match the cart
├── CartExists             412  If-None-Match matches the cart
├── BodyTooLarge           413
├── UnsupportedMediaType   415  the body is not declared as JSON
├── Invalid                422  a parameter or the body is invalid
│   └── IdempotencyKeyReused    the key was used with another request
├── TooManyRequests        429  try again after `Retry-After` seconds
├── InternalError          500
└── Unavailable            503  try again after `Retry-After` seconds
    ├── RedisUnavailable        carts cannot be read or changed
    ├── ModelMissing            no model has been loaded yet
    ├── NotReady                /readyz: `missing` says what is missing
    └── Overloaded              too many computations are waiting

A class's docstring is the problem's `title`, its name gives the `type`: `urn:tripod:problem:cart-not-found`.
Types never change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar


class Problem(Exception):  # noqa: N818  the term of RFC 9457
    """Something went wrong on our side"""

    status: ClassVar[int] = 500
    slug: ClassVar[str]
    title: ClassVar[str]
    headers: ClassVar[Mapping[str, str]] = {}
    retry_after: int | None = None  # seconds

    def __init_subclass__(cls) -> None:
        if "slug" not in cls.__dict__:
            cls.slug = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()
        cls.title = cls.__doc__ or ""

    def __init__(self, detail: str, *, retry_after: int | None = None, **members: Any) -> None:
        super().__init__(detail)
        self.detail = detail  # a sentence about this occurrence
        self.retry_after = retry_after or self.retry_after
        self.members = members

    @classmethod
    def type_uri(cls) -> str:
        """The stable `type` of this kind of problem."""
        return f"urn:tripod:problem:{cls.slug}"

    def document(self) -> dict[str, Any]:
        """The members of the problem+json document."""
        kind = {"type": self.type_uri(), "title": self.title, "status": self.status}
        return {**kind, "detail": self.detail, **self.members}


class BadRequest(Problem):
    """The request cannot be parsed"""

    status = 400


class Unauthorized(Problem):
    """The admin key is missing"""

    status = 401
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": 'ApiKey realm="tripod"'}


class Forbidden(Problem):
    """The admin key is wrong, or none is configured"""

    status = 403


class NotFound(Problem):
    """There is nothing at this address"""

    status = 404


class CartNotFound(NotFound):
    """There is no such cart"""


class ItemNotInCart(NotFound):
    """The cart does not hold this item"""


class ItemNotFound(NotFound):
    """The shop has no such item"""


class ModelNotFound(NotFound):
    """There is no such model version"""


class ReportNotFound(NotFound):
    """This model version has no report"""


class ShopperNotFound(NotFound):
    """Nothing is stored about this shopper"""


class PurchaseNotFound(NotFound):
    """There is no such purchase"""


class RuleNotFound(NotFound):
    """There is no such rule"""


class JobNotFound(NotFound):
    """There is no such training job"""


class MethodNotAllowed(Problem):
    """The address does not support this method"""

    status = 405


class Conflict(Problem):
    """The state of the resource does not allow this"""

    status = 409


class CartCheckedOut(Conflict):
    """The cart was checked out"""


class CartEmpty(Conflict):
    """The cart is empty"""


class CartFull(Conflict):
    """The cart cannot hold more"""


class PurchaseExists(Conflict):
    """The purchase was recorded with other content"""


class TooManyRules(Conflict):
    """The shop has too many rules"""


class ModelActive(Conflict):
    """The model version is active"""


class ModelDamaged(Conflict):
    """The model version is damaged"""


class JobWaiting(Conflict):
    """A training job is waiting already"""


class JobEnded(Conflict):
    """The training job can no longer be cancelled"""


class CartChanged(Problem):
    """The cart has changed in the meantime"""

    status = 412


class CartExists(Problem):
    """The cart exists, in a state that If-None-Match rules out"""

    status = 412


class BodyTooLarge(Problem):
    """The request body is too large"""

    status = 413


class UnsupportedMediaType(Problem):
    """The request body must be JSON"""

    status = 415


class Invalid(Problem):
    """The request is invalid"""

    status, slug = 422, "invalid-request"

    def __init__(self, *errors: tuple[str, str]) -> None:
        """Each error is its location, such as `query.k`, and a message without a full stop."""
        where, message = errors[0]
        parts = [{"where": where, "message": message} for where, message in errors]
        super().__init__(f"{where}: {message}.", errors=parts)


class IdempotencyKeyReused(Invalid):
    """The Idempotency-Key was used for another request"""


class TooManyRequests(Problem):
    """Too many requests from this client"""

    status, retry_after = 429, 1


class InternalError(Problem):
    """Something went wrong on our side"""


class Unavailable(Problem):
    """Not available at the moment"""

    status, retry_after = 503, 1


class RedisUnavailable(Unavailable):
    """Redis is unavailable: carts cannot be read or changed"""

    slug = "redis-away"  # the type of release 0.1


class ModelMissing(Unavailable):
    """No model has been loaded yet"""

    retry_after = 5


class NotReady(Unavailable):
    """The service is not ready"""


class Overloaded(Unavailable):
    """Too many requests are waiting"""
