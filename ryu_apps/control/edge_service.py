"""The edge: answers ARP, asks hosts for their MAC addresses, and lets switches deliver to foreign ones.

A host that asks without end costs its own switch alone: each switch has an allowance of ARP packets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from ryu.lib import hub

from machine.event_log import EventLog
from ryu_apps.control.channel import SwitchClosedError
from ryu_apps.control.decide import edge
from ryu_apps.control.decide.allowance import Allowance, Rate
from ryu_apps.control.decide.edge import EdgeAction, SendArp, UnexpectedHost, UseMac
from ryu_apps.control.decide.frames import Arp, arp_frame
from ryu_apps.control.faults import Faults
from ryu_apps.control.switch import Switch
from ryu_apps.openflow import encode
from ryu_apps.plan.addressing import Host
from ryu_apps.plan.rows import Output

ARP_PACKETS = Rate(per_s=100, at_once=1000)  # hosts of a large network may all be asked for at the start


class EdgeService:
    """What `edge` decides, done.

    Parameters
    ----------
    hosts
        The host behind every switch.
    switches
        The connected switches, by name.
    """

    def __init__(
        self,
        hosts: Mapping[str, Host],
        switches: Callable[[], Mapping[str, Switch]],
        events: EventLog,
        faults: Faults,
    ) -> None:
        self.state = edge.edge_state(hosts)
        self._allowances = {node: Allowance(ARP_PACKETS, time.monotonic()) for node in hosts}
        self._switches = switches
        self._events = events
        self._faults = faults

    def arp_received(self, node: str, port_no: int, arp: Arp) -> None:
        """An ARP packet has come from a host port."""
        if not self._allowances[node].admits(time.monotonic()):
            text = (
                f"more than {ARP_PACKETS.per_s:g} ARP packets a second come to port {port_no}; this one is not answered"
            )
            self._faults.report("ARP flood", text, node)
            return
        self.state, actions = edge.on_arp(self.state, node, port_no, arp)
        for action in actions:
            self._act(action)

    def macs_found(self, node: str, macs: Mapping[int, int]) -> None:
        """A switch was found to rewrite for these hosts already; it gets what is known of the others."""
        self.state = edge.remember_macs(self.state, macs)
        switch = self._switches().get(node)
        if switch is not None:
            hub.spawn(self._use_macs, switch)
        self.probe(node)

    def probe(self, node: str) -> None:
        """Ask the hosts of a switch for their MAC addresses."""
        for action in edge.probe(self.state, node):
            self._act(action)

    def probe_unconfirmed(self) -> None:
        """Ask the hosts that have not answered yet."""
        for host in self.state.hosts.values():
            if host.ipv4 not in self.state.mac_of:
                self.probe(host.node)

    def _act(self, action: EdgeAction) -> None:
        switch = self._switches().get(action.node)
        if isinstance(action, UnexpectedHost):
            self._events.write("mismatch", kind="unexpected host", node=action.node, text=action.text)
        elif switch is None:
            return
        elif isinstance(action, SendArp):
            frame = arp_frame(action.arp, action.eth_dst)
            switch.channel.post(encode.packet_out(frame, (Output(action.port_no),)))
        else:
            hub.spawn(self._use_macs, switch, action)

    def _use_macs(self, switch: Switch, action: UseMac | None = None) -> None:
        with self._faults.surfaced("foreign MAC", switch.node), suppress(SwitchClosedError):
            switch.routes.use_macs(edge.foreign_macs_at(self.state, switch.node))
            if action is not None and action.foreign:
                self._events.write("foreign_mac", node=switch.node, mac=f"{action.mac:012x}")
