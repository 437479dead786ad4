"""Tables, priorities, cookies, group ids and tag statuses: every number that schemes must not share, but their own.

Cookie layout (64 bits): scheme (8) | kind (8) | tag id (16) | IPv4 destination (32). A cookie
cannot be modified on a switch, so nothing that changes (a generation, a counter) is part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, unique
from typing import NamedTuple

from mininet_topos.errors import PlanError


class Table(IntEnum):
    """Flow tables and what each decides."""

    CLASSIFY = 0  # guards; agent mode, ffg, shortest, restoration: the primary rows too
    ROUTE = 1  # tagged packets; learned mode, cb, cbc: every packet, by (tag, destination)
    EXTEND = 2  # learned mode, cb, cbc: (tag, failed port) -> larger tag
    LEARNED = 3  # learned mode: what untagged packets learn about failures
    TE_INGRESS = 4
    TE_HASH = 5
    TE_TRANSIT = 6
    NOTIFY = 7  # learned mode: notifications of failed sets, which teach this switch and go on to its neighbours


# Tables that decomposed tables go on to (plan.decompose); what each holds follows from the table that leads there.
SPARE_TABLES = range(128, 251)
# Tables of PSO, which sorts the packets that go to the controller into classes (ryu_apps.control.priority).
PSO_TABLES = range(251, 254)


class Priority(IntEnum):
    """Priority bands; within a table a band belongs to one purpose."""

    IN_BAND = 61000  # control packets that run over the data links (plan.in_band)
    IN_BAND_SERVICE = 60900  # those of what listens on switches
    IN_BAND_GUARD = 60500  # nothing else may have the addresses of the control network
    IN_BAND_MARK = 60400  # data from hosts that is marked as control is
    GUARD = 60000  # frames that must never enter (tagged frames from a host port)
    NOTIFICATION = 55000  # notifications of failures, from other switches
    EDGE = 50000  # ARP to the controller
    TUNNEL = 46000  # 1+1 protection: wrapped packets
    PROTECT = 45000  # 1+1 protection: packets of protected flows
    DELIVER_SEEN = 40100  # agent mode: destination has already handled this (tag, source)
    DELIVER_FOREIGN = 40050  # to a local host whose MAC address is its own, not the derived one
    DELIVER = 40000  # to the local host
    REPLAY = 35000  # SQR: what a virtual port gives back once the port behind it has failed
    RECOVERY = 30000  # rows that a failure put there (learned or by the agent)
    UNREPLAYED = 25000  # agent mode with SQR: given back though the agent has no row for it
    BY_IN_PORT = 21000  # a regular route that depends on the port by which the packet came
    MARKED = 20500  # SQR: packets that an operator has marked for protection
    PRIMARY = 20000
    AFRESH = 10000  # a packet whose failed set is full meets one more failure
    PUNT = 1000  # agent mode: a tagged packet that no row knows
    MISS = 0


@unique
class Owner(IntEnum):
    """Owners of rows beside the schemes, in the top byte of a cookie.

    A scheme says its number itself (ryu_apps/schemes), where none that another owner has is taken.
    """

    EDGE = 1  # the app's own rows: ARP, host delivery
    PSO = 10
    IN_BAND = 16
    REACTIVE = 17  # rules of single flows, installed when a flow's first packet comes; no plan holds them
    QUEUE_TRIAL = 18  # rows that send test frames into each queue before a run (emulation.queue_trial)


class Kind(IntEnum):
    """Who put a row there. Only planned rows are part of a plan; the rest come and go with failures."""

    PLANNED = 0
    LEARNED = 1
    AGENT = 2
    FOREIGN = 3  # host rows with a MAC address that was learned from the host


class Status(IntEnum):
    """Status of a packet that met a failure, carried as the PCP of its tag (SD-FAST section III.B)."""

    CRANKBACK = 1
    RECOVERED = 2
    NOTIFICATION = 3  # a copy that names failed links to the switches; no host gets it


STATUS_BITS = 2  # of the PCP; the third says that the packet has started afresh (plan.notification)


AGENT_CONTROLLER_ID = 0xA6E7
VLAN_PRESENT = 0x1000  # OpenFlow 1.3 OFPVID_PRESENT, and the CFI bit of OVS's vlan_tci
OFPP_IN_PORT = 0xFFFFFFF8
OFPP_TABLE = 0xFFFFFFF9  # of a packet-out: through the tables, from the first on
OFPP_CONTROLLER = 0xFFFFFFFD
OFPP_LOCAL = 0xFFFFFFFE  # the switch's own network stack
ALWAYS_LIVE_GROUP = 0xFFFF  # an ALL group with one drop bucket: a watch_group that never fails
_FIRST_TUNNEL_GROUP, _TUNNEL_GROUPS = 0xFF000000, 0xFFFF00
_FIRST_PROTECT_GROUP, _PROTECT_GROUPS = 0xFE000000, 0x1000000
_FIRST_IN_BAND_GROUP, _IN_BAND_GROUPS = 0xFD000000, 0x1000000
_PORTS_OF_GROUP, _GROUP_PORT_BITS = 3, 10
_SQR_PORTS, _MOST_PORT = 0xFE40, 0xFEFF
CONTROL_PORT = (
    0xFD00  # where the controller is attached to its switch, with in-band control; above are Armor's own, too
)
PROTECT_PORT = 0xFE00  # the hairpin beside a bridge, where packets of 1+1 protection are numbered and checked
_KIND_SHIFT, _SCHEME_SHIFT, _TAG_SHIFT = 48, 56, 32


class CookieFields(NamedTuple):
    """The parts of a cookie."""

    scheme: int
    kind: int
    tag_id: int
    destination: int


def cookie(owner: int, kind: Kind, tag_id: int = 0, destination: int = 0) -> int:
    """64-bit cookie of a row.

    Parameters
    ----------
    owner
        Number of a scheme or other owner, 1..255.
    kind
        Origin of the row.
    tag_id
        Failed-set id, 0..65535 (0: none).
    destination
        IPv4 address as an integer (0: none).

    Raises
    ------
    PlanError
        A part does not fit its bits.
    """
    if not 0 <= tag_id <= 0xFFFF or not 0 <= destination <= 0xFFFFFFFF:
        raise PlanError(f"cookie parts out of range: tag_id {tag_id} (16 bits), destination {destination} (32 bits)")
    return owner << _SCHEME_SHIFT | kind << _KIND_SHIFT | tag_id << _TAG_SHIFT | destination


def split_cookie(value: int) -> CookieFields:
    """Parts of a cookie made by `cookie` (any 64-bit number splits; unknown schemes stay numbers)."""
    return CookieFields(
        value >> _SCHEME_SHIFT & 0xFF, value >> _KIND_SHIFT & 0xFF, value >> _TAG_SHIFT & 0xFFFF, value & 0xFFFFFFFF
    )


def cookie_of_scheme(value: int, owner: int) -> int:
    """The same cookie with another owner, for schemes that build on the rows of another."""
    return value & ~SCHEME_MASK | owner << _SCHEME_SHIFT


SCHEME_MASK = 0xFF << _SCHEME_SHIFT
KIND_MASK = 0xFF << _KIND_SHIFT
TAG_MASK = 0xFFFF << _TAG_SHIFT


def port_group(port_no: int) -> int:
    """Group id of the fast-failover group that guards a port (learned mode)."""
    return port_no


def pair_group(first_port: int, second_port: int) -> int:
    """Group id of a fast-failover group over two ports (FFG); link ports start at 2, so above every port group."""
    return first_port << 16 | second_port


def ports_group(port_nos: Sequence[int]) -> int:
    """Group id of a fast-failover group over up to three ports in this order; below every group of in-band control.

    Raises
    ------
    PlanError
        A port that does not fit.
    """
    if len(port_nos) > _PORTS_OF_GROUP or not all(0 < port_no < 1 << _GROUP_PORT_BITS for port_no in port_nos):
        raise PlanError(f"ports {list(port_nos)} have no group id; use 1 to {_PORTS_OF_GROUP} ports below 1024")
    return sum(port_no << _GROUP_PORT_BITS * place for place, port_no in enumerate(reversed(port_nos)))


def tunnel_group(number: int) -> int:
    """Group id of a commodity's SELECT group (tunnel schemes); above every pair group, since ports end at 0xfeff.

    Raises
    ------
    PlanError
        A number that does not fit below OFPG_MAX.
    """
    if not 0 <= number < _TUNNEL_GROUPS:
        raise PlanError(f"commodity number {number} has no group id; use 0..{_TUNNEL_GROUPS - 1}")
    return _FIRST_TUNNEL_GROUP + number


def protect_group(receiving_dpid: int) -> int:
    """Group id of the ALL group over both tunnels to a receiving end; below every tunnel group.

    Raises
    ------
    PlanError
        A datapath id that does not fit.
    """
    if not 0 < receiving_dpid < _PROTECT_GROUPS:
        raise PlanError(f"receiving end {receiving_dpid} has no group id; use 1..{_PROTECT_GROUPS - 1}")
    return _FIRST_PROTECT_GROUP + receiving_dpid


def is_protect_group(group_id: int) -> bool:
    """Whether `protect_group` gives this id to some receiving end."""
    return _FIRST_PROTECT_GROUP < group_id < _FIRST_PROTECT_GROUP + _PROTECT_GROUPS


def in_band_group(number: int) -> int:
    """Group id of a fast-failover group of in-band control, numbered within its switch; below every protect group."""
    return _FIRST_IN_BAND_GROUP + number


def is_in_band_group(group_id: int) -> bool:
    """Whether `in_band_group` gives this id."""
    return _FIRST_IN_BAND_GROUP <= group_id < _FIRST_IN_BAND_GROUP + _IN_BAND_GROUPS


def sqr_port(port_no: int) -> int:
    """OpenFlow port of the virtual port before a link port, where SQR keeps copies.

    Raises
    ------
    PlanError
        The link port's number is too high.
    """
    if not 0 < port_no <= _MOST_PORT - _SQR_PORTS:
        raise PlanError(f"port {port_no} has no virtual port before it; use 1..{_MOST_PORT - _SQR_PORTS}")
    return _SQR_PORTS + port_no
