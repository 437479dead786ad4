"""Streams through plans and buffered packets: what is promised holds, and each thing that it rests on is missed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.marking import Marking
from experiments.cli.main import main
from experiments.verify.streams.buffered_network import BufferedNetwork, PacketBuffer, StreamOutcome, Timing
from experiments.verify.streams.buffering import AGENT_TICKS, BufferingResult, verify_buffering
from experiments.verify.walk.dynamics import dynamics_of
from mininet_topos import generators
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import Priority
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.walk import Network
from ryu_apps.schemes import find_scheme, plan_network
from tests.examples import examples

VARIANTS = (("sqr", "learned"), ("lossless", "learned"), ("lossless", "agent"))


def singles(topology: Topology) -> list[frozenset[LinkId]]:
    return [frozenset([link]) for link in topology.link_ids]


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "mode"), VARIANTS)
@pytest.mark.parametrize("name", ["square", "theta", "parallel", "figure2"])
def test_small_networks_lose_nothing_that_is_promised(name: str, scheme: str, mode: str) -> None:
    topology = load_topology(name)
    result = verify_buffering(topology, find_scheme(scheme), PlanOptions(mode=mode), singles(topology))
    assert result.holds
    assert result.cases == result.delivered + result.disconnected + result.dropped + result.looped
    assert result.promised > 0
    if scheme == "lossless":
        assert result.dropped == result.lost == 0
        assert result.promised == result.cases - result.disconnected


@examples(8)
@given(st.integers(3, 6), st.integers(0, 4), st.integers(0, 10_000), st.sampled_from(VARIANTS))
def test_random_networks_lose_nothing_that_is_promised(
    nodes: int, extra: int, seed: int, variant: tuple[str, str]
) -> None:
    links = min(nodes - 1 + extra, nodes * (nodes - 1) // 2)
    topology = generators.random_connected("random", nodes, links, seed)
    scheme, mode = variant
    assert verify_buffering(topology, find_scheme(scheme), PlanOptions(mode=mode), singles(topology)).holds


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["learned", "agent"])
def test_two_links_at_once_lose_nothing_where_both_are_planned(mode: str) -> None:
    topology = load_topology("theta")
    first, *others = topology.link_ids
    pairs = [frozenset([first, other]) for other in others]
    result = verify_buffering(topology, find_scheme("lossless"), PlanOptions(mode=mode, max_failures=2), pairs)
    assert result.holds
    assert result.promised > 0
    assert result.lost == 0


@pytest.mark.parametrize(
    "packet_buffer",
    [PacketBuffer(delta=1), PacketBuffer(slots=1), PacketBuffer(delta=1, slots=1)],
    ids=["delta shorter than the detection", "ring too small", "both"],
)
@pytest.mark.parametrize(("scheme", "mode"), VARIANTS)
def test_too_little_kept_breaks_the_promise(scheme: str, mode: str, packet_buffer: PacketBuffer) -> None:
    topology = load_topology("square")
    if mode == "agent":
        packet_buffer = replace(packet_buffer, reconfiguration=AGENT_TICKS)
    result = verify_buffering(
        topology, find_scheme(scheme), PlanOptions(mode=mode), singles(topology), packet_buffer=packet_buffer
    )
    assert not result.holds
    assert result.lost > 0
    assert result.examples


def test_giving_back_before_the_agent_has_its_rows_breaks_the_promise() -> None:
    topology = load_topology("square")
    options = PlanOptions(mode="agent")
    early = PacketBuffer(reconfiguration=AGENT_TICKS - 1)
    assert not verify_buffering(
        topology, find_scheme("lossless"), options, singles(topology), packet_buffer=early
    ).holds
    late = PacketBuffer(reconfiguration=AGENT_TICKS + 3)
    assert verify_buffering(topology, find_scheme("lossless"), options, singles(topology), packet_buffer=late).holds


def send(topology: Topology, kept: tuple[str, ...], *, without_replay_rows: bool = False) -> StreamOutcome:
    """A stream from s1 to s3 of a square under scheme sqr, whose first link fails."""
    plans = plan_network("sqr", topology, PlanOptions(replayed=kept))
    if without_replay_rows:
        plans = {dpid: replace(plan, flows=keep(plan.flows)) for dpid, plan in plans.items()}
    healthy = Network(topology, plans, dynamics_of("none", plans))
    hosts = hosts_of(topology)
    packet = Packet(hosts["s1"].ipv4, hosts["s3"].ipv4)
    failed = frozenset([topology.parse_link("s1-s2")])
    return BufferedNetwork(healthy, healthy.with_failed(failed), kept, PacketBuffer()).send("s1", packet, Timing(4))


def keep(flows: tuple) -> tuple:
    return tuple(row for row in flows if row.priority != Priority.REPLAY)


def test_what_is_kept_is_what_saves_packets() -> None:
    topology = load_topology("square")
    link = "s1-s2"
    assert send(topology, (link,)).lost == 0
    assert send(topology, ()).lost > 0
    assert send(topology, (link,), without_replay_rows=True).lost > 0


def test_a_stream_that_meets_no_failure_arrives_once_and_in_order() -> None:
    topology = load_topology("square")
    plans = plan_network("lossless", topology, PlanOptions(replayed=("s1-s2",)))
    healthy = Network(topology, plans, dynamics_of("learned", plans))
    hosts = hosts_of(topology)
    stream_outcome = BufferedNetwork(healthy, healthy, ("s1-s2",), PacketBuffer()).send(
        "s1", Packet(hosts["s1"].ipv4, hosts["s3"].ipv4), Timing(4)
    )
    assert stream_outcome.came == list(range(stream_outcome.sent))
    assert (
        stream_outcome.lost,
        stream_outcome.duplicated,
        stream_outcome.reordered,
        stream_outcome.crankback_path,
    ) == (
        0,
        0,
        0,
        0,
    )


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), max_size=4))
def test_packet_counts_of_a_stream_outcome_add_up(order: list[int], again: list[int]) -> None:
    stream_outcome = StreamOutcome(8, [*order, *again])
    assert stream_outcome.lost == 2
    assert stream_outcome.duplicated == len(again)
    assert (stream_outcome.reordered == 0) == (list(order) == sorted(order))


@pytest.mark.parametrize("keeps_order", [True, False])
def test_a_reordered_packet_breaks_the_promise_of_a_scheme_that_keeps_the_order(keeps_order: bool) -> None:
    result = BufferingResult("square", 1, keeps_order=keeps_order)
    result.add(StreamOutcome(2, [1, 0]), "s1 to s3", promised=True, joined=True)
    assert result.holds is not keeps_order


def test_the_command_knows_the_schemes_and_tells_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "lossless", "square", "--mode", "agent"]) == 0
    text = capsys.readouterr().out
    assert "lossless on square, agent mode" in text
    assert "the promise holds" in text


MARKINGS = [Marking(dscp=(46,)), Marking(tcp_ports=(443,)), Marking(vlans=(7,))]


@pytest.mark.parametrize("marked", MARKINGS, ids=str)
@pytest.mark.parametrize(("scheme", "mode"), VARIANTS)
def test_marked_packets_lose_nothing_that_is_promised_and_others_may(scheme: str, mode: str, marked: Marking) -> None:
    topology, options = load_topology("theta"), PlanOptions(mode=mode, marked=marked)
    if scheme == "lossless" and marked.vlans:
        with pytest.raises(BadInputError, match="VLAN ids"):
            verify_buffering(topology, find_scheme(scheme), options, singles(topology))
        return
    plain = verify_buffering(topology, find_scheme(scheme), replace(options, marked=Marking()), singles(topology))
    result = verify_buffering(topology, find_scheme(scheme), options, singles(topology))
    assert result.holds
    assert (result.cases, result.sent, result.lost) == (plain.cases, plain.sent, plain.lost)
    assert result.unmarked_lost > result.lost
    assert result.unmarked_lost < result.unmarked_sent


def test_the_marking_of_the_rings_is_what_saves_marked_packets() -> None:
    topology, options = load_topology("square"), PlanOptions(marked=Marking(dscp=(46,)))
    for scheme in ("sqr", "lossless"):
        short = PacketBuffer(delta=1)
        result = verify_buffering(topology, find_scheme(scheme), options, singles(topology), packet_buffer=short)
        assert not result.holds
