"""Port numbers: the host on port 1, links from port 2 in the order of the neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from mininet_topos.errors import TopologyError
from mininet_topos.topology import Direction, Topology

HOST_PORT = 1
FIRST_LINK_PORT = 2
MAX_PORT_NO = 0xFEFF  # OVS numbers ordinary ports below 0xff00


@dataclass(frozen=True)
class PortMap:
    """Which OpenFlow port of which switch carries which direction of which link."""

    port_of: dict[Direction, int]
    direction_at: dict[tuple[str, int], Direction]


def assign_ports(topology: Topology) -> PortMap:
    """Give every directed link a port on its source switch.

    Ports that the topology fixes (`Link.port_no`) are kept; the others get the lowest free number
    from 2, neighbours in node order, so the numbering is the same on every run.

    Raises
    ------
    TopologyError
        A fixed port is used twice, is the host port, or is outside 2..0xfeff.
    """
    port_of: dict[Direction, int] = {}
    direction_at: dict[tuple[str, int], Direction] = {}
    for name in topology.node_names:
        links = topology.links_from[name]
        fixed = [link.port_no for link in links if link.port_no is not None]
        _check_fixed(name, fixed)
        free = (port for port in range(FIRST_LINK_PORT, MAX_PORT_NO) if port not in set(fixed))
        for link in links:
            port = link.port_no if link.port_no is not None else next(free)
            port_of[link.direction] = port
            direction_at[name, port] = link.direction
    return PortMap(port_of, direction_at)


def _check_fixed(name: str, fixed: list[int]) -> None:
    for port in fixed:
        if not FIRST_LINK_PORT <= port <= MAX_PORT_NO:
            raise TopologyError(
                f"{name} fixes port_no {port}; use {FIRST_LINK_PORT}..{MAX_PORT_NO} (port {HOST_PORT} is the host's)"
            )
        if fixed.count(port) > 1:
            raise TopologyError(f"{name} fixes port_no {port} for two links; give each its own port")
