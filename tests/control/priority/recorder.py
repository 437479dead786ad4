"""A Ryu app that writes down every event in the order in which it handles them, and answers packet-ins."""

from __future__ import annotations

import os
import time

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.ofproto import ofproto_v1_3

_MESSAGES = [
    ofp_event.EventOFPBarrierReply,
    ofp_event.EventOFPErrorMsg,
    ofp_event.EventOFPFlowRemoved,
    ofp_event.EventOFPFlowStatsReply,
    ofp_event.EventOFPPacketIn,
    ofp_event.EventOFPPortStatus,
    ofp_event.EventOFPSwitchFeatures,
]
SLOW_BYTES = b"take your time"


class Recorder(app_manager.RyuApp):
    """Each line: kind of event, xid (0 for a state)."""

    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012 - Ryu's convention

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    def state_changed(self, event) -> None:
        self._write(f"state {event.state}", 0, event.datapath)

    @set_ev_cls(_MESSAGES, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def message_received(self, event) -> None:
        message = event.msg
        self._write(type(message).__name__, message.xid, message.datapath)
        if isinstance(event, ofp_event.EventOFPPacketIn):
            if SLOW_BYTES in message.data:
                time.sleep(0.3)  # the whole controller stands still meanwhile
            parser, datapath = message.datapath.ofproto_parser, message.datapath
            match = parser.OFPMatch(in_port=message.match["in_port"])
            flow = parser.OFPFlowMod(datapath, match=match, cookie=message.xid)
            flow.set_xid(message.xid)
            if os.environ.get("RECORDER_GROUPS"):
                self._use_group(datapath, message.xid)
            datapath.send_msg(flow)
            if os.environ.get("RECORDER_BARRIERS"):
                barrier = parser.OFPBarrierRequest(datapath)
                barrier.set_xid(message.xid)
                datapath.send_msg(barrier)
            if os.environ.get("RECORDER_STATS"):
                datapath.send_msg(parser.OFPFlowStatsRequest(datapath))
            out = parser.OFPPacketOut(datapath, 0xFFFFFFFF, 1, [parser.OFPActionOutput(2)], message.data)
            out.set_xid(message.xid)
            datapath.send_msg(out)

    def _use_group(self, datapath, xid: int) -> None:
        """Make a group, and at once a flow entry of a more urgent class that uses it."""
        parser, protocol = datapath.ofproto_parser, datapath.ofproto
        bucket = parser.OFPBucket(actions=[parser.OFPActionOutput(2)])
        datapath.send_msg(parser.OFPGroupMod(datapath, protocol.OFPGC_ADD, protocol.OFPGT_INDIRECT, xid, [bucket]))
        to_group = parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, [parser.OFPActionGroup(xid)])
        urgent = parser.OFPMatch(eth_type=0x0800, ip_proto=17, udp_dst=20000)
        datapath.send_msg(parser.OFPFlowMod(datapath, match=urgent, instructions=[to_group]))

    def _write(self, what: str, xid: int, datapath) -> None:
        with open(os.environ["RECORDER_FILE"], "a", encoding="utf-8") as file:
            file.write(f"{what} {xid} {datapath.id}\n")
