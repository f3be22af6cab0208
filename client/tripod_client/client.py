"""The synchronous client `Tripod` and the asynchronous client `AsyncTripod`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, closing, contextmanager
from functools import wraps
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from tripod_client import calls, cart_calls, shopper_calls
from tripod_client.answers import Job
from tripod_client.errors import ConnectionFailed, UnreadableAnswer, json_object, raise_for_problem
from tripod_client.request import Call, header_value

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
    """The methods that both clients share; see `calls.py`, `cart_calls.py`, `shopper_calls.py`."""

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
    search_items = _Route(calls.search_items)
    list_categories = _Route(calls.list_categories)
    get_item = _Route(calls.get_item)
    related_items = _Route(calls.related_items)
    patch_item = _Route(calls.patch_item)
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


def _request(http: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    try:
        return http.build_request(
            call.method,
            call.path,
            params=call.query,
            json=call.body,
            content=call.content,
            headers=call.headers,
        )
    except httpx.InvalidURL as error:  # for example an id of 70,000 characters
        raise ValueError(f"the request cannot be sent: {error}") from error


def _events(http: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    # The service sends a comment every 15 seconds, so the read timeout must be longer than that.
    timeout = httpx.Timeout(http.timeout.connect, read=_STREAM_SECONDS)
    return http.build_request(call.method, call.path, timeout=timeout)


def _answer(response: httpx.Response, call: Call[Any]) -> Any:
    raise_for_problem(response)
    if call.answer == "text":
        return response.text
    if call.answer == "nothing":
        if response.content:
            raise _unreadable(response, "it should be empty")
        return None
    answer = json_object(response.content)
    if answer is None:
        raise _unreadable(response, "it is not a JSON object")
    return answer


def _check_stream(response: httpx.Response) -> None:
    if response.headers.get("content-type", "").partition(";")[0] != "text/event-stream":
        raise _unreadable(response, "it is not an event stream")


def _event(line: str, response: httpx.Response) -> Any:
    """The job in a `data:` line of an event stream; None for other lines."""
    if not line.startswith("data:"):
        return None
    job = json_object(line.removeprefix("data:"))
    if job is None:
        raise _unreadable(response, "one of its events is not a JSON object")
    return job


def _unreadable(response: httpx.Response, why: str) -> UnreadableAnswer:
    return UnreadableAnswer(response.request, response.status_code, why)


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
        request = _request(self._http, call)
        with _reaching(request):
            response = self._http.send(request)
        answer: T = _answer(response, call)
        return answer

    def follow_job(self, job_id: str) -> Iterator[Job]:
        """Yield the job now and after each change, until it ends."""
        request = _events(self._http, calls.follow_job(job_id))
        with _reaching(request), closing(self._http.send(request, stream=True)) as response:
            if not response.is_success:
                response.read()
                raise_for_problem(response)
            _check_stream(response)
            for line in response.iter_lines():
                if (job := _event(line, response)) is not None:
                    yield job

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
        request = _request(self._http, call)
        with _reaching(request):
            response = await self._http.send(request)
        answer: T = _answer(response, call)
        return answer

    async def follow_job(self, job_id: str) -> AsyncIterator[Job]:
        """Yield the job now and after each change, until it ends."""
        request = _events(self._http, calls.follow_job(job_id))
        with _reaching(request):
            async with aclosing(await self._http.send(request, stream=True)) as response:
                if not response.is_success:
                    await response.aread()
                    raise_for_problem(response)
                _check_stream(response)
                async for line in response.aiter_lines():
                    if (job := _event(line, response)) is not None:
                        yield job

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
