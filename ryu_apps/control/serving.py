"""HTTP in the controller's own process."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

import eventlet
import eventlet.wsgi
from ryu.lib import hub

from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.admission import MAX_BODY_BYTES, REQUESTS, Sender, refused, too_long, too_many
from ryu_apps.control.decide.allowance import Allowance
from ryu_apps.control.decide.resource import Response
from ryu_apps.control.rest_token import token_for

LOG = logging.getLogger("armor.rest")
MAX_CLIENTS = 64
SILENCE_S = 10.0  # a client that is silent for this long in a request loses its connection

StartResponse = Callable[[str, list[tuple[str, str]]], Any]
Answer = tuple[Any, str, bytes]
_FAILED = HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the controller could not answer; its log says why"}
Application = Callable[[str, str, str], Answer]
"""(method, path, body) -> status, content type, content."""


def listen_and_serve(application: Application, host: str, port: int, names: str, token_file: str = "") -> Any:
    """Start answering requests that are admitted; the greenlet that does.

    Parameters
    ----------
    names
        Settings to change when the address cannot be used, for the error.
    token_file
        As in `token_for`.

    Raises
    ------
    BadInputError
        The address is taken or is none of this machine's; or the token file cannot be used.
    """
    try:
        # Not shared with another process, which SO_REUSEPORT (eventlet's default) would allow.
        listener = eventlet.listen((host, port), reuse_port=False)
    except OSError as error:
        raise BadInputError(
            f"the REST interface cannot listen on {host}:{port} ({error.strerror or error}); choose another {names}"
        ) from error
    token, file = token_for(host, port, token_file) or (None, None)
    if file is not None:
        LOG.info("requests to http://%s:%s need the token in %s", host, port, file)
    return hub.spawn(
        eventlet.wsgi.server,
        listener,
        guarded(application, host, token),
        log_output=False,
        debug=False,  # no traceback goes to a client
        max_size=MAX_CLIENTS,
        socket_timeout=SILENCE_S,
    )


def guarded(
    application: Application, own_host: str, token: str | None
) -> Callable[[dict[str, Any], StartResponse], Iterable[bytes]]:
    """A WSGI application that answers what `admission` admits.

    Parameters
    ----------
    own_host
        Where it listens.
    token
        What requests must bear; None: nothing.
    """
    rate = Allowance(REQUESTS, time.monotonic())

    def answered(environ: dict[str, Any]) -> Answer:
        method, path = environ.get("REQUEST_METHOD", "GET"), environ.get("PATH_INFO", "/")
        names = ("HTTP_HOST", "HTTP_ORIGIN", "CONTENT_TYPE", "HTTP_AUTHORIZATION")
        refusal = refused(method, Sender(*(environ.get(name, "") for name in names)), own_host, token)
        if refusal is not None:  # costs those who may ask nothing of their rate
            return json_answer(refusal)
        if not rate.admits(time.monotonic()):
            return json_answer(too_many())
        content = environ["wsgi.input"].read(MAX_BODY_BYTES + 1) if method == "POST" else b""
        if len(content) > MAX_BODY_BYTES:
            return json_answer(too_long())
        return application(method, path, content.decode(errors="replace"))

    def wsgi_application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        try:
            status, kind, body = answered(environ)
        except Exception:  # the server would drop it without a word
            LOG.exception("%s %s failed", environ.get("REQUEST_METHOD"), environ.get("PATH_INFO"))
            status, kind, body = json_answer(_FAILED)
        headers = [("Content-Type", kind), ("Content-Length", str(len(body)))]
        if status == 401:
            headers.append(("WWW-Authenticate", "Bearer"))
        start_response(f"{status.value} {status.phrase}", headers)
        return [b"" if environ.get("REQUEST_METHOD") == "HEAD" else body]

    return wsgi_application


def json_answer(response: Response) -> Answer:
    """A status and a JSON value as what goes to the client."""
    status, value = response
    return status, "application/json", json.dumps(value).encode() + b"\n"
