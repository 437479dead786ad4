"""REST resources of schemes with tunnels: what the tunnels are, and a new run of traffic engineering."""

from __future__ import annotations

from http import HTTPStatus
from typing import Protocol

from mininet_topos.errors import ArmorError, BadInputError
from ryu_apps.control.decide.resource import Json, Resource, Response, refusal


class BusyError(ArmorError):
    """What was asked for is under way already."""


class TunnelView(Protocol):
    """What these resources ask of a controller."""

    def tunnels(self) -> Json:
        """Tunnels, weights, slots and failures."""

    def engineer_traffic(self, given: str) -> int:
        """Begin a run of traffic engineering, with the demands of a JSON list unless it is empty; its number.

        Raises
        ------
        BadInputError, BusyError
        """


def _tunnels(view: TunnelView, _body: str) -> Response:
    return HTTPStatus.OK, view.tunnels()


def _engineer(view: TunnelView, body: str) -> Response:
    try:
        return HTTPStatus.ACCEPTED, {"run": view.engineer_traffic(body.strip())}
    except BusyError as error:
        return HTTPStatus.CONFLICT, refusal(str(error))
    except BadInputError as error:
        return HTTPStatus.BAD_REQUEST, refusal(str(error))


TUNNELS = Resource(("armor", "tunnels"), {"GET": _tunnels})
ENGINEERING = Resource(("armor", "te"), {"POST": _engineer})
