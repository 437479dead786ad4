"""Storms, causes and usage: laws that hold for every seed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.torture.decide.causes import Violation, shortest_prefix
from experiments.torture.decide.faults import CLOCK_KINDS, KINDS, PART_KINDS, Fault, draw_faults, steps_of, targets_of
from experiments.torture.decide.usage import Usage, grown
from mininet_topos.catalogue import load_topology

USNET = load_topology("usnet")
PROCESSES = ("agent@s3", "ovs-vswitchd@s4", "controller")
LINKS = frozenset(map(str, USNET.link_ids))
WHOLE = targets_of(USNET, PROCESSES, drops_a_part=True)
TARGETS = {
    **dict.fromkeys(("silent", "carrier", "flap", "lossy"), LINKS),
    "one-way": {str(link.direction) for link in USNET.links},
    **dict.fromkeys(("node", "control", "control-slow", "control-part"), frozenset(USNET.node_names)),
    "control-all": {"controller"},
    "disk-full": {"disk"},
    **dict.fromkeys(("kill", "stop", *CLOCK_KINDS), frozenset(PROCESSES)),
    "topology": LINKS,
}


@given(st.integers(0, 2**31), st.integers(1, 1000), st.floats(2, 60), st.integers(1, 60))
def test_a_storm_is_whole_within_its_time_and_each_target_breaks_once_at_a_time(seed, number, seconds, count):
    faults = draw_faults(WHOLE, (seed, number), seconds, count)
    assert faults == draw_faults(WHOLE, (seed, number), seconds, count)
    assert 0 < len(faults) <= count
    assert list(faults) == sorted(faults)
    for fault in faults:
        assert set(fault.target.split("+")) <= TARGETS[fault.kind]
        assert fault.at_s >= 0
        assert fault.at_s + fault.for_s <= seconds + 0.01
    broken = set()
    for step in steps_of(faults):
        place = "topology" if step.fault.kind == "topology" else step.fault.target
        if step.begins:
            assert place not in broken
            broken.add(place)
        else:
            broken.remove(place)
    assert not broken


def test_rounds_and_seeds_differ_and_every_kind_comes_up():
    storms = [draw_faults(WHOLE, (seed, number), 20, 12) for seed in (1, 2) for number in range(1, 21)]
    assert len(set(storms)) == len(storms)
    assert {fault.kind for storm in storms for fault in storm} == set(KINDS)
    parts = {fault.target for storm in storms for fault in storm if fault.kind == "control-part"}
    assert all(0 < len(part.split("+")) < len(USNET.node_names) for part in parts)


@pytest.mark.parametrize("drops_a_part", [False, True])
def test_what_cannot_be_broken_is_not_drawn(drops_a_part):
    targets = targets_of(USNET, (), drops_a_part=drops_a_part)
    left_out = {"kill", "stop", *CLOCK_KINDS, *(() if drops_a_part else PART_KINDS)}
    assert set(targets) == set(KINDS) - left_out
    drawn = {fault.kind for number in range(20) for fault in draw_faults(targets, (1, number), 20, 60)}
    assert drawn == set(KINDS) - left_out


def test_a_flap_fails_again_and_again():
    steps = steps_of([Fault(1.0, "flap", "s1-s2", 3.0)])
    assert len(steps) >= 10
    assert [step.begins for step in steps] == [True, False] * (len(steps) // 2)
    assert 1.0 <= steps[0].at_s < steps[-1].at_s <= 4.0


@given(st.integers(1, 40), st.integers(1, 60))
def test_the_shortest_prefix_is_found_with_few_replays(size, needed):
    faults = [Fault(float(number), "silent", "s1-s2", 0.5) for number in range(size)]
    tried = []

    def fails(some):
        tried.append(len(some))
        return len(some) >= needed

    found = shortest_prefix(faults, fails)
    assert found == (tuple(faults[:needed]) if needed <= size else None)
    assert len(tried) <= 2 + size.bit_length()


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (Usage(100, 50), []),
        (Usage(149, 60), []),
        (Usage(500, 50), ["controller holds 500 MB of memory, 100 after"]),
        (Usage(100, 500), ["controller has 500 files open, 50 after"]),
        (Usage(500, 500), ["memory", "files"]),
    ],
)
def test_growth_is_named(now, words):
    found = grown({"controller": Usage(100, 50), "agent@s1": Usage(1, 1)}, {"controller": now})
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))


def test_a_violation_is_plain_data():
    violation = Violation("x", 1.5, 2, (Fault(1.0, "kill", "agent@s3", 0.5),))
    assert violation.to_json() == {
        "what": "x",
        "at_s": 1.5,
        "round": 2,
        "replayed": False,
        "faults": [{"at_s": 1.0, "kind": "kill", "target": "agent@s3", "for_s": 0.5}],
    }
