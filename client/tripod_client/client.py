"""The synchronous client `Tripod` and the asynchronous client `AsyncTripod`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, closing, contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from tripod_client import calls, cart_calls, item_calls, rule_calls, shopper_calls
from tripod_client.answers import Job
from tripod_client.arguments import ItemChange
from tripod_client.errors import ConnectionFailed, UnreadableAnswer, json_object, raise_for_problem
from tripod_client.request import Call, header_value
from tripod_client.streams import EVENTS, LINES, Lines, Stream, unreadable

_STREAM_SECONDS = 60.0
P = ParamSpec("P")
T = TypeVar("T")


class _Route(Generic[P, T]):
    """Descriptor that turns a request builder into a method of both clients."""

    def __init__(self, build: Callable[P, Call[T]]) -> None:
        self._build = build

    @overload
    def __get__(self, client: Tripod, owner: object) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncTripod, owner: object) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, owner: object) -> Any:
        @wraps(self._build)
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client._send(self._build(*args, **kwargs))

        return method


class _Routes:
    """The methods that both clients share; see `calls.py` and the other modules of calls."""

    create_cart = _Route(cart_calls.create_cart)
    add_items = _Route(cart_calls.add_items)
    merge_carts = _Route(cart_calls.merge_carts)
    set_quantity = _Route(cart_calls.set_quantity)
    remove_item = _Route(cart_calls.remove_item)
    get_cart = _Route(cart_calls.get_cart)
    delete_cart = _Route(cart_calls.delete_cart)
    check_out = _Route(cart_calls.check_out)
    recommend = _Route(calls.recommend)
    recommend_json = _Route(calls.recommend_json)
    recommend_batch = _Route(calls.recommend_batch)
    insights = _Route(calls.insights)
    cart_insights = _Route(calls.cart_insights)
    substitutes = _Route(calls.substitutes)
    cart_substitutes = _Route(calls.cart_substitutes)
    find_bundles = _Route(calls.find_bundles)
    find_bundles_json = _Route(calls.find_bundles_json)
    top_bundles = _Route(calls.top_bundles)
    record_purchase = _Route(shopper_calls.record_purchase)
    record_purchases = _Route(shopper_calls.record_purchases)
    cancel_purchase = _Route(shopper_calls.cancel_purchase)
    return_items = _Route(shopper_calls.return_items)
    get_shopper = _Route(shopper_calls.get_shopper)
    buy_again = _Route(shopper_calls.buy_again)
    forget_shopper = _Route(shopper_calls.forget_shopper)
    search_items = _Route(item_calls.search_items)
    list_categories = _Route(item_calls.list_categories)
    get_item = _Route(item_calls.get_item)
    related_items = _Route(item_calls.related_items)
    put_item = _Route(item_calls.put_item)
    patch_item = _Route(item_calls.patch_item)
    patch_items = _Route(item_calls.patch_items)
    delete_item = _Route(item_calls.delete_item)
    list_rules = _Route(rule_calls.list_rules)
    get_rule = _Route(rule_calls.get_rule)
    put_rule = _Route(rule_calls.put_rule)
    delete_rule = _Route(rule_calls.delete_rule)
    preview_rules = _Route(rule_calls.preview_rules)
    list_models = _Route(calls.list_models)
    active_model = _Route(calls.active_model)
    model_report = _Route(calls.model_report)
    activate_model = _Route(calls.activate_model)
    delete_model = _Route(calls.delete_model)
    start_job = _Route(calls.start_job)
    list_jobs = _Route(calls.list_jobs)
    get_job = _Route(calls.get_job)
    cancel_job = _Route(calls.cancel_job)
    alive = _Route(calls.alive)
    ready = _Route(calls.ready)
    metrics = _Route(calls.metrics)


def _options(url: str, admin_key: str | None, timeout: float) -> dict[str, Any]:
    headers = {} if admin_key is None else {"X-Admin-Key": header_value("admin_key", admin_key)}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def _request(http: httpx.Client | httpx.AsyncClient, call: Call[Any], content: Any) -> httpx.Request:
    try:
        return http.build_request(
            call.method,
            call.path,
            params=call.query,
            json=call.body,
            content=content,
            headers=call.headers,
            timeout=_timeout(http, call.least_seconds),
        )
    except httpx.InvalidURL as error:  # for example an id of 70,000 characters
        raise ValueError(f"the request cannot be sent: {error}") from error


def _awaited(content: bytes | Iterable[bytes] | None) -> bytes | AsyncIterator[bytes] | None:
    """The content as the asynchronous client sends it."""
    if content is None or isinstance(content, bytes):
        return content

    async def parts() -> AsyncIterator[bytes]:
        for part in content:
            yield part

    return parts()


def _streaming(http: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    # Among events the service sends a comment every 15 seconds: the read timeout must be longer than that.
    return http.build_request(call.method, call.path, timeout=_timeout(http, _STREAM_SECONDS))


def _timeout(http: httpx.Client | httpx.AsyncClient, least_seconds: float) -> httpx.Timeout:
    """The timeout of the client, with at least so many seconds to wait for the answer."""
    usual = http.timeout.connect  # None: no limit
    return httpx.Timeout(usual, read=None if usual is None else max(usual, least_seconds))


def _answer(response: httpx.Response, call: Call[Any]) -> Any:
    raise_for_problem(response)
    if call.answer == "text":
        return response.text
    if call.answer == "nothing":
        if response.content:
            raise unreadable(response, "it should be empty")
        return None
    answer = json_object(response.content)
    if answer is None:
        raise unreadable(response, "it is not a JSON object")
    return answer


@contextmanager
def _reaching(request: httpx.Request) -> Iterator[None]:
    try:
        yield
    except httpx.DecodingError as error:
        raise UnreadableAnswer(request, None, f"it cannot be decoded ({error})") from error
    except httpx.RequestError as error:
        raise ConnectionFailed(request, error) from error


class Tripod(_Routes):
    """Synchronous client; safe to share between threads."""

    def __init__(self, url: str, *, admin_key: str | None = None, timeout: float = 5.0) -> None:
        self._http = httpx.Client(**_options(url, admin_key, timeout))

    def _send(self, call: Call[T]) -> T:
        request = _request(self._http, call, call.content)
        with _reaching(request):
            response = self._http.send(request)
        answer: T = _answer(response, call)
        return answer

    def _stream(self, call: Call[T], kind: Stream) -> Iterator[T]:
        request, lines = _streaming(self._http, call), Lines()
        with _reaching(request), closing(self._http.send(request, stream=True)) as response:
            if not response.is_success:
                response.read()
                raise_for_problem(response)
            kind.check(response)
            for part in response.iter_bytes():
                yield from kind.objects(response, lines.of(part))
            yield from kind.objects(response, lines.last())

    def follow_job(self, job_id: str) -> Iterator[Job]:
        """Yield the job now and after each change, until it ends."""
        return self._stream(calls.follow_job(job_id), EVENTS)

    def export_items(self) -> Iterator[ItemChange]:
        """Yield all items of the shop, as `patch_items` accepts them. Needs the admin key."""
        return self._stream(item_calls.export_items(), LINES)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncTripod(_Routes):
    """Asynchronous client with the same methods as `Tripod`."""

    def __init__(self, url: str, *, admin_key: str | None = None, timeout: float = 5.0) -> None:
        self._http = httpx.AsyncClient(**_options(url, admin_key, timeout))

    async def _send(self, call: Call[T]) -> T:
        request = _request(self._http, call, _awaited(call.content))
        with _reaching(request):
            response = await self._http.send(request)
        answer: T = _answer(response, call)
        return answer

    async def _stream(self, call: Call[T], kind: Stream) -> AsyncIterator[T]:
        request, lines = _streaming(self._http, call), Lines()
        with _reaching(request):
            async with aclosing(await self._http.send(request, stream=True)) as response:
                if not response.is_success:
                    await response.aread()
                    raise_for_problem(response)
                kind.check(response)
                async for part in response.aiter_bytes():
                    for value in kind.objects(response, lines.of(part)):
                        yield value
                for value in kind.objects(response, lines.last()):
                    yield value

    def follow_job(self, job_id: str) -> AsyncIterator[Job]:
        """Yield the job now and after each change, until it ends."""
        return self._stream(calls.follow_job(job_id), EVENTS)

    def export_items(self) -> AsyncIterator[ItemChange]:
        """Yield all items of the shop, as `patch_items` accepts them. Needs the admin key."""
        return self._stream(item_calls.export_items(), LINES)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
