"""The SQR program in the kernel's test runs: its ring holds what the byte ring of the model says, slot by slot."""

from __future__ import annotations

import random
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from dataplane.decide.sqr import FIELDS, STATE_TURNING, SqrPort, chosen_keys, first_control, read_counters, read_field
from dataplane.loader import LoadedObject, PacketProgramError, find_program_object
from dataplane.model.byte_ring import ByteRing, Mode, RingLimits, send
from dataplane.model.marking import Marking
from dataplane.model.slots import SLOT_BYTES, SlotState, unpack_slot, window
from dataplane.model.values import Packet
from mininet_topos.errors import BadInputError
from tests.dataplane.hostile import ETHERNET, HOSTS, REDIRECTED, udp

pytestmark = pytest.mark.emulation
FRAMES = 5000
KEPT = 4  # TC_ACT_STOLEN: in the ring, or sent by a clone
NOWHERE = 1 << 30  # no interface has this number, so sending by it fails
LOOPBACK = 1
FOREVER_MS = 3_600_000.0
MODES = {Mode.UP: 0, Mode.HOLD: 1, Mode.BACKUP: 2}
PORT = SqrPort("in", "primary", "backup", slots=8, delta_ms=FOREVER_MS, margin=3, in_send=False)


@dataclass
class Ring:
    """A program with its ring and control block, for test runs."""

    loaded: LoadedObject
    port: SqrPort

    def __post_init__(self) -> None:
        self.program = self.loaded.program("sqr")
        self.control = self.loaded.map("controls").memory()
        self.slots = self.loaded.map("ring").memory()

    def slot(self, tag: int) -> bytes:
        start = (tag & (self.port.slots - 1)) * SLOT_BYTES
        return self.slots[start : start + SLOT_BYTES]

    def all_slots(self) -> list[bytes]:
        return [self.slot(number) for number in range(self.port.slots)]

    def set(self, **values: int) -> None:
        for name, value in values.items():
            struct.pack_into(FIELDS[name][0], self.control, FIELDS[name][1], value)

    def get(self, name: str) -> int:
        return read_field(self.control, name)


def open_ring(port: SqrPort, primary: int = LOOPBACK) -> Ring:
    loaded = LoadedObject(find_program_object("sqr"), {"ring": port.slots})
    loaded.map("controls").set(bytes(4), first_control(port, primary, LOOPBACK))
    for key in chosen_keys(port.marking)[1]:
        loaded.map("chosen").set(struct.pack("=I", key), struct.pack("=I", 1))
    return Ring(loaded, port)


@pytest.fixture
def ring() -> Iterator[Ring]:
    made = open_ring(PORT)
    yield made
    made.loaded.close()


def random_frame(dice: random.Random) -> bytes:
    """Any Ethernet frame, some longer than a slot."""
    length = dice.choice((14, 15, 46, 60, 64, 600, 1514, 2023, 2024, 2025, dice.randrange(14, 3000)))
    return dice.randbytes(12) + b"\x88\xb5" + dice.randbytes(length - 14)


def random_frames(ring: Ring, count: int, seed: int) -> None:
    """Feed program and model the same frames, with changes of state; compare slots and counters."""
    dice = random.Random(seed)
    size = (1 << 40, 1 << 40)
    model = ByteRing(0, 1, RingLimits(ring.port.slots, size[0]), delta_ns=1 << 60)
    frames: dict[int, bytes] = {}
    for number in range(count):
        frame = random_frame(dice)
        paused = dice.random() < 0.05
        if dice.random() < 0.01:
            mode = dice.choice(list(Mode))
            first = max(0, model.head - dice.randrange(ring.port.slots))
            model = replace(model, mode=mode, tail=first, ready_ns=dice.choice((0, count)))
            ring.set(state=MODES[mode], tail=first, ready=model.ready_ns == 0)
        ring.set(paused=paused)
        before = model.head
        model, sent = send(model, Packet(number, 0, len(frame)), number, caching=not paused)
        result = ring.program.test(frame)
        if model.mode is Mode.HOLD:
            ring.set(tail=model.tail)  # the agent passes over what was overwritten
        assert result.code == (REDIRECTED if sent else KEPT)
        assert ring.get("head") == model.head
        if model.head > before:
            frames[before & (ring.port.slots - 1)] = frame
            record = unpack_slot(ring.slot(before), before)
            assert (record.state, record.data) == (SlotState.READY, frame)
    for slot in model.slots[-ring.port.slots :]:
        record = unpack_slot(ring.slot(slot.tag), slot.tag)
        assert (record.state, record.data) == (SlotState.READY, frames[slot.tag & (ring.port.slots - 1)])
    counters = read_counters(ring.control)
    wanted = model.counters
    assert (counters.cached, counters.young, counters.pending, counters.unprotected, counters.too_big) == (
        wanted.cached,
        wanted.young,
        wanted.pending,
        wanted.unprotected,
        wanted.too_big,
    )
    assert min(wanted.cached, wanted.young, wanted.pending, wanted.unprotected, wanted.too_big) > 0


def test_slots_and_counters_are_the_model_s_on_random_frames_and_states(ring: Ring) -> None:
    random_frames(ring, FRAMES, random.randrange(1 << 30))


@pytest.mark.parametrize(("delta_ns", "young"), [(round(FOREVER_MS * 1e6), 1), (0, 0)])
def test_while_a_port_turns_an_overwritten_packet_counts_by_its_age(ring: Ring, delta_ns: int, young: int) -> None:
    for number in range(PORT.slots):
        ring.program.test(ETHERNET + udp(HOSTS[0], HOSTS[1], (number, 1)))
    ring.set(state=STATE_TURNING, delta_ns=delta_ns)  # the tail is that of an earlier replay: none
    ring.program.test(ETHERNET + udp(HOSTS[0], HOSTS[1], (PORT.slots, 1)))
    counters = read_counters(ring.control)
    assert (counters.held, counters.young, counters.pending) == (1, young, 0)


def test_a_frame_shorter_than_its_header_does_not_get_that_far(ring: Ring) -> None:
    with pytest.raises(PacketProgramError, match="with 13 bytes"):
        ring.program.test(bytes(13))
    assert read_counters(ring.control).cached == 0


def test_the_window_of_the_ring_is_read_as_the_model_reads_it(ring: Ring) -> None:
    for number in range(20):
        ring.program.test(ETHERNET + udp(HOSTS[0], HOSTS[1], (number, 1)))
    records = window(ring.all_slots(), ring.get("head"), 0)
    assert [record.tag for record in records] == list(range(12, 20))
    times = [record.sent_ns for record in records]
    assert times == sorted(times)
    assert [record.data[34:36] for record in records] == [struct.pack("!H", number) for number in range(12, 20)]
    assert len(window(ring.all_slots(), 20, times[5])) == 3


def test_a_failed_send_begins_to_hold_with_the_margin_before_it(ring: Ring) -> None:
    ring.set(in_send=2)
    for _ in range(10):
        ring.set(state=0)
        ring.program.test(random_frame(random.Random(1))[:100])
        ring.set(in_send=2, primary=LOOPBACK)
    head = ring.get("head")
    ring.set(state=0, primary=NOWHERE, ready=1)
    assert ring.program.test(bytes(60)).code == KEPT
    assert (ring.get("state"), ring.get("head")) == (MODES[Mode.HOLD], head + 1)
    assert (ring.get("tail"), ring.get("ready"), ring.get("source")) == (head - 3, 0, 1)
    assert ring.program.test(bytes(60)).code == KEPT  # it waits behind the window
    assert (ring.get("tail"), ring.get("head")) == (head - 3, head + 2)
    counters = read_counters(ring.control)
    assert (counters.send_failed, counters.held) == (1, 1)


@pytest.mark.parametrize(
    ("margin", "slots", "floor", "wanted"), [(1, 2, 0, 8), (0, 8, 0, 9), (7, 8, 0, 2), (7, 8, 5, 5)]
)
def test_the_window_of_a_failed_send_stays_in_the_ring_and_after_the_last_restore(
    margin: int, slots: int, floor: int, wanted: int
) -> None:
    ring = open_ring(replace(PORT, margin=margin, slots=slots))
    with ring.loaded:
        for _ in range(9):
            ring.program.test(bytes(60))
        ring.set(primary=NOWHERE, in_send=2, floor=floor)
        ring.program.test(bytes(60))
        assert ring.get("tail") == wanted


def test_a_frame_that_is_not_cached_leaves_by_the_backup_when_its_send_fails(ring: Ring) -> None:
    ring.set(primary=NOWHERE, in_send=2)
    assert ring.program.test(bytes(2500)).code == REDIRECTED
    assert ring.get("state") == MODES[Mode.HOLD]
    ring.set(state=0, paused=1)
    assert ring.program.test(bytes(60)).code == REDIRECTED
    counters = read_counters(ring.control)
    assert (counters.too_big, counters.unprotected, counters.send_failed) == (1, 1, 2)


def test_an_error_is_a_failed_port_even_where_a_queue_may_refuse() -> None:
    ring = open_ring(replace(PORT, in_send=True), primary=NOWHERE)
    with ring.loaded:
        ring.set(in_send=1)
        ring.program.test(bytes(60))
        assert ring.get("state") == MODES[Mode.HOLD]


def with_dscp(packet: bytes, dscp: int) -> bytes:
    return packet[:1] + bytes([dscp << 2]) + packet[2:]


def as_tcp(packet: bytes) -> bytes:
    return packet[:9] + b"\6" + packet[10:]


PLAIN = udp(HOSTS[0], HOSTS[1], (1000, 2000))
TCP = as_tcp(PLAIN)


@pytest.mark.parametrize(
    ("marking", "packet", "is_chosen"),
    [
        (Marking(), PLAIN, True),
        (Marking(tcp_ports=(1000,)), TCP, True),
        (Marking(tcp_ports=(2000,)), TCP, True),
        (Marking(tcp_ports=(2000,)), PLAIN, False),
        (Marking(tcp_ports=(3000,)), TCP, False),
        (Marking(tcp_ports=(2000,)), TCP[:6] + b"\0\1" + TCP[8:], False),  # a later fragment has no ports
        (Marking(tcp_ports=(2000,)), TCP[:20], False),
        (Marking(tcp_ports=(1024,)), b"\x46" + TCP[1:], False),  # behind an option there are other ports
        (Marking(tcp_ports=(2000,)), b"\x56" + TCP[1:], False),
        (Marking(dscp=(46,)), with_dscp(PLAIN, 46), True),
        (Marking(dscp=(46,)), with_dscp(PLAIN, 45), False),
        (Marking(dscp=(0,)), PLAIN, True),
        (Marking(tcp_ports=(7,), dscp=(46,)), with_dscp(TCP, 46), True),
        (Marking(vlans=(5,)), PLAIN, False),
    ],
)
def test_protected_packets_are_the_chosen_ones(marking: Marking, packet: bytes, is_chosen: bool) -> None:
    ring = open_ring(replace(PORT, marking=marking))
    with ring.loaded:
        assert ring.program.test(ETHERNET + packet).code == REDIRECTED
        counters = read_counters(ring.control)
        assert (counters.cached, counters.other) == ((1, 0) if is_chosen else (0, 1))
        ring.set(state=MODES[Mode.HOLD])
        assert ring.program.test(ETHERNET + packet).code == (KEPT if is_chosen else REDIRECTED)


def test_what_is_not_ipv4_is_not_chosen_by_port_or_dscp() -> None:
    ring = open_ring(replace(PORT, marking=Marking(tcp_ports=(0,), dscp=(0,))))
    with ring.loaded:
        ring.program.test(bytes(12) + b"\x08\x06" + bytes(50))
        assert read_counters(ring.control).other == 1


def test_processors_that_write_at_once_get_a_slot_each() -> None:
    ring = open_ring(replace(PORT, slots=8192))
    with ring.loaded:

        def write(name: int) -> None:
            for number in range(2000):
                ring.program.test(bytes(12) + b"\x88\xb5" + bytes([name]) + number.to_bytes(4, "big") + bytes(40))

        threads = [threading.Thread(target=write, args=(name,)) for name in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        records = window(ring.all_slots(), ring.get("head"), 0)
        assert {record.state for record in records} == {SlotState.READY}
        assert len({record.data for record in records}) == len(records) == 6000


@pytest.mark.parametrize(
    "wrong",
    [
        {"slots": 100},
        {"slots": 1},
        {"delta_ms": -1.0},
        {"margin": 8},
        {"reconfiguration_ms": float("nan")},
    ],
)
def test_settings_that_the_ring_cannot_have_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInputError, match="give"):
        replace(PORT, **wrong)  # type: ignore[arg-type]
