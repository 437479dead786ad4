"""REST resource of schemes that protect flows: which, how they fare, and changes of them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Protocol

from mininet_topos.errors import ArmorError, BadInputError
from ryu_apps.control.decide.resource import Json, Resource, Response, refusal


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


PROTECTION = Resource(("armor", "protect"), {"GET": _state, "POST": _change})
