"""Topology control: which switches, ports and links are there, held against the topology that was given."""

from __future__ import annotations

import time
from collections.abc import Iterable

from machine.event_log import EventLog
from mininet_topos.ports import HOST_PORT, MAX_PORT_NO
from mininet_topos.topology import FailureScenario, Topology
from ryu_apps.control.decide import live_topology
from ryu_apps.control.decide.allowance import Allowance, Rate
from ryu_apps.control.decide.frames import LldpProbe, lldp_probe_frame
from ryu_apps.control.decide.live_topology import Expected, LiveTopology, Mismatch, PortKey
from ryu_apps.openflow import encode
from ryu_apps.openflow.messages import PortDesc, PortStatus
from ryu_apps.plan.rows import Output

PROBES = Rate(per_s=10, at_once=100)  # at one port, beyond those of its neighbour
_MOST_REFUSED = 100  # somebody who tries out ids fills no memory


class TopologyControl:
    """The live topology, fed by port descriptions, port status and discovery frames.

    Parameters
    ----------
    discovery_interval_s
        Time between discovery frames; 0: none are sent.
    """

    def __init__(self, topology: Topology, events: EventLog, discovery_interval_s: float) -> None:
        self.expected = Expected(topology)
        self.live = LiveTopology(self.expected)
        self.discovery_interval_s = discovery_interval_s
        self._events = events
        self._refused: dict[Mismatch, None] = {}
        self._named: frozenset[Mismatch] = frozenset()
        regular_per_s = 1 / discovery_interval_s if discovery_interval_s else 0.0
        self._probes_a_port = Rate(PROBES.per_s + regular_per_s, PROBES.at_once)
        self._allowances: dict[PortKey, Allowance] = {}

    def _allowance(self, node: str, port_no: int) -> Allowance:
        """That of a port; all ports that the topology lacks share one, which a host that is there has."""
        key = (node, port_no if self.has_port(node, port_no) else HOST_PORT)
        if key not in self._allowances:
            self._allowances[key] = Allowance(self._probes_a_port, time.monotonic())
        return self._allowances[key]

    def node_of(self, dpid: int) -> str | None:
        """Name of the switch with this datapath id; an unknown one is named once, and has to be left alone."""
        node = self.expected.node_of.get(dpid)
        if node is None:
            known = f"1..{len(self.expected.node_of)}"
            text = f"datapath id {dpid:#x} is no switch of {self.expected.topology.name} ({known}); it is left alone"
            self._refuse(Mismatch("unknown switch", "", text))
        return node

    def switch_refused(self, node: str, text: str) -> None:
        """A connection may not speak for this switch; it is named, once."""
        self._refuse(Mismatch("refused switch", node, text))

    def _refuse(self, mismatch: Mismatch) -> None:
        if mismatch in self._refused:
            return
        while len(self._refused) >= _MOST_REFUSED:
            del self._refused[next(iter(self._refused))]
        self._refused[mismatch] = None
        self.name_mismatches()

    def ports_described(self, node: str, ports: Iterable[PortDesc]) -> dict[PortKey, bool]:
        """A switch has described all its ports; liveness of those that the topology has."""
        known = {port.port_no: port for port in ports if port.port_no <= MAX_PORT_NO}
        self.live = live_topology.switch_connected(self.live, node, known, time.monotonic())
        liveness = {(node, port_no): port.live for port_no, port in known.items() if self.has_port(node, port_no)}
        for (_, port_no), is_live in liveness.items():
            if not is_live:
                self._write_port_status(node, port_no, False)
        self.name_mismatches()
        return liveness

    def has_port(self, node: str, port_no: int) -> bool:
        """Whether the topology gives a switch this port."""
        return self.expected.has_port((node, port_no))

    def port_changed(self, node: str, status: PortStatus) -> tuple[PortKey, bool] | None:
        """A port status has come; the port and whether it is live now (None for ports that the topology lacks)."""
        port = status.port
        if port.port_no > MAX_PORT_NO:
            return None
        is_known = self.has_port(node, port.port_no)
        live = status.is_live
        if (
            is_known and self.live.is_live((node, port.port_no)) != live
        ):  # Open vSwitch reports one change more than once
            self._write_port_status(node, port.port_no, live)
        self.live = live_topology.port_changed(self.live, node, port, time.monotonic(), status.is_deleted)
        return ((node, port.port_no), live) if is_known else None

    def switch_gone(self, node: str) -> None:
        """The connection of a switch is gone."""
        self.live = live_topology.switch_gone(self.live, node)

    def lldp_probe_heard(self, node: str, port_no: int, lldp_probe: LldpProbe) -> bool:
        """A discovery frame has arrived; False if it was too many, since any host can make them, and is left out."""
        now_s = time.monotonic()
        if not self._allowance(node, port_no).admits(now_s):
            return False
        self.live = live_topology.lldp_probe_heard(self.live, node, port_no, lldp_probe, now_s)
        self.name_mismatches()
        return True

    def lldp_probes_for(self, node: str, dpid: int) -> list[bytes]:
        """Packet-outs that send a discovery frame out of every live port of a switch."""
        ports = self.live.ports.get(node, {})
        return [
            encode.packet_out(lldp_probe_frame(LldpProbe(dpid, port_no), port.hw_addr), (Output(port_no),))
            for port_no, port in ports.items()
            if port.live
        ]

    def mismatches(self) -> tuple[Mismatch, ...]:
        """Every difference between the topology and what the network shows now."""
        interval_s = self.discovery_interval_s or None
        found = live_topology.find_mismatches(self.live, time.monotonic(), interval_s)
        return (*self._refused, *found)

    def name_mismatches(self) -> None:
        """Write differences that are new to the event log."""
        now = frozenset(self.mismatches())
        for mismatch in sorted(now - self._named):
            self._events.write("mismatch", **mismatch._asdict())
        self._named = now

    def failure_scenario(self) -> FailureScenario:
        """What is broken now, as planners take it."""
        return self.live.failure_scenario()

    def _write_port_status(self, node: str, port_no: int, live: bool) -> None:
        self._events.write("port_status", node=node, port_no=port_no, live=live)
