"""Ryu app for measurements: answers each packet-in with a flow-mod and a packet-out, and does nothing else.

With ARMOR_RESPONDER_FLOWS=0 there are only packet-outs: every packet of a real switch then comes to the controller.

A packet that the switch keeps (a buffer id) is let go by the flow-mod itself, as section 7.3.4.1 of OpenFlow 1.3.5
says. The flow entry matches the packet's protocol and UDP ports, so that a Policy Map Table can tell its class.
"""

from __future__ import annotations

import os
import struct
from typing import Any, ClassVar

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.ofproto import ofproto_v1_3

_UDP_PORTS_AT = 34
_IDLE_TIMEOUT_S = 5


class Responder(app_manager.RyuApp):
    """Answers packet-ins of `armor load`."""

    OFP_VERSIONS: ClassVar[list[int]] = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.installs_flows = os.environ.get("ARMOR_RESPONDER_FLOWS", "1") != "0"

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_features(self, event: Any) -> None:
        """Have packets without a flow entry sent here."""
        datapath, parser, protocol = event.msg.datapath, event.msg.datapath.ofproto_parser, event.msg.datapath.ofproto
        actions = [parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)]
        instructions = [parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(
            parser.OFPFlowMod(datapath=datapath, priority=0, match=parser.OFPMatch(), instructions=instructions)
        )

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event: Any) -> None:
        """Answer a packet-in."""
        message = event.msg
        datapath, parser, protocol = message.datapath, message.datapath.ofproto_parser, message.datapath.ofproto
        if len(message.data) < _UDP_PORTS_AT + 4:
            return  # no packet of the load generator
        udp_src, udp_dst = struct.unpack_from("!HH", message.data, _UDP_PORTS_AT)
        match = parser.OFPMatch(
            in_port=message.match["in_port"], eth_type=0x0800, ip_proto=17, udp_src=udp_src, udp_dst=udp_dst
        )
        actions = [parser.OFPActionOutput(3 - message.match["in_port"])]
        instructions = [parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, actions)]
        if self.installs_flows:
            datapath.send_msg(
                parser.OFPFlowMod(
                    datapath=datapath,
                    priority=10,
                    idle_timeout=_IDLE_TIMEOUT_S,
                    match=match,
                    instructions=instructions,
                    buffer_id=message.buffer_id,
                )
            )
        if message.buffer_id == protocol.OFP_NO_BUFFER:
            datapath.send_msg(
                parser.OFPPacketOut(
                    datapath=datapath,
                    buffer_id=message.buffer_id,
                    in_port=message.match["in_port"],
                    actions=actions,
                    data=message.data,
                )
            )
