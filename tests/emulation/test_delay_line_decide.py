"""Links split in two for the delay line: every half has its partner, and reports are read as printed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.decide.delay_line import (
    MAX_FRAMES,
    MIN_FRAMES,
    DelayLineError,
    DelayTrial,
    LineCounters,
    Relay,
    control_relays,
    delay_line_command,
    link_relays,
    needs_delay_line,
    parse_report,
    relayed_interfaces,
    ring_frames,
    trial_of,
    with_relays,
)
from emulation.decide.options import EmulationOptions
from emulation.decide.wiring import CONTROLLER, DELAY_PLACE, Wiring, place_lines, plan_wiring
from mininet_topos import generators, toy
from mininet_topos.errors import BadInputError, MissingRequirementError
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction, Link, Topology, with_link_delays
from ryu_apps.plan.addressing import hosts_of

PROGRAM = Path("/opt/delay")
SLOW = EmulationOptions(control_delay_ms=5)


def with_control_relays(wiring: Wiring) -> Wiring:
    return with_relays(wiring, control_relays(wiring, 5.0))


def wire(topology: Topology, shared: bool = False) -> Wiring:
    return plan_wiring(topology, assign_ports(topology), hosts_of(topology), 1600, shared)


@given(st.integers(2, 12), st.integers(0, 6), st.integers(0, 1000), st.booleans())
def test_outer_ends_stay_and_each_relay_joins_the_halves_of_one_control_link(
    nodes: int, extra: int, seed: int, shared: bool
) -> None:
    links = min(nodes - 1 + extra, nodes * (nodes - 1) // 2)
    plain = wire(generators.random_connected("random", nodes, links, seed), shared)
    split = with_control_relays(plain)
    ends = [end for cable in split.cables for end in (cable.a, cable.b)]
    outer = [end for end in ends if end.place != DELAY_PLACE]
    assert set(outer) == {end for cable in plain.cables for end in (cable.a, cable.b)}
    assert max(Counter((end.place, end.interface) for end in ends).values()) == 1
    inner = {end.interface for end in ends if end.place == DELAY_PLACE}
    relays = control_relays(split, 5.0)
    assert sorted(inner) == sorted(name for relay in relays for name in (relay.a, relay.b))
    # Walking from a switch through its relay ends where the whole cable ended.
    far_of = {cable.b.interface: cable.a for cable in split.cables if cable.b.place == DELAY_PLACE}
    joined = {frozenset((far_of[relay.a], far_of[relay.b])) for relay in relays}
    assert joined == {frozenset((cable.a, cable.b)) for cable in plain.cables if cable.b.place == CONTROLLER}


@given(st.integers(2, 8), st.integers(0, 5), st.integers(0, 1000), st.integers(0, 2))
def test_of_the_links_just_those_with_a_delay_or_jitter_are_split_each_with_its_own_times(
    nodes: int, extra: int, seed: int, spared: int
) -> None:
    links = min(nodes - 1 + extra, nodes * (nodes - 1) // 2)
    topology = generators.random_connected("random", nodes, links, seed)
    times = {link_id: (number, number / 4) for number, link_id in enumerate(topology.link_ids, start=-spared)}

    def timed(link: Link) -> Link:
        number, jitter_ms = times[topology.link_id(link.direction)]
        if number < 0:
            return replace(link, delay_ms=None)
        back = topology.index_of[link.src] > topology.index_of[link.dst]
        return replace(link, delay_ms=float(number + 10 * back), jitter_ms=jitter_ms)

    topology = replace(topology, links=tuple(timed(link) for link in topology.links))
    plain = wire(topology)
    relays = link_relays(topology, assign_ports(topology), plain)
    split = with_relays(plain, relays)
    assert len(relays) == max(0, len(times) - spared)
    for relay in relays:
        ways = [way for way in topology.link_at if plain.interface_of[way.src, assign_ports(topology).port_of[way]]]
        (there,) = [way for way in ways if plain.interface_of[way.src, assign_ports(topology).port_of[way]] == relay.a]
        link, back = topology.link_at[there], topology.link_at[Direction(there.dst, there.src, there.key)]
        assert (relay.delay_ms, relay.jitter_ms) == (link.delay_ms, link.jitter_ms)
        assert relay.back == (back.delay_ms, back.jitter_ms)
    assert len(split.cables) == len(plain.cables) + len(relays)
    numbers = [end.index for cable in split.cables for end in (cable.a, cable.b) if end.place == DELAY_PLACE]
    assert len(set(numbers)) == len(numbers) == 2 * len(relays)


def test_a_link_delay_that_cannot_be_emulated_is_refused_by_name() -> None:
    topology = with_link_delays(toy.pair(), 10_001.0, None)
    with pytest.raises(BadInputError, match=r"s1>s2 has delay_ms 10001 .*at most 10000"):
        link_relays(topology, assign_ports(topology), wire(topology))


def test_what_is_sent_into_the_delay_line_has_its_offloads_off_at_both_outer_ends_only() -> None:
    split = with_control_relays(wire(toy.pair()))
    assert relayed_interfaces(split, "s1") == ("s1-ctl",)
    assert relayed_interfaces(split, CONTROLLER) == ("ctl-s1", "ctl-s2")
    assert relayed_interfaces(split, DELAY_PLACE) == ()
    assert relayed_interfaces(wire(toy.pair()), "s1") == ()


def test_the_delay_place_raises_its_interfaces_and_has_no_address() -> None:
    lines = place_lines(with_control_relays(wire(toy.pair())), DELAY_PLACE)
    assert [line for line in lines if "addr" in line] == []
    assert {line.split()[2] for line in lines} == {"lo", "s1-ctl", "ctl-s1", "s2-ctl", "ctl-s2"}


def test_the_line_is_used_only_for_a_delay_that_the_kernel_cannot_give() -> None:
    assert needs_delay_line(SLOW, netem=False, program=PROGRAM, release="6.1")
    assert not needs_delay_line(SLOW, netem=True, program=None, release="6.1")
    assert needs_delay_line(EmulationOptions(link_delays=True), netem=False, program=PROGRAM, release="6.1")
    assert not needs_delay_line(EmulationOptions(link_delays=True), netem=True, program=None, release="6.1")
    for none in (None, 0.0):
        options = EmulationOptions(control_delay_ms=none)
        assert not needs_delay_line(options, netem=False, program=None, release="6.1")


def test_a_line_that_was_not_built_is_one_sentence_with_the_package_and_the_option() -> None:
    with pytest.raises(MissingRequirementError, match=r"control_delay_ms is 5, .*gcc.*make setup"):
        needs_delay_line(SLOW, netem=False, program=None, release="6.1")
    with pytest.raises(MissingRequirementError, match=r"link_delays .*gcc.*make setup; or leave link_delays out"):
        needs_delay_line(EmulationOptions(link_delays=True), netem=False, program=None, release="6.1")


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), 10_001.0])
def test_a_delay_out_of_range_is_refused_by_name(wrong: float) -> None:
    with pytest.raises(BadInputError, match="control_delay_ms"):
        EmulationOptions(control_delay_ms=wrong)


@given(st.floats(0, 10_000), st.floats(0, 10_000))
def test_rings_hold_more_for_longer_delays_within_their_bounds(first: float, second: float) -> None:
    few, many = (ring_frames([Relay("a", "b", delay)]) for delay in sorted((first, second)))
    assert MIN_FRAMES <= few <= many <= MAX_FRAMES
    assert few % 8 == 0


def test_the_command_line_gives_delays_in_microseconds() -> None:
    relays = [
        Relay("s1-ctl", "ctl-s1", 5.0),
        Relay("s2-ctl", "ctl-s2", 0.25, jitter_ms=0.1),
        Relay("s1-eth2", "s2-eth2", 1.0, 0.5, back=(2.0, 0.0)),
    ]
    words = delay_line_command(PROGRAM, relays, realtime=True, seed=7)
    assert words[:2] == (str(PROGRAM), "--realtime")
    assert words[-3:] == ("s1-ctl,ctl-s1,5000,0", "s2-ctl,ctl-s2,250,100", "s1-eth2,s2-eth2,1000,500,2000,0")
    assert words[words.index("--seed") + 1] == "7"
    assert "--realtime" not in delay_line_command(PROGRAM, relays, realtime=False)


REPORT = {
    "event": "end",
    "realtime": True,
    "waiting": 0,
    "late_us": {"p50": 20, "p99": 90, "max": 120.5},
    "directions": [
        {"from": "a", "to": "b", "delay_us": 5, "relayed": 9, "ring_full": 1, "send_failed": 2, "truncated": 3}
    ],
}


def test_a_report_is_read_by_name_not_by_order() -> None:
    report = parse_report(json.dumps(REPORT, sort_keys=True))
    assert (report.event, report.late_p50_us, report.late_p99_us, report.late_max_us) == ("end", 20, 90, 120.5)
    assert report.lines == (LineCounters("a", "b", relayed=9, ring_full=1, send_failed=2, truncated=3),)
    assert replace(report.lines[0], relayed=0) != report.lines[0]


@pytest.mark.parametrize("line", ["", "delay_line: cannot listen on x: No such device", "{}", "[]", '{"late_us": 3}'])
def test_anything_else_is_no_report_and_is_quoted(line: str) -> None:
    with pytest.raises(DelayLineError, match="no report"):
        parse_report(line)


@given(st.lists(st.floats(-10, 1000), min_size=1, max_size=300), st.integers(0, 5))
def test_a_trial_counts_what_is_lost_and_at_least_its_share_is_below_each_quantile(
    errors: list[float], lost: int
) -> None:
    trial = trial_of(5.0, len(errors) + lost, errors)
    assert (trial.lost, trial.error_max_us) == (lost, max(errors))
    for share, bound in ((0.5, trial.error_p50_us), (0.99, trial.error_p99_us)):
        assert bound in errors
        assert sum(error <= bound for error in errors) >= share * len(errors)
        assert sum(error < bound for error in errors) < share * len(errors)
    assert ("lost" in trial.describe()) == (lost > 0)


def test_a_trial_in_which_nothing_arrives_is_an_error() -> None:
    with pytest.raises(DelayLineError, match="none of 7 frames"):
        trial_of(5.0, 7, [])


def test_a_trial_is_reported_in_milliseconds() -> None:
    trial = DelayTrial(5.0, sent=10, lost=0, error_p50_us=20.0, error_p99_us=90.0, error_max_us=300.0)
    assert trial.describe() == "5 ms are 0.020 ms too long (p99 0.090)"
