"""Captures: what was written is read, broken files are refused, probe packets are distinguished from the rest."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.frames import CaptureError, Frame, parse_pcap
from experiments.analysis.probes import ProbeId, probe_id

A, B = 0x0A000001, 0x0A000002
MAGICS = {1: 0xA1B23C4D, 1000: 0xA1B2C3D4}


def ipv4(source: int, destination: int, protocol: int, payload: bytes) -> bytes:
    return (
        struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(payload), 1, 0x4000, 64, protocol, 0, source, destination)
        + payload
    )


def ethernet(frame: Frame) -> bytes:
    tag = b"" if frame.vlan_tci is None else struct.pack(">HH", 0x8100, frame.vlan_tci)
    packet = ipv4(frame.source, frame.destination, frame.protocol, frame.payload)
    return bytes(12) + tag + b"\x08\x00" + packet


def pcap(records: list[tuple[int, bytes]], order: str = "<", unit_ns: int = 1, link_type: int = 1) -> bytes:
    data = struct.pack(order + "IHHiIII", MAGICS[unit_ns], 2, 4, 0, 0, 128, link_type)
    for t_ns, frame in records:
        seconds, rest_ns = divmod(t_ns, 1_000_000_000)
        data += struct.pack(order + "IIII", seconds, rest_ns // unit_ns, len(frame), len(frame)) + frame
    return data


def irtt(sequence: int, flags: int, token: int = 7) -> bytes:
    ports = (2112, 40000) if flags & 2 else (40000, 2112)
    return (
        struct.pack(">HHHH", *ports, 0, 0) + b"\x14\xa7\x5b" + struct.pack("<BQI", flags, token, sequence) + bytes(20)
    )


FRAMES = st.builds(
    Frame,
    t_ns=st.integers(0, 2**31 * 10**9).map(lambda t_ns: t_ns // 1000 * 1000),
    vlan_tci=st.none() | st.integers(0, 0xFFFF),
    source=st.integers(0, 2**32 - 1),
    destination=st.integers(0, 2**32 - 1),
    protocol=st.integers(0, 255),
    payload=st.binary(max_size=40),
)


@given(st.lists(FRAMES, max_size=5), st.sampled_from("<>"), st.sampled_from([1, 1000]))
def test_frames_that_were_written_are_read(frames: list[Frame], order: str, unit_ns: int) -> None:
    data = pcap([(frame.t_ns, ethernet(frame)) for frame in frames], order, unit_ns)
    assert list(parse_pcap(data)) == frames


@given(st.lists(FRAMES, min_size=1, max_size=4), st.data())
def test_a_capture_cut_short_gives_the_whole_records(frames: list[Frame], data: st.DataObject) -> None:
    whole = pcap([(frame.t_ns, ethernet(frame)) for frame in frames])
    cut = data.draw(st.integers(24, len(whole) - 1))
    read = list(parse_pcap(whole[:cut]))
    assert read == frames[: len(read)]
    assert len(read) < len(frames)


@given(st.binary(max_size=120))
def test_any_frame_bytes_parse_without_an_error(frame: bytes) -> None:
    assert len(list(parse_pcap(pcap([(5, frame)])))) <= 1


def test_other_protocols_are_passed_over() -> None:
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    tagged_arp = bytes(12) + b"\x81\x00\x20\x01\x08\x06" + bytes(28)
    assert list(parse_pcap(pcap([(1, arp), (2, tagged_arp)]))) == []


def test_an_empty_file_has_no_frames() -> None:
    assert list(parse_pcap(b"")) == []


@pytest.mark.parametrize("data", [b"short", b"no pcap file at all, but long enough", pcap([], link_type=113)])
def test_what_is_no_ethernet_capture_is_refused(data: bytes) -> None:
    with pytest.raises(CaptureError):
        list(parse_pcap(data))


def frame_of(payload: bytes, protocol: int = 17) -> Frame:
    return Frame(1, None, A, B, protocol, payload)


def test_irtt_packets_carry_their_sequence_number() -> None:
    assert probe_id(frame_of(irtt(513, flags=0))) == ProbeId(A, B, "probe", False, 513)
    assert probe_id(frame_of(irtt(513, flags=2))) == ProbeId(A, B, "probe", True, 513)


@pytest.mark.parametrize("flags", [1, 4, 3, 6, 8])
def test_opening_and_closing_packets_of_irtt_are_no_probes(flags: int) -> None:
    assert probe_id(frame_of(irtt(0, flags))) is None


def test_ping_packets_carry_their_sequence_number() -> None:
    assert probe_id(frame_of(struct.pack(">BBHHH", 8, 0, 0, 99, 300), 1)) == ProbeId(A, B, "ping", False, 300)
    assert probe_id(frame_of(struct.pack(">BBHHH", 0, 0, 0, 99, 300), 1)) == ProbeId(A, B, "ping", True, 300)


@given(st.binary(max_size=60), st.sampled_from([1, 6, 17]))
def test_other_payloads_are_no_error(payload: bytes, protocol: int) -> None:
    found = probe_id(frame_of(payload, protocol))
    assert found is None or found.source == A


def test_labels_are_passed_over_and_what_follows_them_must_be_ipv4() -> None:
    frame = Frame(7, None, 0x0A000001, 0x0A000002, 17, b"payload")
    plain = ethernet(frame)
    for count in (1, 2, 3):
        stack = b"".join(struct.pack(">I", 17 << 12 | (number == count) << 8 | 64) for number in range(1, count + 1))
        labelled = plain[:12] + b"\x88\x47" + stack + plain[14:]
        assert list(parse_pcap(pcap([(7, labelled)]))) == [frame]
    other = plain[:12] + b"\x88\x47" + struct.pack(">I", 17 << 12 | 0x100 | 64) + b"\x60" + plain[15:]
    assert list(parse_pcap(pcap([(7, other)]))) == []
    endless = plain[:12] + b"\x88\x47" + struct.pack(">I", 17 << 12 | 64) * 9
    assert list(parse_pcap(pcap([(7, endless)]))) == []
