"""Rows of trials: each on flights whose outcome is known, and laws that hold for any flights."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.datagrams import Datagram
from experiments.analysis.injected import Action, InjectedEvent
from experiments.analysis.packet_counts import Flight, Sighting, Way
from experiments.analysis.probes import ProbeId
from experiments.analysis.record import Record, Stream
from experiments.analysis.timeline import Window
from experiments.campaign.kinds.probed import WatchedParameters
from experiments.campaign.values import Load, Timing, Trial, Variant
from experiments.scenario.traffic.ping import Ping
from experiments.testbed.trials.decide.row import (
    PACKET_MEASURES,
    PHASES,
    PairFacts,
    Seen,
    backtracking,
    backtracking_rtt_ms,
    network_row,
    phase_windows,
)
from experiments.testbed.trials.decide.scenario import scenario_of
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import Direction
from ryu_apps.plan.ids import Status

SQUARE = load_topology("square")
LINK = SQUARE.link_ids[0]
OUT, BACK = Direction(*LINK), Direction(LINK.b, LINK.a, LINK.key)
PAIR = (LINK.a, LINK.b)
TIMING = Timing(1.5, 1.0, 2.0)
FAILURE_S, PACE_S = 100.0, 0.01
PROBE = ProbeId(1, 2, "ping", False, 0)


def trial(failures=1, pairs=(PAIR,)):
    load = Load(pings=True, ping_interval_ms=10, udp_mbps=None, download_bytes=None, capacity_mbps=5)
    links = tuple(str(link) for link in SQUARE.link_ids[:failures])
    return Trial("t", "mixed", "square", Variant("cb"), 1, failures, links, pairs, load, TIMING, 1, WatchedParameters())


def flights(lost=(), turned=(), delay_s=0.001):
    """A packet every 10 ms over the whole trial; number 150 leaves right after the failure."""
    flights = []
    for number in range(450):
        sent_s = FAILURE_S - 1.5 + number * PACE_S + 1e-6
        hops = [Sighting(sent_s + 0.0002, OUT, PROBE, 0)]
        if number in turned:
            hops.append(Sighting(sent_s + 0.0005, BACK, PROBE, Status.CRANKBACK))
        arrivals_s = () if number in lost else (sent_s + delay_s,)
        flights.append(Flight(number, sent_s, arrivals_s, tuple(hops)))
    return tuple(flights)


def seen(out, back=None, *, failures=1, datagrams=(), joined=True, detected_s=(FAILURE_S + 0.04,)):
    made = trial(failures)
    scenario = scenario_of(made, SQUARE, 20)
    ways = (Way("out", 1, 2, "ping", is_reply=False), Way("back", 2, 1, "ping", is_reply=True))
    answers = [Flight(f.sequence, f.arrivals_s[0], (f.arrivals_s[0] + 0.001,)) for f in out if f.arrivals_s]
    stream = Stream(Ping(*PAIR, interval_ms=10), ways, (out, back or tuple(answers)))
    record = Record(
        scenario=scenario,
        variation=scenario.variations[0],
        streams=(stream,),
        injected=tuple(
            InjectedEvent(Action(1.5, 0, live=False), FAILURE_S, FAILURE_S + 0.0005) for _ in range(failures)
        ),
        zero_s=FAILURE_S - 1.5,
        end_s=FAILURE_S + 3,
        detections=tuple(("s1", t_s) for t_s in detected_s),
    )
    facts = {PAIR: PairFacts(primary=(LINK,), primary_back=(LINK,), joined=joined, hops_back=0)}
    return Seen(made, record, {PAIR: datagrams}, facts)


def row_of(seen):
    return network_row(seen, {LINK: FAILURE_S + 0.04})


def phases_of(row):
    return row["pairs"][0]["phases"]


def test_a_recovery_is_counted_in_the_windows_where_it_happened() -> None:
    row = row_of(seen(flights(lost=range(150, 156), turned=range(156, 160))))
    assert [phases_of(row)[name]["sent"] for name in PHASES] == [150, 100, 200]
    assert [phases_of(row)[name]["lost"] for name in PHASES] == [0, 6, 0]
    assert [phases_of(row)[name]["backtracked"] for name in PHASES] == [0, 4, 0]
    assert phases_of(row)["fail_free"]["rtt_mean_ms"] == pytest.approx(2.0)
    assert row["convergence_ms"] == pytest.approx(90.5, abs=0.01)
    assert row["backtracking_ms"] == {
        "from_failure": pytest.approx(90.5, abs=0.01),
        "from_detection": pytest.approx(50.5, abs=0.01),
    }
    directions = {each["source"]: each for each in row["directions"]}
    assert directions.keys() == set(PAIR)
    assert directions[LINK.a]["backtracking_ms"] == pytest.approx(50.5, abs=0.01)
    assert directions[LINK.b]["backtracking_ms"] == 0
    assert {(each["link"], each["detected_ms"]) for each in row["directions"]} == {(str(LINK), 40.0)}
    assert row["crankback_frames"] == row["pairs"][0]["backtracked_out"] == 4
    assert row["pairs"][0]["outage_ms"] == pytest.approx(60)
    assert row["pairs"][0]["hit"] == [str(LINK)]
    assert row["failure_spread_ms"] == pytest.approx(0.5)
    assert set(PACKET_MEASURES) <= set(row["pairs"][0])
    assert json.loads(json.dumps(row)) == row


def test_who_backtracks_for_ever_has_no_end_of_backtracking_and_does_not_converge() -> None:
    row = row_of(seen(flights(turned=range(154, 450))))
    assert row["backtracking_ms"] is None
    assert [each["backtracking_ms"] for each in row["directions"]] == [None, 0]
    assert row["convergence_ms"] is None
    assert phases_of(row)["converged"]["backtracked"] == 200
    assert phases_of(row)["converged"]["lost"] == 0


def test_a_disconnected_pair_does_not_decide_convergence() -> None:
    assert row_of(seen(flights(lost=range(150, 450)), joined=True))["convergence_ms"] is None
    row = row_of(seen(flights(lost=range(150, 450)), joined=False))
    assert row["convergence_ms"] is None
    assert row["pairs"][0]["joined"] is False
    assert row["directions"] == []


def test_a_trial_without_a_failure_has_windows_but_no_stages() -> None:
    row = row_of(seen(flights(), failures=0, detected_s=()))
    assert row["windows_s"] == {"fail_free": [-1.5, 0.0], "transient": [0.0, 1.0], "converged": [1.0, 3.0]}
    assert set(row["stages_ms"].values()) == {None}
    assert row["backtracking_ms"] is row["convergence_ms"] is row["timeline"] is None
    assert [phases_of(row)[name]["received"] for name in PHASES] == [150, 100, 200]


@given(st.sets(st.integers(0, 449)), st.sets(st.integers(0, 449)))
def test_windows_and_bins_account_for_every_packet(lost: set[int], turned: set[int]) -> None:
    row = row_of(seen(flights(lost, turned)))
    phases = phases_of(row).values()
    assert sum(phase["sent"] for phase in phases) == 450
    assert sum(phase["lost"] for phase in phases) == len(lost)
    assert sum(phase["backtracked"] for phase in phases) == len(turned)
    timeline = row["timeline"]
    assert sum(timeline["backtracked"]) == len(turned)
    assert len(timeline["rtt_mean_ms"]) == len(timeline["delivered_share"]) == 225
    assert sum(share * 2 for share in timeline["delivered_share"]) == pytest.approx(450 - len(lost))
    assert all((rtt is None) == (share == 0) for rtt, share in zip(*_columns(timeline), strict=True))


def _columns(timeline):
    return timeline["rtt_mean_ms"], timeline["delivered_share"]


@given(st.lists(st.tuples(st.floats(98.6, 102.9), st.booleans(), st.integers(1, 1448)), max_size=60))
def test_goodput_over_all_windows_is_what_arrived(sent: list[tuple[float, bool, int]]) -> None:
    found = [
        Datagram(number, sent_s, sent_s + 0.002 if arrives else None, size)
        for number, (sent_s, arrives, size) in enumerate(sorted(sent))
    ]
    row = row_of(seen(flights(), datagrams=found))
    phases = phases_of(row)
    assert sum(phase["udp_sent"] for phase in phases.values()) == len(sent)
    assert sum(phase["udp_received"] for phase in phases.values()) == sum(arrives for _, arrives, _ in sent)
    lengths_s = {"fail_free": 1.5, "transient": 1.0, "converged": 2.0}
    if sent:
        arrived_mbit = sum((phases[name]["goodput_mbps"] or 0) * length_s for name, length_s in lengths_s.items())
        assert arrived_mbit == pytest.approx(sum(8 * size for _, arrives, size in sent if arrives) / 1e6, abs=5e-4)
    else:
        assert all(phase["goodput_mbps"] is None for phase in phases.values())


def test_a_packet_that_is_under_way_at_the_end_is_no_sign_of_endless_backtracking() -> None:
    windows = phase_windows(TIMING, FAILURE_S)
    after = Window(FAILURE_S, windows["converged"].end_s)
    assert backtracking(flights(turned={439}), after, [FAILURE_S + 0.04]) is not None
    assert backtracking(flights(turned={440}), after, [FAILURE_S + 0.04]) is None
    assert backtracking(flights(), after, []) == {"from_failure": 0.0, "from_detection": 0.0}
    assert backtracking(flights(turned={200}), after, []) == {"from_failure": 500.501, "from_detection": None}


def test_backtracking_does_not_end_because_the_traffic_does() -> None:
    row = row_of(seen(flights(turned=range(150, 450))[:435]))
    assert row["backtracking_ms"] is None
    assert row["directions"][0]["backtracking_ms"] is None
    ended = row_of(seen(flights(turned=range(150, 400))[:435]))
    assert ended["backtracking_ms"] == {"from_failure": 2490.501, "from_detection": 2450.501}


def test_the_last_packet_of_the_traffic_counts() -> None:
    row = row_of(seen(flights(lost={434}, turned=range(150, 450))[:435]))
    assert row["crankback_frames"] == 435 - 150


def test_the_backtracking_time_is_that_of_the_first_packet_over_the_outermost_link() -> None:
    inner_out, inner_back = Direction("s2", "s3"), Direction("s3", "s2")
    walk = [(0.1, OUT), (0.3, inner_out), (0.6, inner_back), (1.0, BACK), (1.2, OUT)]
    hops = tuple(Sighting(FAILURE_S + t_ms / 1000, direction, PROBE, 0) for t_ms, direction in walk)
    assert backtracking_rtt_ms([Flight(0, FAILURE_S, (), hops)]) == pytest.approx(0.9)
    assert backtracking_rtt_ms(flights()) is None
