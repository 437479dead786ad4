"""What a controller's REST interface (docs/controller.md) says, as one look at its network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.live.decide.running import Seen
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Link, LinkId, Node, Topology

Json = Mapping[str, Any]


def topology_of(value: Json) -> Topology:
    """The topology of `/armor/topology`; ports as reported, capacities and places unknown.

    Raises
    ------
    TopologyError, KeyError, ValueError, TypeError
        It is no such answer.
    """
    nodes = tuple(Node(str(node["node"]), str(node.get("label") or "")) for node in value["nodes"])
    links = []
    for each in value["links"]:
        key = int(str(each["link"]).partition("#")[2] or 0)
        one, other = each["ends"]
        for near, far in ((one, other), (other, one)):
            links.append(Link(str(near["node"]), str(far["node"]), key, port_no=int(near["port_no"])))
    return Topology(str(value["topology"]), nodes, tuple(links))


def is_same_network(one: Topology, other: Topology) -> bool:
    """Whether nodes and links have the same names, in the same order."""
    return one.node_names == other.node_names and one.link_ids == other.link_ids


def seen(topology: Topology, answers: Mapping[str, Json], t_ms: float, zero_s: float | None) -> Seen:
    """One look.

    Parameters
    ----------
    answers
        JSON of `topology`, `knowledge` and `ports` (`/armor/statistics/ports`).
    t_ms
        When they were read.
    zero_s
        The page's zero on the controller's CLOCK_MONOTONIC; None: that clock is another machine's, so a switch knows
        since it was first seen to know.
    """
    failed = frozenset(
        topology.parse_link(str(each["link"])) for each in answers["topology"]["links"] if each["failed"]
    )
    known = {}
    for each in answers["knowledge"]["knowledge"]:
        since_s = each["since_s"]
        at_ms = t_ms if zero_s is None or since_s is None else min(t_ms, 1000 * (float(since_s) - zero_s))
        known[str(each["node"]), str(each["link"])] = at_ms
    return Seen(t_ms, failed, known, _loads(topology, answers["ports"]), away(answers["topology"]))


def away(value: Json) -> frozenset[str]:
    """Switches of `/armor/topology` that are not connected."""
    return frozenset(str(node["node"]) for node in value["nodes"] if not node["connected"])


def _loads(topology: Topology, ports: Json) -> dict[str, float]:
    """Mbit/s of each link, the larger of what its two ends send."""
    direction_at = assign_ports(topology).direction_at
    loads: dict[str, float] = {}
    for each in ports["ports"]:
        direction = direction_at.get((str(each["node"]), int(each["port_no"])))
        if direction is not None and each["tx_mbps"] is not None:
            link: LinkId = topology.link_id(direction)
            loads[str(link)] = max(loads.get(str(link), 0.0), float(each["tx_mbps"]))
    return loads
