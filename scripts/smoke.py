"""A running service, asked over HTTP only: carts, recommendations, bundles, retraining, rollback.

    scripts/smoke [URL]        URL is http://127.0.0.1:8000 unless given; TRIPOD_ADMIN_KEY is the admin key

It needs nothing but Python's standard library, and changes nothing for good: its carts are deleted or
checked out, and the model that answered before it answers after it.
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

_PATIENCE_SECONDS = 1200.0  # the demo's retraining takes two to four minutes on a machine of its own
_DEMO_KEY = "tripod-demo-admin-key"  # of docker-compose.yml


class SmokeError(Exception):
    """A check that failed; the text is one sentence."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: Any


class Shop:
    """Speaks HTTP with the service."""

    def __init__(self, url: str, admin_key: str) -> None:
        self.url = url.rstrip("/")
        self._admin_key = admin_key

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """Any answer, good or bad; SmokeError if there is none."""
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
        """The body of a good answer."""
        return self.expect(200, "GET", path).body

    def expect(self, status: int, method: str, path: str, body: object = None) -> Answer:
        """An answer with this status, or SmokeError."""
        answer = self.ask(method, path, body)
        if answer.status != status:
            raise SmokeError(f"{method} {path} answered {answer.status}, not {status}: {answer.body}")
        return answer


def _answer(status: int, headers: Any, content: bytes) -> Answer:
    kind = headers.get_content_type()
    body = json.loads(content) if content and kind.endswith("json") else content.decode()
    return Answer(status, {name.lower(): value for name, value in headers.items()}, body)


def check(condition: object, message: str) -> None:
    """SmokeError with the message unless the condition holds."""
    if not condition:
        raise SmokeError(message)


def eventually(question: Callable[[], object], message: str) -> None:
    """Ask until the answer is true."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not question():
        check(time.monotonic() < deadline, f"{message} within {_PATIENCE_SECONDS:.0f} seconds")
        time.sleep(0.5)


def is_ready(shop: Shop) -> bool:
    """Whether the service answers and has a model."""
    try:
        return shop.ask("GET", "/readyz").status == 200
    except SmokeError:
        return False


def carts_and_recommendations(shop: Shop) -> None:
    """A cart is filled, asked about, and checked out once."""
    first, second = (item["item_id"] for item in shop.get("/items?limit=2")["items"])
    cart = f"smoke-{uuid.uuid4().hex[:12]}"
    shop.expect(200, "POST", f"/carts/{cart}/items", {"item_id": first, "quantity": 2})
    filled = shop.expect(200, "POST", f"/carts/{cart}/items", {"item_id": "no such thing"}).body
    check([line["item_id"] for line in filled["items"]] == [first, "no such thing"], "the cart lost a line")

    answer = shop.get(f"/recommend?cart_id={cart}&k=10")
    suggested = [item["item_id"] for item in answer["items"]]
    check(len(set(suggested)) == 10, f"10 different items were asked for, {len(set(suggested))} came")
    check(first not in suggested, "an item of the cart was recommended")
    check(answer["cart"]["unknown_items"] == ["no such thing"], "the unknown item was not named")
    probabilities = [item["probability"] for item in answer["items"]]
    if None not in probabilities:  # models of release 0.1 give none
        check(probabilities == sorted(probabilities, reverse=True), "the recommendations are not in order")

    shop.expect(200, "DELETE", f"/carts/{cart}/items/{quote('no such thing')}")
    shop.expect(200, "PUT", f"/carts/{cart}/items/{quote(second, safe='')}", {"quantity": 1})
    shop.get(f"/carts/{cart}/insights")
    bought = shop.expect(200, "POST", f"/carts/{cart}/checkout").body
    check(bought["status"] == "checked_out", "the cart was not checked out")
    again = shop.expect(409, "POST", f"/carts/{cart}/checkout").body
    check(again["type"] == "urn:tripod:problem:cart-checked-out", "a second checkout got another problem")
    shop.expect(204, "DELETE", f"/carts/{cart}")
    shop.expect(404, "GET", f"/carts/{cart}")


def bundles(shop: Shop) -> None:
    """Five items that belong together, and three around a given one."""
    chosen = shop.get("/bundles?k=5")["bundles"][0]["items"]
    check(len({item["item_id"] for item in chosen}) == 5, "the bundle does not hold 5 different items")
    given = chosen[0]["item_id"]
    around = shop.get(f"/bundles?k=3&items={quote(given)}")
    check(around["cart"]["items"] == [given], "the bundle is not about the given item")
    check(len(around["bundles"][0]["items"]) == 3, "the bundle around an item does not hold 3 more")


def retraining_and_rollback(shop: Shop) -> None:
    """A retraining as the Retrain button orders it goes live, and the way back leads to the model before."""
    before = shop.get("/models/active")["version"]
    address = shop.expect(202, "POST", "/training-jobs").headers["location"]

    def has_ended() -> bool:
        return shop.get(address)["state"] not in ("queued", "running")

    eventually(has_ended, "the training job did not end")
    job = shop.get(address)
    check(job["state"] == "succeeded", f"the training job ended {job['state']}: {job['error']} {job['gate']}")
    _wait_for_model(shop, job["version"])
    shop.expect(200, "POST", f"/models/{before}/activate")
    _wait_for_model(shop, before)


def _wait_for_model(shop: Shop, version: str) -> None:
    eventually(
        lambda: shop.get("/recommend?k=1")["model_version"] == version, f"model {version} did not answer"
    )


def main(url: str = "http://127.0.0.1:8000") -> None:
    """All checks; the first that fails ends the program with a sentence."""
    shop = Shop(url, os.environ.get("TRIPOD_ADMIN_KEY", _DEMO_KEY))
    checks = [carts_and_recommendations, bundles, retraining_and_rollback]
    try:
        eventually(lambda: is_ready(shop), f"{url} did not get ready")
        for run in checks:
            started = time.monotonic()
            run(shop)
            print(f"ok  {run.__name__.replace('_', ' ')} ({time.monotonic() - started:.1f} s)", flush=True)
    except SmokeError as error:
        print(f"FAILED  {error}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main(*sys.argv[1:2])
