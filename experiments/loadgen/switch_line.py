"""Several switches between the two hosts of a load: bridges of one private Open vSwitch, joined by patch ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from experiments.loadgen.decide.packets import HOST_PORTS
from experiments.testbed.packet_cost.switch import BRIDGE, CostSwitch, cost_switch, near_end
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.addressing import dpid_of

_TRANSIT_PRIORITY = 100  # above the controller's rows


class SwitchLine:
    """A running line; made by `switch_line`."""

    def __init__(self, switch: CostSwitch, rows_of: Mapping[str, Sequence[str]]) -> None:
        self.holder, self._switch, self._rows_of = switch.holder, switch, rows_of
        self._bridges = tuple(rows_of)

    def set_controllers(self, targets: Sequence[tuple[str, int]]) -> None:
        """Connect every switch to controllers: each a target, and the DSCP of its connection."""
        for bridge, rows in self._rows_of.items():
            self._switch.set_controllers(targets, bridge)
            if rows:  # after its first controller, at which Open vSwitch empties a bridge
                self._switch.add_rows(rows, bridge)

    def packet_ins(self) -> int:
        """Packets that all switches together have sent to the controller so far."""
        return sum(map(self._switch.packet_ins, self._bridges))


@contextmanager
def switch_line(topology: Topology, *, knows_later_hops: bool = False) -> Iterator[SwitchLine]:
    """Start the switches of a topology; undo everything at the end.

    Parameters
    ----------
    topology
        Hosts are at its first two switches, the ends of the line.
    knows_later_hops
        Whether switches have rows for what comes from another switch, so that only the first of a path asks.

    Raises
    ------
    MissingRequirementError
        Not root, or a program is missing.
    """
    with cost_switch(HOST_PORTS) as switch:
        bridges = [BRIDGE, *topology.node_names[1:]]
        switch.vsctl(*_words(topology, dict(zip(topology.node_names, bridges, strict=True))))
        # Every packet is decided by the rows of its instant. A cached miss would take packets of other flows too (Open
        # vSwitch wildcards bits of ports that tell nothing apart), and count them for whatever row has come meanwhile.
        switch.set_lookup("none")
        rows = transit_rows(topology) if knows_later_hops else {}
        yield SwitchLine(
            switch, {bridge: rows.get(node, ()) for node, bridge in zip(topology.node_names, bridges, strict=True)}
        )


def transit_rows(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Rows by switch that pass on what comes from another switch, to the switch's other port."""
    ports: dict[str, list[int]] = {node: [HOST_PORT] for node in topology.node_names[:2]}
    links = assign_ports(topology).port_of.items()
    for direction, port_no in links:
        ports.setdefault(direction.src, []).append(port_no)
    return {
        node: tuple(
            f"priority={_TRANSIT_PRIORITY},in_port={port_no},actions=output:{other}"
            for port_no, other in (numbers, numbers[::-1])
            if (node, port_no) in {(direction.src, number) for direction, number in links}
        )
        for node, numbers in ports.items()
    }


def _words(topology: Topology, bridge_of: dict[str, str]) -> list[str]:
    """Arguments of ovs-vsctl: bridges with their datapath ids, the second host's port moved, a patch for each link."""
    words = ["del-port", BRIDGE, near_end(HOST_PORTS[1])]
    for node, bridge in bridge_of.items():
        if bridge != BRIDGE:
            words += ["--", "add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev"]
            words += ["fail_mode=secure", "protocols=OpenFlow13", "other_config:disable-in-band=true"]
        words += ["--", "set", "Bridge", bridge, f"other_config:datapath-id={dpid_of(topology, node):016x}"]
    second = bridge_of[topology.node_names[1]]
    words += _port(second, near_end(HOST_PORTS[1]), HOST_PORT)
    for direction, port_no in assign_ports(topology).port_of.items():
        back = Direction(direction.dst, direction.src, direction.key)
        words += _port(bridge_of[direction.src], _patch(direction), port_no)
        words += ["type=patch", f"options:peer={_patch(back)}"]
    return words


def _port(bridge: str, name: str, port_no: int) -> list[str]:
    return ["--", "add-port", bridge, name, "--", "set", "Interface", name, f"ofport_request={port_no}"]


def _patch(direction: Direction) -> str:
    return f"{direction.src}-{direction.dst}-{direction.key}"
