"""The REST interface as a server on the machine's own address."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ryu_apps.control.decide.foreign_pages import Sender, refused
from ryu_apps.control.decide.resource import MAX_BODY_CHARS, Resource
from ryu_apps.control.decide.rest import METRICS_PATH, View, respond
from ryu_apps.control.serving import listen_and_serve

StartResponse = Callable[[str, list[tuple[str, str]]], Any]
Application = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


def wsgi_application(
    view: View, resources: Sequence[Resource], metrics: CollectorRegistry, own_host: str
) -> Application:
    """The interface as a WSGI application.

    Parameters
    ----------
    resources
        Those of the scheme.
    metrics
        What GET /metrics answers.
    own_host
        Where it listens.
    """

    def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        method, path = environ.get("REQUEST_METHOD", "GET"), environ.get("PATH_INFO", "/")
        sender = Sender(*(environ.get(name, "") for name in ("HTTP_HOST", "HTTP_ORIGIN", "CONTENT_TYPE")))
        foreign = refused(method, sender, own_host)
        if foreign is None and path == METRICS_PATH and method in ("GET", "HEAD"):
            status, kind, body = HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(metrics)
        else:
            content = environ["wsgi.input"].read(MAX_BODY_CHARS + 1) if method == "POST" else b""
            status, value = foreign or respond(view, resources, method, path, content.decode(errors="replace"))
            kind, body = "application/json", json.dumps(value).encode() + b"\n"
        headers = [("Content-Type", kind), ("Content-Length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [b"" if method == "HEAD" else body]

    return application


def serve(view: View, resources: Sequence[Resource], metrics: CollectorRegistry, host: str, port: int) -> Any:
    """Start answering; the greenlet that does.

    Raises
    ------
    BadInputError
        The address is taken or is none of this machine's.
    """
    return listen_and_serve(
        wsgi_application(view, resources, metrics, host), host, port, "rest_port (0: none) or rest_host"
    )
