"""Smoke test of a running service over HTTP: carts, recommendations, bundles, retraining, rollback.

    scripts/smoke [URL]        default URL: http://127.0.0.1:8000; the admin key is read from TRIPOD_ADMIN_KEY

It needs only Python's standard library. Its carts are deleted, and the model that was active before is
active again afterwards; its checkout and the retrained version remain.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_TIMEOUT_SECONDS = 1200.0  # retraining the demo takes two to four minutes on an idle machine
_DEMO_KEY = "tripod-demo-admin-key"  # default of docker-compose.yml


class SmokeError(Exception):
    """A failed check; the message is one sentence."""


@dataclass(frozen=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: dict[str, str]
    body: Any


class Shop:
    """HTTP client of the service."""

    def __init__(self, url: str, admin_key: str) -> None:
        self.url = url.rstrip("/")
        self._admin_key = admin_key

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """Send a request and return the answer whatever its status; raises SmokeError if there is none."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "X-Admin-Key": self._admin_key}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return _answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return _answer(error.code, error.headers, error.read())
        except OSError as error:
            raise SmokeError(f"{self.url} does not answer: {error}.") from error

    def get(self, path: str) -> Any:
        """Body of a GET answered 200."""
        return self.expect(200, "GET", path).body

    def expect(self, status: int, method: str, path: str, body: object = None) -> Answer:
        """Send a request and raise SmokeError unless it is answered with this status."""
        answer = self.ask(method, path, body)
        if answer.status != status:
            raise SmokeError(f"{method} {path} answered {answer.status}, not {status}: {answer.body}")
        return answer


def _answer(status: int, headers: Any, content: bytes) -> Answer:
    kind = headers.get_content_type()
    body = json.loads(content) if content and kind.endswith("json") else content.decode()
    return Answer(status, {name.lower(): value for name, value in headers.items()}, body)


def check(condition: object, message: str) -> None:
    """Raise SmokeError unless the condition holds."""
    if not condition:
        raise SmokeError(message)


def eventually(condition: Callable[[], object], message: str) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while not condition():
        check(time.monotonic() < deadline, f"{message} within {_TIMEOUT_SECONDS:.0f} seconds")
        time.sleep(0.5)


def is_ready(shop: Shop) -> bool:
    """Whether the service is ready."""
    try:
        return shop.ask("GET", "/readyz").status == 200
    except SmokeError:
        return False


def carts_and_recommendations(shop: Shop) -> None:
    """Fill a cart, get recommendations for it, and check it out once."""
    first, second = (item["item_id"] for item in shop.get("/items?limit=2")["items"])
    cart = f"smoke-{uuid.uuid4().hex[:12]}"
    shop.expect(200, "POST", f"/carts/{cart}/items", {"item_id": first, "quantity": 2})
    filled = shop.expect(200, "POST", f"/carts/{cart}/items", {"item_id": "no such item"}).body
    check([line["item_id"] for line in filled["items"]] == [first, "no such item"], "the cart lost a line")

    answer = shop.get(f"/recommend?cart_id={cart}&k=10")
    suggested = [item["item_id"] for item in answer["items"]]
    check(len(set(suggested)) == 10, f"expected 10 different items, got {len(set(suggested))}")
    check(first not in suggested, "an item of the cart was recommended")
    check(
        answer["cart"]["unknown_items"] == ["no such item"], "the unknown item is not listed in unknown_items"
    )
    probabilities = [item["probability"] for item in answer["items"]]
    if None not in probabilities:  # null for models of release 0.1
        check(
            probabilities == sorted(probabilities, reverse=True),
            "the recommendations are not sorted by probability",
        )

    shop.expect(200, "DELETE", f"/carts/{cart}/items/{quote('no such item')}")
    shop.expect(200, "PUT", f"/carts/{cart}/items/{quote(second, safe='')}", {"quantity": 1})
    shop.get(f"/carts/{cart}/insights")
    shop.get(f"/carts/{cart}/substitutes")
    bought = shop.expect(200, "POST", f"/carts/{cart}/checkout").body
    check(bought["status"] == "checked_out", "the cart was not checked out")
    again = shop.expect(409, "POST", f"/carts/{cart}/checkout").body
    check(
        again["type"] == "urn:tripod:problem:cart-checked-out",
        "a second checkout was answered with another problem type",
    )
    shop.expect(204, "DELETE", f"/carts/{cart}")
    shop.expect(404, "GET", f"/carts/{cart}")


def bundles(shop: Shop) -> None:
    """Build a bundle of two items, one of three items around a given one, and list the best ones."""
    chosen = shop.get("/bundles?k=2")["bundles"][0]["items"]
    check(len({item["item_id"] for item in chosen}) == 2, "the bundle does not hold 2 different items")
    given = chosen[0]["item_id"]
    around = shop.get(f"/bundles?k=3&items={quote(given)}")
    check(around["cart"]["items"] == [given], "the bundle was not built around the given item")
    check(len(around["bundles"][0]["items"]) == 3, "the bundle around an item does not hold 3 more")
    best = shop.get("/bundles/top?k=2&limit=1")["bundles"]
    check(all(len(bundle["items"]) == 2 for bundle in best), "a top bundle does not hold 2 items")


def retraining_and_rollback(shop: Shop) -> None:
    """Retrain with default options, check that the new model is activated, and roll back."""
    before = shop.get("/models/active")["version"]
    address = shop.expect(202, "POST", "/training-jobs").headers["location"]

    def has_ended() -> bool:
        return shop.get(address)["state"] not in ("queued", "running")

    eventually(has_ended, "the training job did not end")
    job = shop.get(address)
    check(
        job["state"] == "succeeded", f"the training job ended as {job['state']}: {job['error']} {job['gate']}"
    )
    _wait_for_model(shop, job["version"])
    shop.expect(200, "POST", f"/models/{before}/activate")
    _wait_for_model(shop, before)


def _wait_for_model(shop: Shop, version: str) -> None:
    eventually(
        lambda: shop.get("/recommend?k=1")["model_version"] == version, f"model {version} was not activated"
    )


def main(url: str = "http://127.0.0.1:8000") -> None:
    """Run all checks; stops at the first failure."""
    shop = Shop(url, os.environ.get("TRIPOD_ADMIN_KEY", _DEMO_KEY))
    checks = [carts_and_recommendations, bundles, retraining_and_rollback]
    try:
        eventually(lambda: is_ready(shop), f"{url} did not become ready")
        for run in checks:
            started = time.monotonic()
            run(shop)
            print(f"ok  {run.__name__.replace('_', ' ')} ({time.monotonic() - started:.1f} s)", flush=True)
    except SmokeError as error:
        print(f"FAILED  {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main(*sys.argv[1:2])
