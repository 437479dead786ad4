"""REST resource of schemes that protect flows: which, how they fare, and changes of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Protocol

from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.input_files import parse_json
from mininet_topos.topology import Topology
from ryu_apps.control.decide.resource import Json, Resource, Response, refusal
from ryu_apps.plan.protect.document import read_flows
from ryu_apps.plan.protection import ProtectedFlow


class ProtectionView(Protocol):
    """What this resource asks of a controller."""

    def protection_state(self) -> Json:
        """Protected flows, connections and counters."""

    def change_protection(self, body: str) -> Json:
        """Protect more flows, or fewer; the state once that is in force.

        Raises
        ------
        BadInputError, ArmorError
        """


def _state(view: ProtectionView, _body: str) -> Response:
    try:
        return HTTPStatus.OK, view.protection_state()
    except ArmorError as error:
        return HTTPStatus.SERVICE_UNAVAILABLE, refusal(str(error))


def _change(view: ProtectionView, body: str) -> Response:
    try:
        return HTTPStatus.OK, view.change_protection(body)
    except BadInputError as error:
        return HTTPStatus.BAD_REQUEST, refusal(str(error))
    except ArmorError as error:
        return HTTPStatus.SERVICE_UNAVAILABLE, refusal(str(error))


def read_change(body: str, topology: Topology) -> tuple[tuple[ProtectedFlow, ...], tuple[ProtectedFlow, ...]]:
    """Flows that a request adds, and those that it removes.

    Raises
    ------
    BadInputError
        The text is no request, or names no flows of the topology.
    """
    try:
        request = parse_json(body)
    except BadInputError as error:
        raise BadInputError(f"the request: {error}; send {{'add': [...], 'remove': [...]}}") from error
    if not isinstance(request, dict) or not request or not set(request) <= {"add", "remove"}:
        raise BadInputError(f"the request is {str(request)[:60]!r}; send {{'add': [...], 'remove': [...]}}")
    added, removed = (read_flows(request[key], topology) if key in request else () for key in ("add", "remove"))
    return added, removed


PROTECTION = Resource(("armor", "protect"), {"GET": _state, "POST": _change})
