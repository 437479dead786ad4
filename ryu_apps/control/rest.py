"""The REST interface as a server on the machine's own address."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ryu_apps.control.decide.resource import MAX_BODY_CHARS, Resource
from ryu_apps.control.decide.rest import View, respond
from ryu_apps.control.serving import listen_and_serve

StartResponse = Callable[[str, list[tuple[str, str]]], Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


def wsgi_application(
    view: View, resources: Sequence[Resource]
) -> Callable[[dict[str, Any], StartResponse], Iterable[bytes]]:
    """The interface as a WSGI application; `resources` are those of the scheme."""

    def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        method = environ.get("REQUEST_METHOD", "GET")
        content = environ["wsgi.input"].read(MAX_BODY_CHARS + 1) if method == "POST" else b""
        status, value = respond(
            view, resources, method, environ.get("PATH_INFO", "/"), content.decode(errors="replace")
        )
        body = json.dumps(value).encode() + b"\n"
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [b"" if method == "HEAD" else body]

    return application


def serve(view: View, resources: Sequence[Resource], host: str, port: int) -> Any:
    """Start answering; the greenlet that does.

    Raises
    ------
    BadInputError
        The address is taken or is none of this machine's.
    """
    return listen_and_serve(wsgi_application(view, resources), host, port, "rest_port (0: none) or rest_host")
