"""Annotated captures: every frame once and by time, every failure on the first frame after it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.annotated import Annotation, annotate, annotated_capture, annotations_of, by_time
from experiments.analysis.frames import PcapRecord
from experiments.analysis.injected import Action, InjectedEvent
from experiments.analysis.packet_counts import Clock
from experiments.analysis.pcapng import Interface
from experiments.scenario.failures.kill import Kill
from experiments.scenario.failures.silent import Silent
from mininet_topos.catalogue import load_topology
from tests.analysis.pcapng_reader import read_pcapng

LINK = load_topology("square").link_ids[0]
STAMPS = st.integers(0, 200)
RECORDS = st.builds(PcapRecord, STAMPS, st.binary(max_size=4), st.integers(4, 1600))
CAPTURES = st.lists(st.lists(RECORDS, max_size=6), max_size=4)
ANNOTATIONS = st.lists(
    st.builds(
        lambda done_ns, before: Annotation(f"at {done_ns}", done_ns - before, done_ns), STAMPS, st.integers(0, 5)
    ),
    max_size=5,
)


@given(CAPTURES)
def test_every_frame_of_every_capture_is_there_once_and_by_time(captures: list[list[PcapRecord]]) -> None:
    packets = by_time(captures)
    assert [each.t_ns for each in packets] == sorted(each.t_ns for each in packets)
    for number, records in enumerate(captures):
        own = [PcapRecord(each.t_ns, each.data, each.length) for each in packets if each.interface == number]
        assert own == sorted(records, key=lambda record: record.t_ns)


@given(CAPTURES, ANNOTATIONS)
def test_each_failure_is_on_the_first_frame_after_it_or_unseen(
    captures: list[list[PcapRecord]], annotations: list[Annotation]
) -> None:
    packets = by_time(captures)
    commented, unseen = annotate(packets, annotations)
    assert [(each.interface, each.t_ns, each.data) for each in commented] == [
        (each.interface, each.t_ns, each.data) for each in packets
    ]
    assert sum(len(each.comments) for each in commented) + len(unseen) == len(annotations)
    assert [each for each in annotations if all(packet.t_ns < each.done_ns for packet in packets)] == unseen
    for place, packet in enumerate(commented):
        for comment in packet.comments:
            (done_ns,) = {each.done_ns for each in annotations if comment.startswith(f"{each.text}, ")}
            assert packet.t_ns >= done_ns
            assert all(before.t_ns < done_ns for before in commented[:place])


def test_comments_name_the_event_and_the_time_since_it_began() -> None:
    failures = [Silent(0.5, LINK, repair_at_s=2.0), Kill(2.0, process="agent", node="s4")]
    injected = [
        InjectedEvent(Action(0.5, 0, live=False), 100.5, 100.5001),
        InjectedEvent(Action(2.0, 0, live=True), 102.0, 102.0001),
        InjectedEvent(Action(2.0, 1, live=False), 102.0002, 102.0003),
        InjectedEvent(Action(2.5, 0, live=False), 102.5, 102.5001),
    ]
    clock = Clock(offset_ns=10**18)
    record = PcapRecord(clock.to_ns(100.50005), b"during", 6)
    captures = {
        Interface("s1-eth2", "what s1 sends to s2"): [record, PcapRecord(clock.to_ns(102.0007), b"both", 1500)],
        Interface("h1-eth0"): [PcapRecord(clock.to_ns(100.5006), b"first", 98)],
    }
    annotations = annotations_of(failures, injected, clock)
    file = read_pcapng(annotated_capture(captures, annotations, snap_bytes=128, about="a run"))
    failed, both = file.commented
    assert (failed[2], failed[3], both[2], both[3]) == (b"first", 98, b"both", 1500)
    assert failed[4] == (f"failure of {LINK} (silent) at second 0.5 of the scenario, 0.600 ms before this frame",)
    assert both[4] == (
        f"repair of {LINK} (silent) at second 2 of the scenario, 0.700 ms before this frame",
        "failure of agent of s4 (kill) at second 2 of the scenario, 0.500 ms before this frame",
    )
    unseen = f"failure of {LINK} (silent) at second 2.5 of the scenario: no frame was captured after it"
    assert file.comments == [f"a run\n{unseen}"]
    assert file.interfaces == [("s1-eth2", "what s1 sends to s2", 128), ("h1-eth0", "", 128)]


@given(st.integers(0, 2**40), st.integers(0, 2**60))
def test_the_clock_turns_stamps_there_and_back(t_us: int, offset_ns: int) -> None:
    clock = Clock(offset_ns)
    t_ns = t_us * 1000 + offset_ns
    assert abs(clock.to_ns(clock.to_s(t_ns)) - t_ns) <= 1000
