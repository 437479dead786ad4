"""Ryu app for measurements: a switch sends UDP packets to ports 20000 and 20001 here, and they go back to their sender.

It runs beside an app that forwards everything else: its entries stand before those of routes.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.ofproto import ofproto_v1_3

from experiments.testbed.traffic.decide.bounce import UDP_PORTS, turned
from mininet_topos.ports import HOST_PORT

_PRIORITY = 45_500


class Bounce(app_manager.RyuApp):
    """Sends packets back."""

    OFP_VERSIONS: ClassVar[list[int]] = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_features(self, event: Any) -> None:
        """Have such packets from the host sent here."""
        datapath, parser, protocol = event.msg.datapath, event.msg.datapath.ofproto_parser, event.msg.datapath.ofproto
        actions = [parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)]
        instructions = [parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, actions)]
        for port in UDP_PORTS:
            match = parser.OFPMatch(in_port=HOST_PORT, eth_type=0x0800, ip_proto=17, udp_dst=port)
            datapath.send_msg(
                parser.OFPFlowMod(datapath=datapath, priority=_PRIORITY, match=match, instructions=instructions)
            )

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event: Any) -> None:
        """Send a packet back."""
        message = event.msg
        datapath, parser, protocol = message.datapath, message.datapath.ofproto_parser, message.datapath.ofproto
        data = turned(bytes(message.data))
        if data is not None:
            actions = [parser.OFPActionOutput(message.match["in_port"])]
            datapath.send_msg(
                parser.OFPPacketOut(
                    datapath=datapath,
                    buffer_id=protocol.OFP_NO_BUFFER,
                    in_port=protocol.OFPP_CONTROLLER,
                    actions=actions,
                    data=data,
                )
            )
