"""The two clients: one list of calls, sent at once by `Tripod` and awaited with `AsyncTripod`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import httpx

from tripod_client import calls
from tripod_client.calls import Call
from tripod_client.errors import raise_for_problem

P = ParamSpec("P")
T = TypeVar("T")


class _Route(Generic[P, T]):
    """A method of both clients, from the function that builds its request."""

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
    """The routes of the service; their documentation is in `calls.py`."""

    create_cart = _Route(calls.create_cart)
    add_items = _Route(calls.add_items)
    set_quantity = _Route(calls.set_quantity)
    remove_item = _Route(calls.remove_item)
    get_cart = _Route(calls.get_cart)
    delete_cart = _Route(calls.delete_cart)
    check_out = _Route(calls.check_out)
    recommend = _Route(calls.recommend)
    recommend_batch = _Route(calls.recommend_batch)
    cart_insights = _Route(calls.cart_insights)
    find_bundles = _Route(calls.find_bundles)
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
    ready = _Route(calls.ready)


def _options(url: str, admin_key: str | None, timeout: float) -> dict[str, Any]:
    headers = {} if admin_key is None else {"X-Admin-Key": admin_key}
    return {"base_url": url, "headers": headers, "timeout": timeout}


def _request(http: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    headers = {name: value for name, value in (call.headers or {}).items() if value is not None}
    return http.build_request(call.method, call.path, params=call.query, json=call.body, headers=headers)


def _answer(response: httpx.Response) -> Any:
    raise_for_problem(response)
    return response.json() if response.content else None


class Tripod(_Routes):
    """Asks the service and waits for the answer; safe to share between threads."""

    def __init__(self, url: str, *, admin_key: str | None = None, timeout: float = 5.0) -> None:
        self._http = httpx.Client(**_options(url, admin_key, timeout))

    def _send(self, call: Call[T]) -> T:
        answer: T = _answer(self._http.send(_request(self._http, call)))
        return answer

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
    """The same, to be awaited."""

    def __init__(self, url: str, *, admin_key: str | None = None, timeout: float = 5.0) -> None:
        self._http = httpx.AsyncClient(**_options(url, admin_key, timeout))

    async def _send(self, call: Call[T]) -> T:
        answer: T = _answer(await self._http.send(_request(self._http, call)))
        return answer

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
