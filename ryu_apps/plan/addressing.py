"""Addresses: host k sits behind switch k, on a fixed port, with addresses made from k."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

from mininet_topos.errors import PlanLimitError
from mininet_topos.ports import HOST_PORT
from mininet_topos.topology import Topology

MAX_HOSTS = 65534
MAX_SWITCHES = 65533
_CONTROL_NETWORK = 10 << 24 | 255 << 16
CONTROLLER_IPV4 = _CONTROL_NETWORK | 65534  # 10.255.255.254
CONTROL_BITS = 16
CONTROL_MASK = 0xFFFF0000


@dataclass(frozen=True, slots=True)
class Host:
    """A host: name, the switch it is attached to, that switch's port, and its addresses."""

    name: str
    node: str
    port_no: int
    ipv4: int
    mac: str

    @property
    def address(self) -> str:
        """Dotted IPv4 address."""
        return str(IPv4Address(self.ipv4))


def host_ipv4(number: int) -> int:
    """IPv4 address of host `number` (from 1): 10.0.k/256.k%256.

    Raises
    ------
    PlanLimitError
        More hosts than 10.0.0.0/16 holds.
    """
    if not 1 <= number <= MAX_HOSTS:
        raise PlanLimitError(f"host number {number} does not fit 10.0.0.0/16; use 1..{MAX_HOSTS}")
    return 10 << 24 | number


def node_ipv4(number: int) -> int:
    """IPv4 address of switch `number` (from 1) as an end of protection connections: 10.254.k/256.k%256.

    Raises
    ------
    PlanLimitError
        More switches than 10.254.0.0/16 holds.
    """
    if not 1 <= number <= MAX_HOSTS:
        raise PlanLimitError(f"switch number {number} does not fit 10.254.0.0/16; use 1..{MAX_HOSTS}")
    return 10 << 24 | 254 << 16 | number


def control_ipv4(number: int) -> int:
    """IPv4 address of switch `number` (from 1) in the control network: 10.255.k/256.k%256.

    Raises
    ------
    PlanLimitError
        More switches than 10.255.0.0/16 holds beside the controller.
    """
    if not 1 <= number <= MAX_SWITCHES:
        raise PlanLimitError(f"switch number {number} does not fit 10.255.0.0/16; use 1..{MAX_SWITCHES}")
    return _CONTROL_NETWORK | number


def control_mac(number: int) -> int:
    """MAC address of switch `number` (0: of the controller) in an in-band control network; no port or host has it."""
    return 0x0202 << 32 | number


def local_ipv4(number: int) -> str:
    """Control address of switch `number` with its prefix, as its own interface gets it."""
    return f"{IPv4Address(control_ipv4(number))}/{CONTROL_BITS}"


def local_mac(number: int) -> str:
    """MAC address of switch `number` (0: of the controller) in an in-band control network, as people write it."""
    return control_mac(number).to_bytes(6, "big").hex(":")


def host_mac(number: int) -> str:
    """Locally administered MAC address of host `number`."""
    return f"02:00:00:00:{number >> 8:02x}:{number & 0xFF:02x}"


def dpid_of(topology: Topology, node: str) -> int:
    """Datapath id of a switch: its position, from 1."""
    return topology.index_of[node] + 1


def hosts_of(topology: Topology) -> dict[str, Host]:
    """The host behind every switch, by switch name."""
    return {
        node: Host(f"h{number}", node, HOST_PORT, host_ipv4(number), host_mac(number))
        for number, node in enumerate(topology.node_names, start=1)
    }
