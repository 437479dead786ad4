"""The Ryu side of reactive paths: what `reactive_core` decides, done."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.ofproto import ofproto_v1_3

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError
from mininet_topos.event_log import EventLog
from mininet_topos.ports import HOST_PORT
from mininet_topos.wording import sentence
from ryu_apps.control import topology_core
from ryu_apps.control.edge_core import SendArp, edge_state, on_arp
from ryu_apps.control.faults import Faults, surfaced
from ryu_apps.control.frames_core import arp_frame, read_arp
from ryu_apps.control.reactive_core import Action, Confirm, Install, PathSetup, Release, Routes
from ryu_apps.control.reactive_settings_core import read_reactive_settings
from ryu_apps.control.settings import load_settings
from ryu_apps.openflow import decode, encode
from ryu_apps.openflow.wire import header
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import OFPP_CONTROLLER, SCHEME_MASK, Kind, Priority, SchemeId, Table, cookie
from ryu_apps.plan.rows import FlowRow, Output

_PORT_DELETED = 1
_OWN = cookie(SchemeId.REACTIVE, Kind.PLANNED)
_MISS = FlowRow(Table.CLASSIFY, Priority.MISS, (), (Output(OFPP_CONTROLLER),), cookie=_OWN)


class ReactiveApp(app_manager.RyuApp):
    """Gives switches rules for a flow when its first packet comes. Settings: docs/pso.md."""

    OFP_VERSIONS: ClassVar[list[int]] = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.faults = Faults(EventLog("controller"), self.logger)
        self._datapaths: dict[int, Any] = {}
        self._confirms: dict[tuple[int, int], Confirm] = {}
        try:
            own, settings = read_reactive_settings(os.environ), load_settings()
            topology = load_topology(settings.topology)
            routes = Routes(topology, settings.options.metric)
        except ArmorError as error:
            print(f"armor: {sentence(error)}", file=sys.stderr)
            raise SystemExit(error.exit_code) from error
        self._idle_timeout_s, self._paths = own.idle_timeout_s, PathSetup(routes, own.options)
        self._live = topology_core.LiveTopology(topology_core.Expected(topology))
        self._edge = edge_state(hosts_of(topology))

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    @surfaced
    def switch_state_changed(self, event: Any) -> None:
        """A switch has connected, or its connection is gone."""
        dpid, datapath = event.datapath.id, event.datapath
        if event.state == MAIN_DISPATCHER:
            self._datapaths[dpid] = datapath
            self._start_anew(dpid)
        elif self._datapaths.get(dpid) is datapath:
            del self._datapaths[dpid]
            self._confirms = {key: confirm for key, confirm in self._confirms.items() if key[0] != dpid}
            self._act(self._paths.switch_gone(dpid, time.monotonic()))

    @set_ev_cls(ofp_event.EventOFPPortDescStatsReply, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    @surfaced
    def ports_described(self, event: Any) -> None:
        """A switch says which ports it has (Ryu asks when it connects)."""
        node = self._live.expected.node_of.get(event.msg.datapath.id)
        if node is not None:
            ports = {port.port_no: port for port in decode.decode_port_desc(bytes(event.msg.buf))[0]}
            self._live = topology_core.switch_connected(self._live, node, ports, time.monotonic())
            self._route()

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)
    @surfaced
    def port_changed(self, event: Any) -> None:
        """A port has come, gone, or changed."""
        status = decode.decode_port_status(bytes(event.msg.buf))
        node = self._live.expected.node_of.get(event.msg.datapath.id)
        if node is not None:
            # A port that is gone leads nowhere, like a dead one.
            port = replace(status.port, state=0) if status.reason == _PORT_DELETED else status.port
            self._live = topology_core.port_changed(self._live, node, port, time.monotonic())
            self._route()

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    @surfaced
    def packet_received(self, event: Any) -> None:
        """A packet that no rule knows."""
        dpid, in_port, frame = event.msg.datapath.id, event.msg.match["in_port"], bytes(event.msg.data)
        arp = read_arp(frame)
        if arp is None:
            self._act(self._paths.asked(dpid, in_port, frame, self._datapaths, time.monotonic()))
        elif in_port == HOST_PORT and dpid in self._live.expected.node_of:
            self._answer_arp(self._live.expected.node_of[dpid], arp)

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    @surfaced
    def rules_hold(self, event: Any) -> None:
        """A switch has taken the rules of a flow."""
        confirm = self._confirms.pop((event.msg.datapath.id, header(bytes(event.msg.buf)).xid), None)
        if confirm is not None:
            self._act(self._paths.confirmed(confirm, time.monotonic()))

    def _route(self) -> None:
        dead = self._live.failure_scenario().directions
        failed = frozenset(map(self._live.expected.topology.link_id, dead))
        if self._paths.links_failed(failed):
            self._confirms.clear()
            for dpid in self._datapaths:
                self._start_anew(dpid)

    def _start_anew(self, dpid: int) -> None:
        """Flows ask again: what this app has told the switch so far may not hold any more."""
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
        self._datapaths[dpid].send(messages)
