"""Ternary 5-tuples of protected flows: ranges as masks, the first match, conflicts, packets through the rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.flow_match import ANY_PORT, FiveTuple, FlowMatch, PortRange, covers, matches, overlaps
from experiments.verify.streams.protection import fields_of, packet_of, samples_of, verify_protect
from mininet_topos import toy
from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, assign_ports
from ryu_apps.plan.check import violations
from ryu_apps.plan.fields import IP_TCP, IP_UDP
from ryu_apps.plan.ids import PROTECT_PORT, VLAN_PRESENT
from ryu_apps.plan.interpret import SwitchModel, interpret_switch
from ryu_apps.plan.masked_blocks import masked_blocks
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.protect.document import flow_to_data, read_flows
from ryu_apps.plan.protect.plan import MOST_ROWS, flow_matches
from ryu_apps.plan.protection import (
    MOST_RANKS,
    ProtectedFlow,
    Protection,
    first_match,
    flow_text,
    protection_of,
    ranks_of,
    with_flow,
    without_flow,
)
from ryu_apps.schemes import find_scheme, plan_network
from tests.examples import examples

SQUARE = toy.square()
PROTECT = find_scheme("protect")
PORTS = (0, 1, 79, 80, 81, 4095, 4096, 5000, 5007, 5008, 65534, 65535)
WIDE = IPv4Network("10.0.0.0/29")


def ranges() -> st.SearchStrategy[PortRange]:
    def ordered(ends: tuple[int, int]) -> PortRange:
        return PortRange(min(ends), max(ends))

    return st.just(ANY_PORT) | st.tuples(st.sampled_from(PORTS), st.sampled_from(PORTS)).map(ordered)


@st.composite
def flows_from_s1(draw: st.DrawFn) -> ProtectedFlow:
    protocol = draw(st.sampled_from((None, IP_TCP, IP_UDP)))
    ports = (ANY_PORT, ANY_PORT) if protocol is None else (draw(ranges()), draw(ranges()))
    destination = draw(st.sampled_from(("s2", "s3", "s4")))
    prefix = draw(st.sampled_from((None, None, WIDE, IPv4Network("0.0.0.0/0"))))
    return ProtectedFlow("s1", destination, protocol, *ports, destination_prefix=prefix)


def five_tuples() -> st.SearchStrategy[FiveTuple]:
    hosts = [IPv4Address(f"10.0.0.{number}") for number in (2, 3, 4)]
    ports = st.sampled_from(PORTS) | st.integers(0, 65535)
    source = st.just(IPv4Address("10.0.0.1"))
    return st.builds(FiveTuple, source, st.sampled_from(hosts), st.sampled_from((IP_TCP, IP_UDP)), ports, ports)


def protected_as_far_as_possible(flows: list[ProtectedFlow]) -> Protection:
    """Protection of the flows that conflict with none before them and fit a switch."""
    protection = Protection()
    for flow in flows:
        with suppress(BadInputError):
            flow_matches(SQUARE, flow, HOST_PORT)
            protection = with_flow(protection, flow, SQUARE)
    return protection


@given(st.integers(0, 65535), st.integers(0, 65535), st.lists(st.integers(0, 65535), max_size=50))
def test_masks_of_a_range_cover_exactly_the_range_and_each_port_once(one: int, other: int, ports: list[int]) -> None:
    first, last = min(one, other), max(one, other)
    blocks = masked_blocks(first, last + 1, 65536)
    edges = {max(0, first - 1), first, last, min(65535, last + 1)}
    for port in (*edges, *ports):
        assert sum(port & mask == value for value, mask in blocks) == (first <= port <= last)
    assert sum(65536 - mask for _, mask in blocks) == last + 1 - first  # 2^16 - mask is the size of a block
    assert len(blocks) <= 30


@given(flows_from_s1(), flows_from_s1(), five_tuples())
def test_overlap_and_cover_are_what_packets_say(one: ProtectedFlow, other: ProtectedFlow, packet: FiveTuple) -> None:
    first, second = (
        FlowMatch(
            destination=flow.destination_prefix or WIDE,
            protocol=flow.protocol,
            source_ports=flow.source_ports,
            destination_ports=flow.destination_ports,
        )
        for flow in (one, other)
    )
    assert overlaps(first, second) == overlaps(second, first)
    if matches(first, packet) and matches(second, packet):
        assert overlaps(first, second)
    if covers(first, second) and matches(second, packet):
        assert matches(first, packet)
    if covers(first, second) and covers(second, first):
        assert first == second


@examples(40)
@given(st.lists(flows_from_s1(), max_size=6), st.lists(five_tuples(), min_size=1, max_size=20))
def test_rows_give_each_packet_to_the_first_flow_that_matches(
    flows: list[ProtectedFlow], packets: list[FiveTuple]
) -> None:
    protection = protected_as_far_as_possible(flows)
    plan = plan_network("protect", SQUARE, PlanOptions(protection=protection))[1]
    own = {port for node, port in assign_ports(SQUARE).direction_at if node == "s1"} | {HOST_PORT, PROTECT_PORT}
    assert violations(plan, own) == ()
    model = SwitchModel(plan)
    edges = [packet for flow in protection.flows for _, packet in samples_of(flow, protection, SQUARE)]
    for packet in (*packets, *edges):
        flow = first_match(protection, "s1", packet, SQUARE)
        found = interpret_switch(model, fields_of(packet_of(packet, 0), 0), HOST_PORT, frozenset()).outputs
        ((port, leaving, _),) = found
        if flow is None:
            assert port != PROTECT_PORT
        else:
            slot = protection.connection(flow, ("s1", flow.destination), SQUARE).slot
            assert (port, leaving.vlan_tci & 0xFFF) == (PROTECT_PORT, slot)
            assert leaving.vlan_tci & VLAN_PRESENT


@examples(15)
@given(st.lists(flows_from_s1(), min_size=1, max_size=5))
def test_packets_of_ternary_flows_arrive_once_whatever_link_fails(flows: list[ProtectedFlow]) -> None:
    protection = protected_as_far_as_possible(flows)
    failed = [frozenset([link]) for link in SQUARE.link_ids]
    result = verify_protect(PROTECT, SQUARE, protection.flows, failed)
    assert result.holds, result.examples
    assert (result.looped, result.duplicated, result.dropped) == (0, 0, 0)


def test_the_verifier_sees_a_row_that_gives_a_packet_to_no_flow() -> None:
    flow = ProtectedFlow("s1", "s3", IP_UDP, destination_ports=PortRange(5000, 5010))
    plans = plan_network("protect", SQUARE, PlanOptions(protection=protection_of(SQUARE, [flow])))
    rows = [row for row in plans[1].flows if ("udp_dst", 5010, None) not in row.match]
    assert len(rows) == len(plans[1].flows) - 1
    short = {**plans, 1: replace(plans[1], flows=tuple(rows))}
    failed = [frozenset([link]) for link in SQUARE.link_ids]
    assert not verify_protect(PROTECT, SQUARE, [flow], failed, planned=short).holds


def test_a_narrow_flow_before_a_wide_one_stands_above_it_and_the_others_beside_it() -> None:
    narrow, wide = ProtectedFlow("s1", "s3", IP_TCP, destination_ports=PortRange(1, 99)), ProtectedFlow("s1", "s3")
    beside = ProtectedFlow("s1", "s2")
    protection = protection_of(SQUARE, [narrow, beside, wide])
    assert ranks_of(protection, SQUARE) == (0, 0, 1)
    assert ranks_of(without_flow(protection, narrow, SQUARE), SQUARE) == (0, 0)


def test_a_chain_of_overlaps_has_an_end_that_is_named() -> None:
    ports = [PortRange(number, number + 1) for number in range(1, MOST_RANKS + 2)]
    flows = tuple(ProtectedFlow("s1", "s3", IP_UDP, source_ports=each) for each in ports)
    assert ranks_of(Protection(flows[:-1]), SQUARE)[-1] == MOST_RANKS - 1
    with pytest.raises(BadInputError, match="overlaps a chain of 256 flows before it"):
        ranks_of(Protection(flows), SQUARE)


def test_ternary_flows_are_read_both_ways_and_written_back() -> None:
    entry = {"from": "h1", "to": "h3", "to_prefix": "10.0.0.0/29", "protocol": "tcp", "to_port": "8000-8099"}
    there, back = read_flows([entry], SQUARE)
    assert flow_text(there) == "s1 to s3, to 10.0.0.0/29, tcp to port 8000-8099"
    assert flow_text(back) == "s3 to s1, from 10.0.0.0/29, tcp from port 8000-8099"
    assert read_flows([flow_to_data(flow, SQUARE) for flow in (there, back)], SQUARE) == (there, back)


def test_a_range_takes_the_fewest_rows_and_two_that_take_too_many_are_refused() -> None:
    flow = ProtectedFlow("s1", "s3", IP_TCP, destination_ports=PortRange(8000, 8099))
    assert len(flow_matches(SQUARE, flow, HOST_PORT)) == 3
    worst = replace(flow, source_ports=PortRange(1, 65534), destination_ports=PortRange(1, 65534))
    with pytest.raises(BadInputError, match=f"takes 900 rows in a switch, and {MOST_ROWS} are allowed"):
        flow_matches(SQUARE, worst, HOST_PORT)


def test_two_flows_that_would_exchange_packets_for_ever_are_refused() -> None:
    anywhere = IPv4Network("0.0.0.0/0")
    one = ProtectedFlow("s1", "s2", via=("s1", "s3", "s2"), source_prefix=anywhere, destination_prefix=anywhere)
    other = replace(one, source="s4", destination="s3", via=("s4", "s2", "s3"))
    with pytest.raises(BadInputError, match=r"would protect packets of flow .* again at s2; narrow its prefixes"):
        protection_of(SQUARE, [one, other])
