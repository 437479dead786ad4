"""Counted streams, and claims about what schemes spare single packets and what controls must lose."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.counted import BIN_S, DatagramCount, TcpCount
from experiments.analysis.flows.iperf import retransmitted
from experiments.analysis.result import Claim, judge
from experiments.scenario.traffic.datagrams import Datagrams
from experiments.scenario.traffic.iperf3_tcp import Iperf3Tcp
from experiments.scenario.values import Control, Replay, Variation
from experiments.testbed.runs.loads import datagram_flows, rate_of
from ryu_apps.plan.protection import Protection
from tests.analysis.test_result import FAILURE_S, LINK, REPAIR_S, ZERO_S, always, flights, never, record

DATAGRAMS = Datagrams(LINK.a, LINK.b, rate_pps=1000.0)
TCP = Iperf3Tcp(LINK.a, LINK.b)
BINS = 80
SQR = Variation("sqr", "none", replay=Replay(("s1-s2",)))
PROTECT = Variation("protect", "none", protection=Protection())


def datagrams(lost_bins: range = range(0), *, duplicated: int = 0, reordered: int = 0) -> DatagramCount:
    """A hundred datagrams in every tenth of a second; those of some bins are lost."""
    arrived = tuple(0 if number in lost_bins else 100 for number in range(BINS))
    return DatagramCount(DATAGRAMS, 1000.0, ZERO_S, (100,) * BINS, arrived, duplicated, reordered)


def claims(variation: Variation, *, promise=always, controls: tuple[Control, ...] = (), **changes) -> list[Claim]:
    made = record(range(0), variation=variation, **changes)
    return list(judge(replace(made, scenario=replace(made.scenario, controls=controls)), promise).claims)


def held(found: list[Claim], words: str) -> list[bool]:
    return [claim.held for claim in found if words in claim.name]


@pytest.mark.parametrize(
    ("variation", "counted", "kept"),
    [
        (SQR, datagrams(), True),
        (SQR, datagrams(duplicated=30), True),
        (SQR, datagrams(reordered=1), False),
        (SQR, datagrams(range(5, 6)), False),
        (PROTECT, datagrams(), True),
        (PROTECT, datagrams(reordered=1), True),
        (PROTECT, datagrams(duplicated=1), False),
        (Variation("lossless", "learned", replay=Replay(("s1-s2",))), datagrams(reordered=5), True),
        (Variation("lossless", "learned", replay=Replay(("s1-s2",))), datagrams(range(1)), False),
    ],
)
def test_datagrams_are_spared_what_the_scheme_says(variation: Variation, counted: DatagramCount, kept: bool) -> None:
    assert held(claims(variation, datagrams=(counted,)), "datagrams loses nothing") == [kept]


@pytest.mark.parametrize(("retransmits", "kept"), [(0, True), (1, False), (None, False)])
def test_tcp_must_retransmit_nothing_under_protection_and_sqr(retransmits: int | None, kept: bool) -> None:
    for variation in (SQR, PROTECT):
        assert held(claims(variation, tcp=(TcpCount(TCP, retransmits),)), "sends nothing again") == [kept]
    plain = Variation("shortest", "none")
    assert not held(claims(plain, tcp=(TcpCount(TCP, retransmits),)), "sends nothing again")


def test_an_variant_is_promised_nothing_but_must_lose() -> None:
    variant = replace(SQR, variant="small-ring")
    control = Control("sqr", "small-ring", variant.replay, packets=100)
    for lost_bins, loses in ((range(10, 12), True), (range(0), False)):
        found = claims(variant, controls=(control,), datagrams=(datagrams(lost_bins),))
        assert held(found, "loses at least 100 packets") == [loses]
        assert not held(found, "loses nothing")
    assert not held(claims(SQR, controls=(control,), datagrams=(datagrams(),)), "loses at least")


def test_what_is_lost_is_compared_with_what_was_sent_while_nothing_was_promised() -> None:
    plain = Variation("shortest", "none")
    first, last = (round((edge - ZERO_S) / BIN_S) for edge in (FAILURE_S, REPAIR_S))
    whole = record(range(150, 350)).streams

    def promise(_source: str, _destination: str, down: frozenset) -> bool:
        return LINK not in down

    def judged(low: float, high: float, bins: range) -> list[bool]:
        control = Control("shortest", outage_percent=(low, high))
        found = claims(
            plain, promise=promise, controls=(control,), datagrams=(datagrams(bins),),
            streams=(replace(whole[0], flights=(whole[0].flights[0], ())),),
        )  # fmt: skip
        return held(found, "outage")

    assert judged(99, 101, range(first, last)) == [True]
    assert judged(99, 101, range(first, last - 2)) == [False]
    assert judged(50, 98, range(first, last)) == [False]


def test_an_outage_without_any_packet_meets_no_control() -> None:
    control = Control("shortest", outage_percent=(50, 150))
    found = claims(Variation("shortest", "none"), promise=always, controls=(control,))
    assert held(found, "outage") == [False]
    sure = claims(Variation("shortest", "none"), promise=never, controls=(control,), streams=())
    assert held(sure, "outage") == [False]


@given(st.lists(st.integers(0, 50), max_size=20), st.floats(0, 3), st.floats(0, 3))
def test_what_was_sent_in_two_neighbouring_spans_adds_up(sent: list[int], one: float, other: float) -> None:
    counted = DatagramCount(DATAGRAMS, 1.0, 0.0, tuple(sent), tuple(sent))
    first, last = sorted((one, other))
    parts = counted.sent_while([(0.0, first), (first, last)])
    assert parts == pytest.approx(counted.sent_while([(0.0, last)]))
    assert counted.sent_while([(0.0, 10.0)]) == pytest.approx(counted.counts.sent)


def test_counts_of_a_run_have_datagrams_among_them() -> None:
    value = json.loads(json.dumps(judge(record(range(0), datagrams=(datagrams(range(2)),)), always).to_json()))
    assert value["sent"] == value["received"] + value["lost"] == 2 * len(flights(range(0))) - 100 + 100 * BINS
    assert value["lost"] == 200
    (load,) = value["loads"]
    assert load["sent"] == load["received"] + load["lost"]


def test_retransmitted_segments_count_from_a_second_on() -> None:
    intervals = [{"sum": {"start": n, "end": n + 1, "retransmits": n}} for n in range(4)]
    assert retransmitted(json.dumps({"intervals": intervals}), 2.0) == 2 + 3
    assert retransmitted(json.dumps({"intervals": intervals}), 0.0) == 6
    assert retransmitted(json.dumps({"error": "unable to connect", "intervals": []}), 0.0) is None
    assert retransmitted("", 0.0) is None


def test_a_datagram_stream_becomes_a_flow_of_its_rate_and_size() -> None:
    (flow,) = datagram_flows([replace(DATAGRAMS, size_bytes=700, start_s=2.0)])
    assert (flow.source, flow.destination, flow.datagram_bytes, flow.start_s) == (LINK.a, LINK.b, 700, 2.0)
    assert rate_of(flow) == pytest.approx(1000)
