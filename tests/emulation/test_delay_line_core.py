"""Control links cut in two for the delay line: every half has its partner, and reports are read as printed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos import generators, toy
from mininet_topos.emulation.delay_line_core import (
    MAX_FRAMES,
    MIN_FRAMES,
    DelayLineError,
    DelayTrial,
    LineCounters,
    Relay,
    control_relays,
    delay_line_command,
    needs_delay_line,
    parse_report,
    relayed_interfaces,
    ring_frames,
    trial_of,
    with_control_relays,
)
from mininet_topos.emulation.options_core import EmulationOptions
from mininet_topos.emulation.wiring_core import CONTROLLER, DELAY_PLACE, Wiring, place_lines, plan_wiring
from mininet_topos.errors import BadInputError, MissingRequirementError
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import hosts_of

PROGRAM = Path("/opt/delay")
SLOW = EmulationOptions(control_delay_ms=5)


def wire(topology: Topology, shared: bool = False) -> Wiring:
    return plan_wiring(topology, assign_ports(topology), hosts_of(topology), 1600, shared)


@given(st.integers(2, 12), st.integers(0, 6), st.integers(0, 1000), st.booleans())
def test_outer_ends_stay_and_each_relay_joins_the_halves_of_one_control_link(
    nodes: int, extra: int, seed: int, shared: bool
) -> None:
    links = min(nodes - 1 + extra, nodes * (nodes - 1) // 2)
    plain = wire(generators.random_connected("random", nodes, links, seed), shared)
    cut = with_control_relays(plain)
    ends = [end for cable in cut.cables for end in (cable.a, cable.b)]
    outer = [end for end in ends if end.place != DELAY_PLACE]
    assert set(outer) == {end for cable in plain.cables for end in (cable.a, cable.b)}
    assert max(Counter((end.place, end.interface) for end in ends).values()) == 1
    inner = {end.interface for end in ends if end.place == DELAY_PLACE}
    relays = control_relays(cut, 5.0)
    assert sorted(inner) == sorted(name for relay in relays for name in (relay.a, relay.b))
    # Walking from a switch through its relay ends where the whole cable ended.
    far_of = {cable.b.interface: cable.a for cable in cut.cables if cable.b.place == DELAY_PLACE}
    joined = {frozenset((far_of[relay.a], far_of[relay.b])) for relay in relays}
    assert joined == {frozenset((cable.a, cable.b)) for cable in plain.cables if cable.b.place == CONTROLLER}


def test_what_is_sent_into_the_delay_line_has_its_offloads_off_at_both_outer_ends_only() -> None:
    cut = with_control_relays(wire(toy.pair()))
    assert relayed_interfaces(cut, "s1") == ("s1-ctl",)
    assert relayed_interfaces(cut, CONTROLLER) == ("ctl-s1", "ctl-s2")
    assert relayed_interfaces(cut, DELAY_PLACE) == ()
    assert relayed_interfaces(wire(toy.pair()), "s1") == ()


def test_the_delay_place_raises_its_interfaces_and_has_no_address() -> None:
    lines = place_lines(with_control_relays(wire(toy.pair())), DELAY_PLACE)
    assert [line for line in lines if "addr" in line] == []
    assert {line.split()[2] for line in lines} == {"lo", "s1-ctl", "ctl-s1", "s2-ctl", "ctl-s2"}


def test_the_line_is_used_only_for_a_delay_that_the_kernel_cannot_give() -> None:
    assert needs_delay_line(SLOW, netem=False, program=PROGRAM, release="6.1")
    assert not needs_delay_line(SLOW, netem=True, program=None, release="6.1")
    for none in (None, 0.0):
        options = EmulationOptions(control_delay_ms=none)
        assert not needs_delay_line(options, netem=False, program=None, release="6.1")


def test_a_line_that_was_not_built_is_one_sentence_with_the_package_and_the_option() -> None:
    with pytest.raises(MissingRequirementError, match=r"control_delay_ms is 5, .*gcc.*make setup"):
        needs_delay_line(SLOW, netem=False, program=None, release="6.1")


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
    relays = [Relay("s1-ctl", "ctl-s1", 5.0), Relay("s2-ctl", "ctl-s2", 0.25, jitter_ms=0.1)]
    words = delay_line_command(PROGRAM, relays, realtime=True, seed=7)
    assert words[:2] == (str(PROGRAM), "--realtime")
    assert words[-2:] == ("s1-ctl,ctl-s1,5000,0", "s2-ctl,ctl-s2,250,100")
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


def test_a_trial_is_told_in_milliseconds() -> None:
    trial = DelayTrial(5.0, sent=10, lost=0, error_p50_us=20.0, error_p99_us=90.0, error_max_us=300.0)
    assert trial.describe() == "5 ms are 0.020 ms too long (p99 0.090)"
