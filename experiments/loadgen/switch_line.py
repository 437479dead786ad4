"""Several switches between the two hosts of a load: bridges of one private Open vSwitch, joined by patch ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from experiments.loadgen.decide.packets import HOST_PORTS
from experiments.testbed.packet_cost.switch import BRIDGE, CostSwitch, cost_switch, near_end
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.addressing import dpid_of


class SwitchLine:
    """A running line; made by `switch_line`."""

    def __init__(self, switch: CostSwitch, bridges: Sequence[str]) -> None:
        self.holder, self._switch, self._bridges = switch.holder, switch, bridges

    def set_controllers(self, targets: Sequence[tuple[str, int]]) -> None:
        """Connect every switch to controllers: each a target, and the DSCP of its connection."""
        for bridge in self._bridges:
            self._switch.set_controllers(targets, bridge)

    def packet_ins(self) -> int:
        """Packets that all switches together have sent to the controller so far."""
        return sum(map(self._switch.packet_ins, self._bridges))


@contextmanager
def switch_line(topology: Topology) -> Iterator[SwitchLine]:
    """Start the switches of a topology; undo everything at the end.

    Parameters
    ----------
    topology
        Hosts are at its first two switches.

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
        yield SwitchLine(switch, bridges)


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
