"""What a call raises when the service answers with a problem."""

from __future__ import annotations

from typing import Any

import httpx


class TripodError(Exception):
    """An RFC 9457 problem: branch on `type`, which never changes; show `detail` to people."""

    def __init__(self, status: int, problem: dict[str, Any], retry_after: float | None) -> None:
        self.status = status
        self.type: str = problem.get("type", "about:blank")
        self.title: str = problem.get("title", "")
        self.detail: str = problem.get("detail", "")
        self.problem = problem  # with the members that belong to its type, such as `purchase_id`
        self.retry_after = retry_after  # seconds, if trying again may help
        super().__init__(f"{status} {self.title}: {self.detail}")


def raise_for_problem(response: httpx.Response) -> None:
    """TripodError unless the answer is good."""
    if response.is_success:
        return
    is_json = response.headers.get("content-type", "").endswith("json")
    problem = response.json() if is_json else {"title": response.reason_phrase, "detail": response.text}
    retry_after = response.headers.get("retry-after")
    raise TripodError(response.status_code, problem, float(retry_after) if retry_after else None)
