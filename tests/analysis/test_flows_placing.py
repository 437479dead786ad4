"""Where flows go by their slots, the flows that stand for a pair's traffic, and what programs print."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.flows.aggregates import aggregate_flows
from experiments.analysis.flows.iperf import Interval, client_words, parse_line, server_words, to_bins, zero_of
from experiments.analysis.flows.placing import place, wanted_slots
from experiments.scenario.flow_values import Flow
from experiments.testbed.traffic.ports import packet_of, slot_of
from experiments.testbed.traffic.udp_receiver import Count
from experiments.testbed.traffic.udp_sender import HEADER
from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.topology import Direction, LinkId, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.schemes import find_tunnel_scheme

FAILURE = (frozenset({LinkId("s2", "s4", 0)}),)


def square() -> Topology:
    nodes = numbered_nodes(["s1", "s2", "s3", "s4"])
    return from_edges("square", nodes, ((1, 2), (2, 4), (1, 4), (1, 3), (3, 4)), capacity_mbps=10.0, delay_ms=1.0)


def path(*nodes: int) -> tuple[Direction, ...]:
    return tuple(Direction(f"s{a}", f"s{b}", 0) for a, b in pairwise(nodes))


# The tunnel over s2, which fails, stands in the middle of the slots.
PATHS = (path(1, 4), path(1, 2, 4), path(1, 3, 4))
EQUAL = TunnelCommodity("s1", "s4", PATHS, (1 / 3, 1 / 3, 1 / 3))


def planner(scheme: str, commodity: TunnelCommodity = EQUAL, priorities: str = "single") -> TunnelPlanner:
    return TunnelPlanner(find_tunnel_scheme(scheme), square(), (commodity,), TunnelOptions(priorities))


@pytest.mark.parametrize("scheme", ["kuijia", "rescaling"])
@pytest.mark.parametrize(("tunnel", "moves_to"), [(1, 0), (1, 2), (0, None), (2, None)])
def test_a_slot_that_is_wanted_puts_the_flow_where_it_is_meant_to_be(scheme: str, tunnel: int, moves_to: int) -> None:
    flow = Flow("f", "s1", "s4", tunnel=tunnel, moves_to=moves_to)
    made = planner(scheme)
    for slot in wanted_slots(made, flow, FAILURE):
        placed = place(made, flow, slot, 30000, FAILURE)
        assert placed.before == PATHS[tunnel]
        assert placed.after == PATHS[tunnel if moves_to is None else moves_to]


def test_only_kuijia_s_victims_change_their_queue() -> None:
    for scheme, expected in (("kuijia", {1: 2, 0: 1}), ("rescaling", {1: 1, 0: 1})):
        made = planner(scheme)
        for tunnel, queue in expected.items():
            flow = Flow("f", "s1", "s4", tunnel=tunnel)
            placed = place(made, flow, wanted_slots(made, flow, FAILURE)[0], 1, FAILURE)
            assert (placed.queue_before, placed.queue_after) == (1, queue)


def test_flows_without_a_survivor_are_dropped_and_te_moves_nobody() -> None:
    alone = TunnelCommodity("s1", "s4", PATHS[1:2], (1.0,))
    flow = Flow("f", "s1", "s4", tunnel=0)
    lost = place(planner("kuijia", alone), flow, wanted_slots(planner("kuijia", alone), flow, FAILURE)[0], 1, FAILURE)
    assert lost.after == ()
    kept = place(planner("te"), flow, 0, 1, FAILURE)
    assert kept.before == kept.after


def test_a_move_that_the_scheme_never_makes_is_refused() -> None:
    """By contiguous ranges, rescaling gives all slots of the first tunnel to the second."""
    first = TunnelCommodity("s1", "s4", (PATHS[1], PATHS[0], PATHS[2]), (1 / 3, 1 / 3, 1 / 3))
    flow = Flow("f", "s1", "s4", tunnel=0, moves_to=2)
    with pytest.raises(BadInputError, match="moves no slot of it there"):
        wanted_slots(planner("rescaling", first), flow, FAILURE)
    assert wanted_slots(planner("kuijia", first), flow, FAILURE)


def test_a_flow_whose_next_tunnel_fails_as_well_may_move_to_any() -> None:
    failed = (frozenset({LinkId("s2", "s4", 0), LinkId("s1", "s4", 0)}),)
    flow, made = Flow("f", "s1", "s4", tunnel=1, moves_to=0), planner("kuijia")
    assert place(made, flow, wanted_slots(made, flow, failed)[0], 1, failed).after == PATHS[2]


def test_flows_without_tunnels_or_of_an_unknown_class_are_refused() -> None:
    with pytest.raises(BadInputError, match="no tunnels lead from s2 to s3"):
        wanted_slots(planner("kuijia"), Flow("f", "s2", "s3"), FAILURE)
    with pytest.raises(BadInputError, match="of class 'high'"):
        wanted_slots(planner("kuijia", priorities="four"), Flow("f", "s1", "s4", priority="lo"), FAILURE)
    with pytest.raises(BadInputError, match="tunnel 7"):
        wanted_slots(planner("kuijia"), Flow("f", "s1", "s4", tunnel=7), FAILURE)


def test_a_class_is_known_by_its_dscp() -> None:
    flow = Flow("f", "s1", "s4", priority="high")
    assert place(planner("kuijia", priorities="four"), flow, 0, 1, FAILURE).dscp == 26


def test_aggregates_of_the_paper_s_example() -> None:
    """300 Mbit/s, weights 0.5, 0.3, 0.2: tunnel 1 carries 90 and 60 (Kuijia section 5.1)."""
    commodity = TunnelCommodity("s1", "s4", PATHS, (0.5, 0.3, 0.2))
    flows = aggregate_flows([commodity], {("s1", "s4", 1): 300.0}, "tcp")
    assert [round(flow.offered_mbps or 0, 6) for flow in flows[:2]] == [90, 60]
    assert [(flow.tunnel, flow.moves_to) for flow in flows[:2]] == [(0, 1), (0, 2)]
    assert len(flows) == 6
    assert len({flow.port for flow in flows}) == len({flow.name for flow in flows}) == 6


@given(st.lists(st.floats(0.05, 1), min_size=1, max_size=3), st.floats(1, 1000))
def test_aggregates_sum_to_what_was_granted(weights: list[float], granted: float) -> None:
    shares = tuple(weight / sum(weights) for weight in weights)
    commodity = TunnelCommodity("s1", "s4", PATHS[: len(weights)], shares)
    flows = aggregate_flows([commodity], {("s1", "s4", 1): granted}, "udp", smallest_mbps=0.0)
    sums = [sum(flow.offered_mbps or 0 for flow in flows if flow.tunnel == number) for number in range(len(shares))]
    left_out = 0.011 * granted * 2 * len(shares)
    assert sums == pytest.approx([granted * share for share in shares], abs=left_out)


def test_pairs_without_traffic_have_no_flows() -> None:
    assert aggregate_flows([EQUAL], {}, "tcp") == ()


SERVER = """-----------------------------------------------------------
Server listening on 20000 (test #1)
-----------------------------------------------------------
Accepted connection from 10.0.0.1, port 41000
[  5] local 10.0.0.4 port 20000 connected to 10.0.0.1 port 30000
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-0.10   sec  84.8 KBytes  6947 Kbits/sec
[  5]   0.10-0.20   sec  0.00 Bytes  0.00 Kbits/sec
[  5]   0.00-2.04   sec  17.2 MBytes  70900 Kbits/sec                  receiver
"""
CLIENT = """[  5] local 10.0.0.1 port 30000 connected to 10.0.0.4 port 20000
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  8.55 MBytes  71641 Kbits/sec    3    230 KBytes
[  5]   1.00-2.00   sec  8.62 MBytes  72284 Kbits/sec    0   1.02 MBytes
"""


def test_what_iperf3_prints_is_read_and_its_sums_are_not() -> None:
    server = [interval for line in SERVER.splitlines() if (interval := parse_line(line))]
    assert server == [Interval(0.0, 0.1, 6.947), Interval(0.1, 0.2, 0.0)]
    client = [interval for line in CLIENT.splitlines() if (interval := parse_line(line))]
    assert [interval.retransmits for interval in client] == [3, 0]


def test_the_zero_of_iperf3_is_the_earliest_that_its_lines_allow() -> None:
    lines = [(10.15, Interval(0.0, 0.1, 1.0)), (10.21, Interval(0.1, 0.2, 1.0)), (10.9, Interval(0.2, 0.3, 1.0))]
    assert zero_of(lines) == pytest.approx(10.01)
    assert zero_of([]) is None


@given(st.lists(st.tuples(st.floats(0.01, 0.5), st.floats(0, 10)), max_size=20), st.floats(0, 1))
def test_bins_hold_every_bit_of_the_intervals(pieces: list[tuple[float, float]], late: float) -> None:
    intervals, at = [], 0.0
    for length, mbps in pieces:
        intervals.append(Interval(at, at + length, mbps))
        at += length
    bins = to_bins(intervals, 5.0 + late, 5.0, 150)
    total = sum(mbps * length for length, mbps in pieces)
    assert sum(bins) * 0.1 == pytest.approx(total, abs=1e-6)


def test_commands_pace_by_the_socket_and_name_their_ports() -> None:
    flow = Flow("f", "s1", "s4", offered_mbps=4.0, port=20007)
    words = client_words(flow, "10.0.0.4", 30123, 26, 12.4)
    assert words[words.index("--fq-rate") + 1] == "4000000"
    assert words[words.index("--cport") + 1] == "30123"
    assert words[words.index("--dscp") + 1] == "26"
    assert "-b" not in words
    assert "--fq-rate" not in client_words(Flow("f", "s1", "s4"), "10.0.0.4", 1, 0, 3)
    assert server_words(flow, "10.0.0.4")[-5:] == ("-i", "0.1", "-f", "k", "--forceflush")


def test_a_slot_is_register_0_of_the_final_flow() -> None:
    said = "Flow: tcp\n\nbridge\n 0. goto\n\nFinal flow: mpls,reg0=0x155,reg1=0x20,in_port=1\nMegaflow: recirc_id=0\n"
    assert slot_of(said) == 0x155
    assert slot_of("Final flow: mpls,reg1=0x20\n") == 0
    with pytest.raises(ArmorError, match="no such bridge"):
        slot_of("no such bridge")


def test_a_packet_to_trace_names_what_the_hash_reads() -> None:
    said = packet_of(hosts_of(square()), Flow("f", "s1", "s4", "udp", 1.0, port=20001), 30001, 26)
    assert said == ("in_port=1,udp,nw_src=10.0.0.1,nw_dst=10.0.0.4,nw_ttl=64,nw_tos=104,udp_src=30001,udp_dst=20001")


def test_the_receiver_counts_each_datagram_once_in_the_bin_in_which_it_was_sent() -> None:
    count = Count(3)
    for number, sent_in, came_s in ((0, 0, 0.05), (2, 0, 0.1), (1, 0, 0.15), (1, 0, 0.2), (3, 1, 0.9)):
        count.add(HEADER.pack(number, sent_in).ljust(100, b"\0"), came_s)
    assert count.to_json() == {
        "received": [100, 200, 100],
        "arrived": [3, 1, 0],
        "duplicated": 1,
        "reordered_s": [0.15],
    }
