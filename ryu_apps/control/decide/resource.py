"""A REST resource: where it is, and what answers each method. Schemes bring resources of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

Json = Any
Response = tuple[HTTPStatus, Json]


@dataclass(frozen=True, slots=True)
class Resource:
    """A REST resource.

    Attributes
    ----------
    path
        Its segments; one in braces stands for any, and is handed on.
    answers : mapping of str to callable
        By method, (controller, body, *segments in braces) -> status and JSON value.
    """

    path: tuple[str, ...]
    answers: Mapping[str, Callable[..., Response]]

    def match(self, parts: list[str]) -> list[str] | None:
        """Segments that stand where braces are; None: another path."""
        if len(self.path) != len(parts):
            return None
        pairs = list(zip(self.path, parts, strict=True))
        if any(wanted != part for wanted, part in pairs if not wanted.startswith("{")):
            return None
        return [part for wanted, part in pairs if wanted.startswith("{")]

    def answer(self, view: object, method: str, body: str, found: list[str]) -> Response:
        """What a request gets; HEAD is answered as GET."""
        asked = "GET" if method == "HEAD" else method
        if asked not in self.answers:
            offered = " or ".join(self.answers)
            return HTTPStatus.METHOD_NOT_ALLOWED, refusal(f"{method} is not offered here; use {offered}")
        return self.answers[asked](view, body, *found)


def refusal(text: str) -> Json:
    """The value of an answer that says why there is none."""
    return {"error": text}
