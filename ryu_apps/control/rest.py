"""The REST interface as a server on the machine's own address."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from ryu_apps.control.decide.resource import Resource
from ryu_apps.control.decide.rest import METRICS_PATH, View, respond
from ryu_apps.control.decide.settings import Settings
from ryu_apps.control.serving import Answer, Application, json_answer, listen_and_serve


def rest_application(view: View, resources: Sequence[Resource], metrics: CollectorRegistry) -> Application:
    """What a request gets.

    Parameters
    ----------
    resources
        Those of the scheme.
    metrics
        What GET /metrics answers.
    """

    def application(method: str, path: str, body: str) -> Answer:
        if path == METRICS_PATH and method in ("GET", "HEAD"):
            return HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(metrics)
        return json_answer(respond(view, resources, method, path, body))

    return application


def serve(view: View, resources: Sequence[Resource], metrics: CollectorRegistry, settings: Settings) -> Any:
    """Start answering; the greenlet that does.

    Raises
    ------
    BadInputError
        The address is taken or is none of this machine's; or the token file cannot be used.
    """
    return listen_and_serve(
        rest_application(view, resources, metrics),
        settings.rest_host,
        settings.rest_port,
        "rest_port (0: none) or rest_host",
        settings.rest_token_file,
    )
