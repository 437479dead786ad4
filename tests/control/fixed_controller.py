"""A controller that stands still, for tests of what REST makes of it."""

from __future__ import annotations

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.knowledge import Known, Source
from ryu_apps.control.decide.live_topology import Expected, LiveTopology, Mismatch, switch_connected
from ryu_apps.control.decide.statistics import FlowSample, PortSample
from ryu_apps.control.decide.tunnel_resources import BusyError
from ryu_apps.openflow.messages import PortDesc, PortStat
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import plan_network


class FixedController:
    """Answers the same to every request, whatever is asked of it."""

    topology = load_topology("square")

    def live_topology(self):
        return switch_connected(LiveTopology(Expected(self.topology)), "s1", {2: PortDesc(2, 1, "p2", 0, 4)}, 0.0)

    def failed_links(self):
        return frozenset({self.topology.link_ids[0]})

    def port_samples(self):
        return {"s1": {2: PortSample(1.0, PortStat(2, 1, 2, 3, 4, 5, 6, 7, 8, 9.0), 0.5, 0.25, 0.0)}}

    def flow_samples(self):
        return {"s1": {0x0A000002: FlowSample(1.0, 3, 300, None)}}

    def wanted_plan(self, dpid):
        return plan_network("sdfast", self.topology, PlanOptions()).get(dpid)

    def knowledge(self):
        return (Known("s3", self.topology.link_ids[0], Source.NOTIFICATION, 12.5),)

    def mismatches(self):
        return (Mismatch("missing port", "s1", "s1 has no port 3"),)

    def state(self):
        return {"ready": True}

    def tunnels(self):
        return {"commodities": []}

    def engineer_traffic(self, given):
        if given == "busy":
            raise BusyError("run 1 is under way")
        if given == "bad":
            raise BadInputError("request.json, line 1: this is no JSON")
        return 7
