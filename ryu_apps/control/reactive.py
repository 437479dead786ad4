"""The Ryu side of reactive paths: what `decide.reactive` decides, done."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ryu.controller import ofp_event
from ryu.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.lib import hub

from machine.event_log import EventLog
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError
from mininet_topos.ports import HOST_PORT
from mininet_topos.wording import sentence
from ryu_apps.control.datapath import MessageApp, MessageReceived, MessageRefused
from ryu_apps.control.decide import live_topology
from ryu_apps.control.decide.allowance import Allowance
from ryu_apps.control.decide.edge import SendArp, edge_state, on_arp
from ryu_apps.control.decide.frames import arp_frame, read_arp
from ryu_apps.control.decide.peers import why_refused
from ryu_apps.control.decide.reactive import Action, Confirm, Install, PathSetup, Release, Routes
from ryu_apps.control.decide.reactive_settings import REACTIVE
from ryu_apps.control.decide.reply_limit import MAX_REPLY_ENTRIES
from ryu_apps.control.decide.settings import ARMOR
from ryu_apps.control.faults import Faults, surfaced
from ryu_apps.control.listening import prepare_listening
from ryu_apps.control.settings import load_allow_list, load_settings
from ryu_apps.openflow import encode
from ryu_apps.openflow.messages import DumpPart, ErrorMessage, PacketIn, PortDesc, PortStatus
from ryu_apps.openflow.wire import MsgType, Multipart
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import OFPP_CONTROLLER, SCHEME_MASK, Kind, Owner, Priority, Table, cookie
from ryu_apps.plan.rows import FlowRow, Output

_OWN = cookie(Owner.REACTIVE, Kind.PLANNED)
_MISS = FlowRow(Table.CLASSIFY, Priority.MISS, (), (Output(OFPP_CONTROLLER),), cookie=_OWN)


class ReactiveApp(MessageApp):
    """Gives switches rules for a flow when its first packet comes. Settings: docs/pso.md."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.faults = Faults(EventLog("controller"), self.logger)
        self._datapaths: dict[int, Any] = {}
        self._confirms: dict[tuple[int, int], Confirm] = {}
        self._described: dict[int, dict[int, PortDesc]] = {}  # what has come of a description in several parts
        try:
            own, settings = load_settings(REACTIVE), load_settings(ARMOR)
            prepare_listening()
            self._allow_list = load_allow_list(settings.allowed_switches)
            topology = load_topology(settings.topology)
            routes = Routes(topology, settings.options.metric)
        except ArmorError as error:
            print(f"armor: {sentence(error)}", file=sys.stderr)
            raise SystemExit(error.exit_code) from error
        self._idle_timeout_s, self._paths = own.idle_timeout_s, PathSetup(routes, own.options)
        self._live = live_topology.LiveTopology(live_topology.Expected(topology))
        self._edge = edge_state(hosts_of(topology))
        now_s = time.monotonic()
        self._allowances = {dpid: Allowance(own.packet_ins, now_s) for dpid in self._live.expected.node_of}

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    @surfaced
    def switch_state_changed(self, event: Any) -> None:
        """A switch has connected, or its connection is gone."""
        dpid, datapath = event.datapath.id, event.datapath
        if event.state == MAIN_DISPATCHER:
            present = self._datapaths.get(dpid)
            refused = why_refused(dpid, datapath.peer, present and present.peer, self._allow_list)
            if refused is not None:
                self.faults.report("refused switch", refused, self._live.expected.node_of.get(dpid, ""))
                hub.spawn(datapath.close_refused)  # it waits while the app's queue of events is full
                return
            self._forget(dpid)  # its old connection may not have ended yet for Ryu
            self._datapaths[dpid] = datapath
            self._start_anew(dpid)
            self._send(dpid, encode.port_desc_request())
        elif self._datapaths.get(dpid) is datapath:
            self._forget(dpid)

    @surfaced
    def message_received(self, event: MessageReceived) -> None:
        """A switch has sent something; what a refused one sends until it is gone is not looked at."""
        dpid, received = event.datapath.id, event.received
        if self._datapaths.get(dpid) is not event.datapath:
            return
        node, value = self._live.expected.node_of.get(dpid), received.value
        if isinstance(value, PacketIn) and node is not None:
            self._packet_in(dpid, node, value)
        elif isinstance(value, PortStatus) and node is not None:
            self._port_changed(node, value)
        elif isinstance(value, DumpPart) and value.kind == Multipart.PORT_DESC and node is not None:
            self._ports_described(dpid, node, value)
        elif isinstance(value, ErrorMessage):
            self.faults.report("switch", str(value), node or "")
        elif received.kind == MsgType.BARRIER_REPLY:
            confirm = self._confirms.pop((dpid, received.xid), None)
            if confirm is not None:
                self._act(self._paths.confirmed(confirm, time.monotonic()))

    def message_refused(self, event: MessageRefused) -> None:
        """A switch has sent what cannot be used."""
        node = self._live.expected.node_of.get(event.datapath.id, "")
        self.faults.report(event.what, f"from {event.datapath.address[0]}: {event.text}", node)

    def _forget(self, dpid: int) -> None:
        """What was asked of a switch is not answered any more."""
        self._described.pop(dpid, None)
        if self._datapaths.pop(dpid, None) is not None:
            self._confirms = {key: confirm for key, confirm in self._confirms.items() if key[0] != dpid}
            self._act(self._paths.switch_gone(dpid, time.monotonic()))

    def _ports_described(self, dpid: int, node: str, part: DumpPart) -> None:
        ports = self._described.setdefault(dpid, {})
        ports |= {port.port_no: port for port in part.entries if isinstance(port, PortDesc)}
        if len(ports) > MAX_REPLY_ENTRIES:
            del self._described[dpid]
            self.faults.report(
                "switch", f"it describes more than {MAX_REPLY_ENTRIES:,} ports; none of these is used", node
            )
        elif not part.more:
            del self._described[dpid]
            self._live = live_topology.switch_connected(self._live, node, ports, time.monotonic())
            self._route()

    def _port_changed(self, node: str, status: PortStatus) -> None:
        # A port that is gone leads nowhere, like a failed one.
        port = replace(status.port, state=0) if status.is_deleted else status.port
        self._live = live_topology.port_changed(self._live, node, port, time.monotonic())
        self._route()

    def _packet_in(self, dpid: int, node: str, packet: PacketIn) -> None:
        allowance = self._allowances[dpid]
        if not allowance.admits(time.monotonic()):
            text = f"it sends more than {allowance.rate.per_s:g} packet-ins a second; this one is not answered"
            self.faults.report("packet-in flood", f"{text} (setting packet_ins_per_s of [reactive])", node)
            return
        arp = read_arp(packet.data)
        if arp is None:
            self._act(self._paths.asked(dpid, packet.in_port, packet.data, self._datapaths, time.monotonic()))
        elif packet.in_port == HOST_PORT:
            self._answer_arp(node, arp)

    def _route(self) -> None:
        down = self._live.failure_scenario().directions
        failed = frozenset(map(self._live.expected.topology.link_id, down))
        if self._paths.links_failed(failed):
            self._confirms.clear()
            for dpid in tuple(self._datapaths):
                self._start_anew(dpid)

    def _start_anew(self, dpid: int) -> None:
        """Flows ask again: what this app has sent the switch so far may not hold any more."""
        self._send(dpid, encode.flows_delete_by_cookie(_OWN, SCHEME_MASK) + encode.flow_add(_MISS))

    def _answer_arp(self, node: str, arp: Any) -> None:
        """Hosts learn each other's real addresses, so that no switch has to rewrite any."""
        self._edge, actions = on_arp(self._edge, node, HOST_PORT, arp)
        for action in actions:
            dpid = self._live.expected.topology.index_of[action.node] + 1
            if isinstance(action, SendArp) and dpid in self._datapaths:
                frame = arp_frame(action.arp, action.eth_dst)
                self._send(dpid, encode.packet_out(frame, (Output(action.port_no),)))

    def _act(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if action.dpid not in self._datapaths:
                continue  # it asks again when it is back
            if isinstance(action, Install):
                self._send(action.dpid, encode.flow_add(action.row, idle_timeout_s=self._idle_timeout_s))
            elif isinstance(action, Release):
                self._send(action.dpid, encode.packet_out(action.frame, (Output(action.port_no),), action.in_port))
            else:
                self._confirm(action)

    def _confirm(self, confirm: Confirm) -> None:
        datapath = self._datapaths[confirm.dpid]
        # Ryu numbers its own messages from the same counter, so no two share an id.
        datapath.xid = (datapath.xid + 1) & 0xFFFFFFFF
        self._confirms[confirm.dpid, datapath.xid] = confirm
        self._send(confirm.dpid, encode.barrier_request(datapath.xid))

    def _send(self, dpid: int, messages: bytes) -> None:
        datapath = self._datapaths.get(dpid)
        if datapath is not None and not datapath.send(messages):
            self._forget(dpid)  # its connection is ending, though Ryu has not said so yet
