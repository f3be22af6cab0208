"""Recommendations given before, for when the same is asked again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

_CAPACITY = 1_024


class Answers:
    """The latest answers by question, the longest unused forgotten first.

    A shopper's pages ask for the same cart again and again, and every visitor of a product page asks for the
    same item. Each catalogue has its own, so a new model or a changed item starts afresh. Answers are shared:
    copy one before changing it.
    """

    def __init__(self) -> None:
        self._by_question: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, question: Hashable) -> Any:
        """The answer to the question, None if there is none."""
        answer = self._by_question.get(question)
        if answer is not None:
            self._by_question.move_to_end(question)
        return answer

    def put(self, question: Hashable, answer: Any) -> None:
        """Remember an answer."""
        self._by_question[question] = answer
        if len(self._by_question) > _CAPACITY:
            self._by_question.popitem(last=False)
