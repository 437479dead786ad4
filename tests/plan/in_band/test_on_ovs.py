"""A real Open vSwitch takes the rows of in-band control, gives them back, and answers ARP by them."""

from __future__ import annotations

import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.ports import HOST_PORT, assign_ports
from ryu_apps.plan.dump_parse import parse_flow, parse_group
from ryu_apps.plan.ids import CONTROL_PORT
from ryu_apps.plan.in_band.plan import plan_in_band
from ryu_apps.plan.in_band.text import bundle_text
from ryu_apps.plan.in_band.values import DataMarking
from ryu_apps.plan.rows import RulePlan
from tests.dummy_ovs import DummyOvs
from tests.plan.in_band.walking import channel_at

pytestmark = pytest.mark.ovs
TOPOLOGY = load_topology("figure2")
ASKED = "arp,arp_op=1,dl_src=06:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff,arp_sha=06:00:00:00:00:01"


def install(ovs: DummyOvs, plan: RulePlan) -> None:
    ports = {port for node, port in assign_ports(TOPOLOGY).direction_at if node == plan.node}
    ovs.add_bridge(plan.node, plan.dpid, (HOST_PORT, *ports, CONTROL_PORT))
    ovs.run("ovs-ofctl", "-OOpenFlow13", "bundle", ovs.management(plan.node), "-", text=bundle_text(plan))


def final_flow(ovs: DummyOvs, bridge: str, packet: str) -> str:
    traced = ovs.appctl("ofproto/trace", bridge, packet)
    return next(line for line in traced.splitlines() if line.startswith("Final flow"))


def test_rows_are_taken_in_one_bundle_and_read_back_as_they_were() -> None:
    plan = plan_in_band(TOPOLOGY, channel_at("s2", data_markings=(DataMarking(56, 32),))).plans[2]
    with DummyOvs() as ovs:
        install(ovs, plan)
        flows = ovs.ofctl("dump-flows", "s2", options=("--no-names",)).splitlines()
        groups = ovs.ofctl("dump-groups", "s2", options=("--no-names",)).splitlines()
        assert {parse_flow(line) for line in flows if "actions=" in line} == set(plan.flows)
        assert {parse_group(line) for line in groups if "group_id=" in line} == set(plan.groups)
        # A second bundle of the same rows, as after a repair, changes nothing and is no error.
        ovs.run("ovs-ofctl", "-OOpenFlow13", "bundle", ovs.management("s2"), "-", text=bundle_text(plan))


@pytest.mark.parametrize(
    ("port", "asker", "target"),
    [("LOCAL", "10.255.0.2", "10.255.255.254"), (str(CONTROL_PORT), "10.255.255.254", "10.255.0.7")],
)
def test_arp_is_answered_with_the_address_of_the_tree(port: str, asker: str, target: str) -> None:
    with DummyOvs() as ovs:
        install(ovs, plan_in_band(TOPOLOGY, channel_at("s2")).plans[2])
        asked = f"in_port={port},{ASKED},arp_spa={asker},arp_tpa={target}"
        answer = final_flow(ovs, "s2", asked)
        assert f"arp_spa={target},arp_tpa={asker},arp_op=2" in answer
        assert "arp_sha=02:03:00:00:00:00,arp_tha=06:00:00:00:00:01" in answer
        assert "dl_src=02:03:00:00:00:00,dl_dst=06:00:00:00:00:01" in answer
        # From a host the same question is dropped.
        spoofed = ovs.appctl("ofproto/trace", "s2", asked.replace(f"in_port={port}", "in_port=1"))
        assert spoofed.splitlines()[-1] == "Datapath actions: drop"
