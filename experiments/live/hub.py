"""The state of a running network's page, and the pages that follow it (server-sent events)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

Json = dict[str, Any]
Act = Callable[[Json], str]
"""Carries out what a page asks for; returns why not, or nothing."""

_WAITING = 32  # updates that a slow page may be behind; then it gets the whole state again
_QUIET_S = 15.0  # a comment after this time finds pages that have gone
_MOST_BYTES = 10_000


class Hub:
    """The runs of a document, and who listens to their changes.

    Parameters
    ----------
    document
        JSON of `experiments.live.decide.document.Document`.
    """

    def __init__(self, document: Json) -> None:
        self.document = document
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Queue[str]] = set()

    def publish(self, changed: Json, run: int = 0) -> None:
        """Change fields of a run, here and in every page. From any thread."""
        if not changed:
            return
        if self._loop is None or self._loop.is_closed():
            self.document["runs"][run].update(changed)
        else:
            self._loop.call_soon_threadsafe(self._spread, changed, run)

    def _spread(self, changed: Json, run: int) -> None:
        self.document["runs"][run].update(changed)
        text = _text({str(run): changed})  # once for all pages
        for queue in self._listeners:
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(self._whole())
            else:
                queue.put_nowait(text)

    def _whole(self) -> str:
        """All fields of all runs, by number."""
        return _text({str(number): run for number, run in enumerate(self.document["runs"])})

    async def updates(self) -> AsyncIterator[str]:
        """Server-sent events: all runs at first, then what changes, by number of the run."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue(_WAITING)
        queue.put_nowait(self._whole())
        self._listeners.add(queue)
        try:
            while True:
                yield await _next_event(queue)
        finally:
            self._listeners.discard(queue)


async def _next_event(queue: asyncio.Queue[str]) -> str:
    try:
        return await asyncio.wait_for(queue.get(), _QUIET_S)
    except (asyncio.TimeoutError, TimeoutError):  # two classes before Python 3.11
        return ": still here\n\n"


def _text(value: Json) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n"


def hub_routes(hub: Hub, act: Act | None = None) -> list[Route]:
    """`events`, and `act` where pages may act on the network."""
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    async def events(_request: Request) -> Response:
        return StreamingResponse(hub.updates(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    routes = [Route("/events", events)]
    if act is not None:
        routes.append(Route("/act", _act_endpoint(act), methods=["POST"]))
    return routes


def _act_endpoint(act: Act) -> Callable[[Any], Any]:
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse

    async def endpoint(request: Request) -> Response:
        # Forms of other web sites cannot send this type without asking first (CORS), and nobody answers them.
        if request.headers.get("content-type") != "application/json":
            return JSONResponse({"error": "send application/json"}, 415)
        body = await request.body()
        try:
            wanted = json.loads(body) if len(body) <= _MOST_BYTES else None
        except ValueError:
            wanted = None
        if not isinstance(wanted, dict):
            return JSONResponse({"error": "send one JSON object"}, 400)
        error = await run_in_threadpool(act, wanted)
        # Not a status of its own: browsers write such answers to their console.
        return JSONResponse({"error": error})

    return endpoint
