"""Tunnels in the DSCP are those in labels: same paths and queues for every slot, before and after every failure."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError, PlanLimitError
from mininet_topos.ports import HOST_PORT
from mininet_topos.topology import Direction, Topology
from mininet_topos.toy import TOYS
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.check import violations
from ryu_apps.plan.choices import REPLICATED, SHAPES, TUNNEL_FIELDS
from ryu_apps.plan.decompose.count import field_count
from ryu_apps.plan.edge_rows import foreign_rows
from ryu_apps.plan.hash_ranges import N_SLOTS
from ryu_apps.plan.ids import Table
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.audit import audit
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.crossing import Crossing, cross
from ryu_apps.plan.kuijia.options import TunnelOptions, parse_prefix
from ryu_apps.plan.kuijia.plan import Failures, TunnelPlanner
from ryu_apps.plan.kuijia.replacement import replacement_steps
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.plan.kuijia.tunnel_field import ECN_OF_TC, MAX_DSCP, DscpField
from ryu_apps.plan.rows import FlowRow, RulePlan, SetField, SetQueue
from ryu_apps.plan.walk import Hop
from ryu_apps.schemes import find_tunnel_scheme
from tests.examples import examples
from tests.plan.kuijia.networks import FIGURE2_OPTIONS, figure1, figure1_traffic, path, running

GSCALE = load_topology("gscale")
DSCP = TunnelOptions(tunnel_field="dscp")


def planners(
    topology: Topology,
    commodities: tuple[TunnelCommodity, ...] | None = None,
    options: TunnelOptions | None = None,
    scheme: str = "kuijia",
) -> list[TunnelPlanner]:
    """One for each tunnel field, which is all that they differ in."""
    given = equal_commodities(topology) if commodities is None else commodities
    found = find_tunnel_scheme(scheme)
    fields = (replace(options or TunnelOptions(), tunnel_field=field) for field in TUNNEL_FIELDS)
    return [TunnelPlanner(found, topology, given, each) for each in fields]


def crossings(
    planner: TunnelPlanner, failures: Failures, commodity: TunnelCommodity, slots: range
) -> list[tuple[object, ...]]:
    """What becomes of the slots of a commodity: everything but the number of the tunnel."""
    failed = frozenset(link for event in failures for link in event)
    switches, hosts = running(planner.topology, planner.plans(failures), failed), hosts_of(planner.topology)
    packet = Packet(hosts[commodity.src].ipv4, hosts[commodity.dst].ipv4, l4_src=7, l4_dst=9)
    seen = (cross(switches, commodity.src, packet, slot, planner.wiring.field) for slot in slots)
    return [(each.delivered_to, each.links, each.queues, each.tcs, len(each.labels)) for each in seen]


def both_equal(planners: list[TunnelPlanner], failures: Failures, commodity: TunnelCommodity, slots: range) -> bool:
    labels, dscps = (crossings(planner, failures, commodity, slots) for planner in planners)
    return labels == dscps


def test_every_slot_takes_the_same_way_in_both_before_and_after_every_single_failure() -> None:
    commodity = figure1_traffic((0.5, 0.3, 0.2))
    both = planners(figure1(), (commodity,))
    for failures in ([], *([frozenset({link})] for link in figure1().link_ids)):
        for direction in (commodity, commodity.reverse):
            assert both_equal(both, failures, direction, range(N_SLOTS))


@examples(15)
@given(
    st.builds(lambda nodes, seed: load_topology(f"waxman:{nodes}:{seed}"), st.integers(4, 9), st.integers(0, 99)),
    st.data(),
)
def test_any_failures_of_any_network_have_the_same_answer_in_both(topology: Topology, data: st.DataObject) -> None:
    both = planners(topology, scheme=data.draw(st.sampled_from(["kuijia", "rescaling", "te"])))
    links = st.frozensets(st.sampled_from(topology.link_ids), min_size=1, max_size=2)
    failures = data.draw(st.lists(links, max_size=3))
    commodity = data.draw(st.sampled_from(equal_commodities(topology)))
    first = data.draw(st.integers(0, 30))
    assert both_equal(both, failures, commodity, range(first, N_SLOTS, 31))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["kuijia", "rescaling", "te"])
@pytest.mark.parametrize("shape", SHAPES)
def test_all_pairs_of_gscale_keep_their_promise_in_both_in_every_shape(scheme: str, shape: str) -> None:
    pairs = list(combinations(GSCALE.node_names[::3], 2))
    both = planners(GSCALE, equal_commodities(GSCALE, pairs), scheme=scheme)
    links = GSCALE.link_ids if shape == REPLICATED else GSCALE.link_ids[::5]
    histories: list[Failures] = [(), *([frozenset({link})] for link in links)]
    labels, dscps = (audit(planner, histories, shape) for planner in both)
    assert labels == dscps
    assert dscps.faults == ()
    assert dscps.cases == 2 * len(pairs) * len(histories)
    assert (dscps.victims > 0) == (scheme == "kuijia")


@pytest.mark.parametrize("name", ["ring:3", *TOYS])
def test_a_plan_passes_check_before_and_after_failures(name: str) -> None:
    topology = load_topology(name)
    _, dscp = planners(topology)
    for failures in ([], [frozenset({link}) for link in topology.link_ids[:3]]):
        for plan in dscp.plans(failures).values():
            assert violations(plan) == ()
            assert not any(name.startswith("mpls") for row in plan.flows for name, _, _ in row.match)


def test_a_select_group_sends_into_the_same_tunnels_in_both() -> None:
    commodity = figure1_traffic((0.5, 0.3, 0.2))
    both = planners(figure1(), (commodity,), TunnelOptions(split="select"), "te")
    assert all(violations(plan) == () for plan in both[1].plans().values())
    assert both_equal(both, [], commodity, range(0, N_SLOTS, 7))


def test_numbers_are_those_of_a_tunnel_among_the_tunnels_of_its_pair() -> None:
    labels, dscps = planners(GSCALE)
    pairs = {frozenset((key[0].src, key[-1].dst)) for key in dscps.labels}
    assert labels.labels.keys() == dscps.labels.keys()
    assert len(set(labels.labels.values())) == len(labels.labels) > 64 > len(set(dscps.labels.values()))
    for pair in pairs:
        mine = sorted(number for key, number in dscps.labels.items() if {key[0].src, key[-1].dst} == pair)
        assert mine == list(range(1, len(mine) + 1))


def parallel(count: int) -> tuple[Topology, TunnelCommodity]:
    """Two switches with a tunnel over each of many links."""
    fan = from_edges("fan", numbered_nodes(["s1", "s2"]), ((1, 2),) * count, capacity_mbps=10.0, delay_ms=1.0)
    return fan, TunnelCommodity(
        "s1", "s2", tuple((Direction("s1", "s2", key),) for key in range(count)), (1.0,) * count
    )


def test_as_many_tunnels_of_a_pair_as_numbers_are_planned_and_one_more_is_refused() -> None:
    fan, commodity = parallel(MAX_DSCP)
    _, dscps = planners(fan, (commodity,))
    assert sorted(dscps.labels.values()) == list(range(1, MAX_DSCP + 1))
    fan, commodity = parallel(MAX_DSCP + 1)
    with pytest.raises(PlanLimitError, match="the pair s1, s2 has more tunnels than the 31 that its tunnel field"):
        planners(fan, (commodity,))


def test_numbers_in_force_stay_and_are_given_to_no_other_path_and_no_step_of_a_replacement_loses_a_packet() -> None:
    scheme, t1, t2, t3 = find_tunnel_scheme("kuijia"), *figure1_traffic().paths
    first, second = (TunnelCommodity("s1", "s4", paths, (0.5, 0.5)) for paths in ((t1, t2), (t2, t3)))
    old = TunnelPlanner(scheme, figure1(), (first,), DSCP)
    new = TunnelPlanner(scheme, figure1(), (second,), DSCP, old.held())
    assert (old.labels, new.labels) == ({t1: 1, t2: 2}, {t2: 2, t3: 3})
    hosts = hosts_of(figure1())
    packet = Packet(hosts["s1"].ipv4, hosts["s4"].ipv4)
    for plans in (old.plans(), *replacement_steps(old.plans(), new.plans())):
        for slot in range(0, N_SLOTS, 11):
            assert cross(running(figure1(), plans), "s1", packet, slot, old.wiring.field).delivered_to == "s4"


def test_a_host_gets_clean_packets_whatever_the_sender_wrote_into_the_field() -> None:
    _, planner = planners(figure1(), (figure1_traffic(),))
    network, hosts = running(figure1(), planner.plans()), hosts_of(figure1())
    clean = Packet(hosts["s1"].ipv4, hosts["s4"].ipv4)
    for dscp, ecn in ((46, 0), (0, 1), (1, 2), (31, 3)):
        marked = replace(clean, ip_dscp=dscp, ip_ecn=ecn)
        sent = network.interpret(Hop("s1", HOST_PORT, marked)).outputs
        assert sent == network.interpret(Hop("s1", HOST_PORT, clean)).outputs
        assert sent[0][1] == replace(clean, ip_dscp=1)
    assert cross(network, "s1", clean, 0, planner.wiring.field).delivered_to == "s4"  # which compares with `clean`


NESTED = TunnelOptions(
    prefixes=(("s2", (parse_prefix("10.7.0.0/16"),)), ("s3", (parse_prefix("10.7.3.0/24"), parse_prefix("10.9.0.1")))),
    tunnel_field="dscp",
)


@pytest.mark.parametrize(
    ("source", "sender", "destination", "reached"),
    [
        ("10.0.0.1", "s1", "10.7.2.1", "s2"),
        ("10.0.0.1", "s1", "10.7.3.1", "s3"),
        ("10.0.0.1", "s1", "10.9.0.1", "s3"),
        ("10.7.9.9", "s2", "10.7.3.1", "s3"),
        ("10.7.3.9", "s3", "10.7.9.1", "s2"),
        ("10.7.3.9", "s2", "10.0.0.1", None),  # an address behind s3, though s2 has the prefix around it
        ("10.0.0.9", "s1", "10.7.2.1", None),  # an address behind no switch
        ("10.9.0.1", "s1", "10.7.2.1", None),
    ],
)
def test_the_longest_prefix_wins_at_both_ends_and_foreign_sources_are_dropped_where_they_enter(
    source: str, sender: str, destination: str, reached: str | None
) -> None:
    triangle = load_topology("ring:3")
    planner = TunnelPlanner(find_tunnel_scheme("te"), triangle, equal_commodities(triangle), NESTED)
    plans = planner.plans()
    assert [violations(plan) for plan in plans.values()] == [()] * 3
    packet = Packet(parse_prefix(source).ipv4, parse_prefix(destination).ipv4)
    for slot in (0, N_SLOTS - 1):
        seen = cross(running(triangle, plans), sender, packet, slot, planner.wiring.field)
        assert seen.delivered_to == reached
        assert bool(seen.links) == (reached is not None)


def test_all_hosts_of_a_prefix_are_reached_in_both() -> None:
    for planner in planners(figure1(), (figure1_traffic(),), FIGURE2_OPTIONS):
        switches = running(figure1(), planner.plans())
        for last, reached in ((0, "s4"), (255, "s4"), (256, None)):
            packet = Packet(parse_prefix("10.0.1.9").ipv4, parse_prefix("10.0.2.0").ipv4 + last)
            assert cross(switches, "s1", packet, 0, planner.wiring.field).delivered_to == reached


def test_a_transit_row_has_two_fields_more_than_one_by_label_and_a_last_row_one_action_more() -> None:
    """Both addresses; and two fields to clear where a label is popped at once."""
    counts = []
    for planner in planners(figure1(), (figure1_traffic(),)):
        rows = {
            plan.node: [row for row in plan.flows if row.table_id == Table.TE_TRANSIT]
            for plan in planner.plans().values()
        }
        counts.append([sorted({field_count(row) for row in rows[node]}) for node in ("s2", "s4")])
        assert [len(rows[node]) for node in ("s1", "s2", "s3", "s4")] == [6, 4, 4, 6]
    assert counts == [[[5], [6]], [[7], [9]]]


def test_a_host_with_a_mac_address_of_its_own_gets_clean_packets_too() -> None:
    _, planner = planners(figure1(), (figure1_traffic(),))
    plan, host = planner.plans()[4], hosts_of(figure1())["s4"]
    found = foreign_rows(plan, {host.ipv4: 0x020000000099})
    assert {row.table_id for row in found} == {Table.TE_TRANSIT}
    assert len(found) == 6
    cleared = {SetField("ip_dscp", 0), SetField("ip_ecn", 0), SetField("eth_dst", 0x020000000099)}
    assert all(cleared < set(row.apply_actions) for row in found)


def wrong_ecn(row: FlowRow) -> FlowRow:
    actions = (SetField("ip_ecn", 0) if action == SetField("ip_ecn", 3) else action for action in row.apply_actions)
    return replace(row, apply_actions=tuple(actions))


def wrong_queue(row: FlowRow) -> FlowRow:
    actions = (SetQueue(1) if isinstance(action, SetQueue) else action for action in row.apply_actions)
    return replace(row, apply_actions=tuple(actions)) if row.table_id == Table.TE_TRANSIT else row


@pytest.mark.parametrize("change", [wrong_ecn, wrong_queue])
def test_victims_without_their_tag_or_outside_their_queue_are_a_fault(change: object) -> None:
    _, planner = planners(figure1(), (figure1_traffic(),))
    sound = planner.plans

    def plans(failures: Failures = ()) -> dict[int, RulePlan]:
        return {
            dpid: replace(plan, flows=tuple(map(change, plan.flows)))  # type: ignore[call-overload]
            for dpid, plan in sound(failures).items()
        }

    planner.plans = plans  # type: ignore[method-assign]
    found = audit(planner, [[frozenset({figure1().parse_link("s2-s4")})]])
    assert found.faults
    assert "where ClassMarking(tc=1, queue_id=2) belongs" in found.faults[0]


def test_a_tag_is_read_as_it_is_written_and_no_other_value_is_one() -> None:
    field = DscpField({})
    for tc, ecn in ECN_OF_TC.items():
        assert field.read(Packet(ip_dscp=5, ip_ecn=ecn)) == ((5, tc),)
    assert [field.read(Packet(ip_dscp=5, ip_ecn=ecn)) for ecn in (1, 2)] == [(), ()]
    assert field.read(Packet()) == ()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"priorities": "eight"}, r"both tunnel and class \(priorities eight\)"),
        ({"notified_by": "agent"}, "agents notify each other by labels"),
        ({"tunnel_field": "vlan"}, "unknown tunnel_field 'vlan'; use one of mpls, dscp"),
    ],
)
def test_what_does_not_go_together_with_the_dscp_is_refused_in_one_sentence(wrong: dict[str, str], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        replace(DSCP, **wrong)  # type: ignore[arg-type]


def test_one_number_serves_different_pairs_on_the_same_link() -> None:
    """s1 to s3 and s2 to s3 in a line have tunnel 1 each, over s2-s3."""
    line = from_edges("line", numbered_nodes(["s1", "s2", "s3"]), ((1, 2), (2, 3)), capacity_mbps=10.0, delay_ms=1.0)
    ways = (path("s1", "s2", "s3"), path("s2", "s3"))
    commodities = tuple(TunnelCommodity(way[0].src, "s3", (way,), (1.0,)) for way in ways)
    _, planner = planners(line, commodities)
    assert set(planner.labels.values()) == {1}
    switches, hosts = running(line, planner.plans()), hosts_of(line)
    for way in ways:
        seen: Crossing = cross(
            switches, way[0].src, Packet(hosts[way[0].src].ipv4, hosts["s3"].ipv4), 0, planner.wiring.field
        )
        assert (seen.delivered_to, seen.links) == ("s3", way)
