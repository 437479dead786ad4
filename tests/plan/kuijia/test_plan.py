"""Whole networks of tunnels: every slot of every pair, before and after every failure, walked by the interpreter."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError, PlanLimitError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import LinkId, Topology
from mininet_topos.toy import TOYS
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.check import violations
from ryu_apps.plan.diff import diff, install_phases
from ryu_apps.plan.dump_parse import parse_flow, parse_group
from ryu_apps.plan.ids import Kind, Priority, Table, split_cookie
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.crossing import Crossing, cross
from ryu_apps.plan.kuijia.ingress import MAX_LAYERS, failure_rows
from ryu_apps.plan.kuijia.options import TunnelOptions, parse_prefix
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.priorities import ClassMarking
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.plan.order import canonical
from ryu_apps.plan.row_text import flow_text, group_text
from ryu_apps.plan.serial import plan_from_json, plan_to_json
from ryu_apps.schemes import find_tunnel_scheme, plan_tunnels, tunnel_schemes
from tests.examples import examples
from tests.plan.deltas import apply_delta
from tests.plan.kuijia.networks import FIGURE2_OPTIONS, figure1, figure1_traffic, path, running

NORMAL, VICTIM = ClassMarking(0, 1), ClassMarking(1, 2)
GSCALE = load_topology("gscale")


def planner(
    scheme: str = "kuijia",
    topology: Topology = GSCALE,
    commodities: tuple[TunnelCommodity, ...] | None = None,
    options: TunnelOptions | None = None,
) -> TunnelPlanner:
    given = equal_commodities(topology) if commodities is None else commodities
    return TunnelPlanner(find_tunnel_scheme(scheme), topology, given, options or TunnelOptions())


def packet_of(topology: Topology, commodity: TunnelCommodity) -> Packet:
    hosts = hosts_of(topology)
    return Packet(hosts[commodity.src].ipv4, hosts[commodity.dst].ipv4, l4_src=7, l4_dst=9)


def assert_held(crossing: Crossing, commodity: TunnelCommodity, tunnel: int, marking: ClassMarking) -> None:
    """The packet took this tunnel from end to end, marked so at every switch."""
    assert crossing.delivered_to == commodity.dst
    assert crossing.links == commodity.paths[tunnel]
    assert set(crossing.queues) == {marking.queue_id}
    assert len(crossing.queues) == len(crossing.links) + 1
    assert set(crossing.tcs) == {marking.tc}
    assert len(crossing.labels) == 1


def test_every_pair_crosses_by_every_tunnel_in_the_normal_queue() -> None:
    network = planner()
    switches = running(GSCALE, network.plans())
    crossed = 0
    for node, ingress_entries in network.ingress_entries.items():
        for ingress_entry in ingress_entries:
            for piece in network.holding(ingress_entry):
                for slot in (piece.slots.first, piece.slots.stop - 1):
                    packet = packet_of(GSCALE, ingress_entry.commodity)
                    assert piece.tunnel is not None
                    found = cross(switches, node, packet, slot)
                    assert_held(found, ingress_entry.commodity, piece.tunnel, NORMAL)
                    crossed += 1
    assert crossed == 2 * sum(len(each.paths) for each in equal_commodities(GSCALE)) > 700


@pytest.mark.parametrize("link", GSCALE.link_ids, ids=str)
def test_any_failure_of_gscale_moves_only_its_own_flows_and_those_into_the_low_queue(link: LinkId) -> None:
    network = planner()
    failed = frozenset({link})
    switches = running(GSCALE, network.plans([failed]), failed)
    for node, ingress_entries in network.ingress_entries.items():
        for ingress_entry in ingress_entries:
            down = ingress_entry.commodity.down(GSCALE, failed)
            survivors = set(range(len(ingress_entry.commodity.paths))) - down
            packet = packet_of(GSCALE, ingress_entry.commodity)
            for own in network.holding(ingress_entry):
                for slot in (own.slots.first, own.slots.stop - 1):
                    found = cross(switches, node, packet, slot)
                    if own.tunnel not in down:
                        assert own.tunnel is not None
                        assert_held(found, ingress_entry.commodity, own.tunnel, NORMAL)
                    else:
                        taken = ingress_entry.commodity.paths.index(found.links)
                        assert taken in survivors
                        assert_held(found, ingress_entry.commodity, taken, VICTIM)


@pytest.mark.parametrize("link", GSCALE.link_ids[::4], ids=str)
def test_rescaling_delivers_after_any_failure_and_tags_nobody(link: LinkId) -> None:
    network = planner("rescaling")
    failed = frozenset({link})
    plans = network.plans([failed])
    switches = running(GSCALE, plans, failed)
    assert not any(("mpls_tc", VICTIM.tc, None) in row.match for plan in plans.values() for row in plan.flows)
    for node, ingress_entries in network.ingress_entries.items():
        for ingress_entry in ingress_entries:
            for piece in network.holding(ingress_entry, [failed]):
                assert piece.tunnel is not None
                packet = packet_of(GSCALE, ingress_entry.commodity)
                found = cross(switches, node, packet, piece.slots.first)
                assert_held(found, ingress_entry.commodity, piece.tunnel, NORMAL)


def test_without_failover_the_flows_of_a_failed_tunnel_are_lost_and_the_others_are_not() -> None:
    network, failed = planner("te"), frozenset({GSCALE.link_ids[0]})
    assert network.plans([failed]) == network.plans()
    ingress_entry = next(each for each in network.ingress_entries["s1"] if each.commodity.down(GSCALE, failed))
    down = ingress_entry.commodity.down(GSCALE, failed)
    switches = running(GSCALE, network.plans(), failed)
    for piece in network.holding(ingress_entry):
        packet = packet_of(GSCALE, ingress_entry.commodity)
        found = cross(switches, "s1", packet, piece.slots.first)
        assert (found.delivered_to is None) == (piece.tunnel in down)


def connected_networks() -> st.SearchStrategy[Topology]:
    return st.builds(lambda nodes, seed: load_topology(f"waxman:{nodes}:{seed}"), st.integers(4, 9), st.integers(0, 99))


@examples(15)
@given(connected_networks(), st.data())
def test_after_any_failures_one_after_another_who_has_a_tunnel_left_is_delivered(
    topology: Topology, data: st.DataObject
) -> None:
    network = planner(topology=topology)
    links = st.frozensets(st.sampled_from(topology.link_ids), min_size=1, max_size=2)
    failures = data.draw(st.lists(links, min_size=1, max_size=3))
    failed = frozenset().union(*failures)
    plans = network.plans(failures)
    for plan in plans.values():
        assert violations(plan) == ()
    switches = running(topology, plans, failed)
    node = data.draw(st.sampled_from(topology.node_names))
    for ingress_entry in network.ingress_entries[node]:
        for piece in network.holding(ingress_entry, failures):
            slot = data.draw(st.integers(piece.slots.first, piece.slots.stop - 1))
            packet = packet_of(topology, ingress_entry.commodity)
            found = cross(switches, node, packet, slot)
            if piece.tunnel is None:
                assert ingress_entry.commodity.down(topology, failed) == set(range(len(ingress_entry.commodity.paths)))
                assert (found.delivered_to, found.links) == (None, ())
            else:
                assert_held(found, ingress_entry.commodity, piece.tunnel, VICTIM if piece.victim else NORMAL)


def test_both_directions_of_a_flow_share_a_tunnel_before_and_after_a_failure() -> None:
    """The hash is symmetric, so a flow and its acknowledgements have one slot."""
    weights = (0.5, 0.3, 0.2)
    network = planner(topology=figure1(), commodities=(figure1_traffic(weights),))
    commodity = figure1_traffic(weights)
    there, back = packet_of(figure1(), commodity), packet_of(figure1(), commodity.reverse)
    for failures in ([], [frozenset({LinkId("s2", "s4")})]):
        switches = running(figure1(), network.plans(failures), frozenset().union(*failures))
        for slot in range(0, 1024, 11):
            one, other = cross(switches, "s1", there, slot), cross(switches, "s4", back, slot)
            assert [hop.src for hop in one.links] == [hop.dst for hop in reversed(other.links)]
            assert (one.labels, set(one.tcs)) == (other.labels, set(other.tcs))


def test_pairs_with_ways_of_their_own_keep_them() -> None:
    square = TOYS["square"]()
    there = TunnelCommodity("s1", "s3", (path("s1", "s2", "s3"),), (1.0,))
    back = TunnelCommodity("s3", "s1", (path("s3", "s4", "s1"),), (1.0,))
    plans = plan_tunnels("kuijia", square, (there, back))
    for commodity in (there, back):
        found = cross(running(square, plans), commodity.src, packet_of(square, commodity), 500)
        assert_held(found, commodity, 0, NORMAL)


def test_all_hosts_of_a_prefix_are_reached_and_no_others() -> None:
    network = planner(topology=figure1(), commodities=(figure1_traffic(),), options=FIGURE2_OPTIONS)
    switches = running(figure1(), network.plans())
    for last, reached in ((0, "s4"), (77, "s4"), (255, "s4"), (256, None)):
        packet = Packet(parse_prefix("10.0.1.9").ipv4, parse_prefix("10.0.2.0").ipv4 + last)
        assert cross(switches, "s1", packet, 0).delivered_to == reached
    reply = Packet(parse_prefix("10.0.2.77").ipv4, parse_prefix("10.0.1.9").ipv4)
    assert cross(switches, "s4", reply, 1023).delivered_to == "s1"


def test_the_longest_prefix_wins() -> None:
    triangle = load_topology("ring:3")
    prefixes = (("s2", (parse_prefix("10.7.0.0/16"),)), ("s3", (parse_prefix("10.7.3.0/24"), parse_prefix("10.9.0.1"))))
    plans = plan_tunnels("te", triangle, equal_commodities(triangle), TunnelOptions(prefixes=prefixes))
    for address, reached in (("10.7.2.1", "s2"), ("10.7.3.1", "s3"), ("10.9.0.1", "s3"), ("10.9.0.2", None)):
        packet = Packet(1, parse_prefix(address).ipv4)
        assert cross(running(triangle, plans), "s1", packet, 0).delivered_to == reached
    assert [plan.local_ipv4 for plan in plans.values()] == [(0x0A000001,), (), ()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "priorities"),
    [("kuijia", "single"), ("kuijia", "four"), *((scheme, "eight") for scheme in tunnel_schemes())],
)
@pytest.mark.parametrize("name", [*TOYS, "darkstrand", "usnet", "gscale"])
def test_a_plan_passes_check_held_to_the_ports_of_the_switches(name: str, scheme: str, priorities: str) -> None:
    topology = load_topology(name)
    ports = {node: {HOST_PORT} for node in topology.node_names}
    for node, port_no in assign_ports(topology).direction_at:
        ports[node].add(port_no)
    pairs = None if name in TOYS else [(topology.node_names[0], node) for node in topology.node_names[1:]]
    network = planner(scheme, topology, equal_commodities(topology, pairs), TunnelOptions(priorities))
    for failures in ([], [frozenset(topology.link_ids[:1])], [frozenset({link}) for link in topology.link_ids[:3]]):
        for plan in network.plans(failures).values():
            assert violations(plan, ports[plan.node]) == ()
            assert canonical(plan) == plan


@pytest.mark.slow
def test_one_failure_only_adds_rows_and_only_where_traffic_enters() -> None:
    network = planner()
    before = network.plans()
    for link in GSCALE.link_ids:
        added = network.failure_rows([frozenset({link})])
        for dpid, after in network.plans([frozenset({link})]).items():
            delta = diff(before[dpid], after)
            assert (delta.modify_flows, delta.delete_flows) == ((), ())
            assert set(delta.add_flows) == set(added.get(dpid, ()))
            assert all(row.table_id == Table.TE_HASH for row in delta.add_flows)
            assert apply_delta(diff(after, before[dpid]), after) == before[dpid]
            assert len(install_phases(delta)) == (dpid in added)


def test_an_ingress_that_watches_its_own_tunnels_needs_to_know_of_no_link() -> None:
    network = planner(topology=figure1(), commodities=(figure1_traffic((0.5, 0.3, 0.2)),))
    (ingress_entry,) = network.ingress_entries["s1"]
    links = [frozenset({LinkId("s2", "s4")}), frozenset({LinkId("s1", "s4")})]
    tunnels = [frozenset({0}), frozenset({1})]
    for done in range(3):
        from_links = network.failure_rows(links[:done]).get(1, ())
        assert network.ingress_entry_rows(ingress_entry, tunnels[:done]) == from_links
    assert len({row.priority for row in network.ingress_entry_rows(ingress_entry, tunnels)}) == 2


def test_the_rows_of_a_failure_carry_the_mark_of_who_put_them_there() -> None:
    network, event = planner(), frozenset({GSCALE.link_ids[2]})
    planned, agent = (network.failure_rows([event], kind) for kind in (Kind.PLANNED, Kind.AGENT))
    assert planned.keys() == agent.keys()
    assert {split_cookie(row.cookie).kind for rows in agent.values() for row in rows} == {Kind.AGENT}
    assert [[row.key for row in rows] for rows in planned.values()] == [
        [row.key for row in rows] for rows in agent.values()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("options", [TunnelOptions("eight"), TunnelOptions(split="select")])
def test_plans_go_through_text_and_json_unchanged(options: TunnelOptions) -> None:
    scheme = "rescaling" if options.split == "select" else "kuijia"
    plans = plan_tunnels(scheme, GSCALE, equal_commodities(GSCALE), options, [frozenset(GSCALE.link_ids[:1])])
    for plan in plans.values():
        assert plan_from_json(plan_to_json(plan)) == plan
        assert [parse_flow(flow_text(row)) for row in plan.flows] == list(plan.flows)
        assert [parse_group(group_text(row)) for row in plan.groups] == list(plan.groups)


def test_more_failures_than_the_band_has_priorities_are_refused() -> None:
    network = planner(topology=figure1(), commodities=(figure1_traffic(),))
    (ingress_entry,) = network.ingress_entries["s1"]
    rows = list(failure_rows(ingress_entry, network.wiring, [()] * (MAX_LAYERS - 1) + [network.holding(ingress_entry)]))
    assert max(row.priority for row in rows) == Priority.DELIVER - 1
    with pytest.raises(PlanLimitError, match="failures one after another"):
        list(failure_rows(ingress_entry, network.wiring, [()] * (MAX_LAYERS + 1)))


def test_frames_that_a_host_has_labelled_or_tagged_are_dropped() -> None:
    switches = running(figure1(), planner(topology=figure1(), commodities=(figure1_traffic(),)).plans())
    sent = packet_of(figure1(), figure1_traffic())
    assert cross(switches, "s1", sent, 0).delivered_to == "s4"
    for forged in (replace(sent, mpls=((16, 0),)), replace(sent, vlan_tci=0x1005)):
        assert cross(switches, "s1", forged, 0).queues == ()


def test_a_capacity_that_is_unknown_leaves_its_queues_unlimited() -> None:
    (queues,) = {
        tuple(
            (row.queue_id, row.priority, row.min_rate_mbps, row.max_rate_mbps)
            for row in plan.queues
            if row.port_no == 2
        )
        for plan in planner().plans().values()
    }
    assert queues == ((0, 0, None, 1000.0), (1, 1, None, 1000.0), (2, 2, 0.0, 1000.0))
    unknown = plan_tunnels("te", load_topology("usnet"), ())[1]
    assert {row.max_rate_mbps for row in unknown.queues if row.port_no == HOST_PORT} == {None}


@pytest.mark.parametrize(
    ("options", "scheme", "words"),
    [
        (TunnelOptions(split="select"), "kuijia", "cannot tag victims"),
        (TunnelOptions(prefixes=(("s9", ()),)), "te", "'s9', which is no node of 'kuijia-figure1'"),
        (
            TunnelOptions(),
            "kuijai",
            r"unknown tunnel scheme 'kuijai'; did you mean 'kuijia'\? schemes: ffc1, kuijia, precomputed, .*, te",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(options: TunnelOptions, scheme: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        plan_tunnels(scheme, figure1(), (figure1_traffic(),), options)
