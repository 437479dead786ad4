"""What runs in-band: the switch of the controller, the TCP connections, and how their packets are marked."""

from __future__ import annotations

from dataclasses import dataclass

from mininet_topos.errors import BadInputError
from ryu_apps.plan.addressing import CONTROLLER_IPV4, control_mac
from ryu_apps.plan.ids import CONTROL_PORT
from ryu_apps.plan.rows import RulePlan

HIGHEST_DSCP = 63


@dataclass(frozen=True, slots=True)
class Service:
    """A TCP port of the control network: who listens there, and the DSCP of its packets (None: as they come)."""

    tcp_port: int
    at_controller: bool = True
    dscp: int | None = None


@dataclass(frozen=True, slots=True)
class DataMarking:
    """A DSCP that packets from hosts may not carry over shared links: written anew, or (`becomes` None) dropped."""

    dscp: int
    becomes: int | None


@dataclass(frozen=True)
class Channel:
    """What in-band control carries.

    Attributes
    ----------
    controller_at
        Switch that the controller is attached to.
    controller_ipv4, controller_mac, controller_port
        The controller's addresses, and the port of its switch.

    Raises
    ------
    BadInputError
        No service; a TCP port or a mark that does not exist, or stands twice.
    """

    controller_at: str
    services: tuple[Service, ...]
    data_markings: tuple[DataMarking, ...] = ()
    controller_ipv4: int = CONTROLLER_IPV4
    controller_mac: int = control_mac(0)
    controller_port: int = CONTROL_PORT

    def __post_init__(self) -> None:
        if not self.services:
            raise BadInputError("in-band control has no TCP port to carry; name the controller's, such as 6653")
        _check("TCP port", [(each.at_controller, each.tcp_port) for each in self.services], 0xFFFF)
        _check("DSCP", [(True, each.dscp) for each in self.data_markings], HIGHEST_DSCP)
        for dscp in (*(each.dscp for each in self.services), *(each.becomes for each in self.data_markings)):
            if dscp is not None and not 0 <= dscp <= HIGHEST_DSCP:
                raise BadInputError(f"DSCP {dscp} does not exist; use 0..{HIGHEST_DSCP}")
        remarked = {each.dscp for each in self.data_markings}
        for each in self.data_markings:
            if each.becomes in remarked:
                raise BadInputError(f"data with DSCP {each.dscp} would become {each.becomes}, which data may not carry")


def _check(what: str, values: list[tuple[bool, int]], highest: int) -> None:
    for where, value in values:
        if not 0 <= value <= highest:
            raise BadInputError(f"{what} {value} does not exist; use 0..{highest}")
        if values.count((where, value)) > 1:
            raise BadInputError(f"{what} {value} stands twice; keep one")


@dataclass(frozen=True)
class InBandPlan:
    """Rows of in-band control.

    Attributes
    ----------
    plans
        By datapath id; they stand beside any scheme's.
    order
        Switches from the controller outwards: each can be reached once those before it have their rows.
    """

    plans: dict[int, RulePlan]
    order: tuple[str, ...]
