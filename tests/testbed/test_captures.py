"""Captures of a run in one file: taps become named interfaces, frames keep their stamps and lengths."""

from __future__ import annotations

import struct
from pathlib import Path

from experiments.analysis.frames import ETHERNET_LINK_TYPE, NANOSECOND_MAGIC
from experiments.analysis.injected import Action, InjectedEvent
from experiments.analysis.packet_counts import Clock
from experiments.scenario.failures.silent import Silent
from experiments.scenario.traffic.probe import Probe
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.instruments.capture import Tap
from experiments.testbed.runs.captures import write_captures
from experiments.testbed.runs.measure import Measured
from mininet_topos.catalogue import load_topology
from tests.analysis.pcapng_reader import read_pcapng

SQUARE = load_topology("square")
LINK = SQUARE.parse_link("s1-s2")
ZERO_NS = 1_800_000_000 * 10**9  # wall clock at second 100 of the machine
CLOCK = Clock(ZERO_NS - 100 * 10**9)


def pcap(*records: tuple[int, bytes, int]) -> bytes:
    data = struct.pack("<IHHiIII", NANOSECOND_MAGIC, 2, 4, 0, 0, 128, ETHERNET_LINK_TYPE)
    for after_zero_ns, frame, length in records:
        seconds, rest_ns = divmod(ZERO_NS + after_zero_ns, 10**9)
        data += struct.pack("<IIII", seconds, rest_ns, len(frame), length) + frame
    return data


def measured(captures: dict[Tap, Path]) -> Measured:
    return Measured(
        zero_s=100.0,
        end_s=102.0,
        injected=(InjectedEvent(Action(1.0, 0, live=False), 101.0, 101.0001),),
        clock=CLOCK,
        captures=captures,
        missed={},
        own_counts=(),
        flaps={},
        restarts=(),
        load_per_core=0.0,
    )


def test_taps_become_interfaces_and_the_failure_a_comment(tmp_path: Path) -> None:
    files = {
        Tap("h1", "h1-eth0"): pcap((5, b"early", 5), (1_000_200_007, b"late", 1514)),
        Tap("s1", "s1-eth2", "out"): pcap((9, b"sent", 60), (1_000_200_006, b"first after it", 18)),
        Tap("s2", "s2-eth2", "out"): b"",
    }
    captures = {tap: tmp_path / tap.file_name for tap in files}
    for tap, path in captures.items():
        path.write_bytes(files[tap])
    scenario = Scenario("square", SQUARE, (), (Probe("s1", "s3"),), (Silent(1.0, LINK),), duration_s=2.0)
    out = tmp_path / "run.pcapng"
    write_captures(out, scenario, Variation("sdfast", "learned"), measured(captures))
    file = read_pcapng(out.read_bytes())
    assert file.interfaces == [
        ("h1-eth0", "host h1, both directions", 128),
        ("s1-eth2", "what s1 sends to s2", 128),
        ("s2-eth2", "what s2 sends to s1", 128),
    ]
    comment = "failure of s1-s2 (silent) at second 1 of the scenario, 0.200 ms before this frame"
    assert file.packets == [
        (0, ZERO_NS + 5, b"early", 5, ()),
        (1, ZERO_NS + 9, b"sent", 60, ()),
        (1, ZERO_NS + 1_000_200_006, b"first after it", 18, (comment,)),
        (0, ZERO_NS + 1_000_200_007, b"late", 1514, ()),
    ]
    assert file.comments[0].startswith("sdfast-learned on square: ")
