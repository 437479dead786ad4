"""Pcapng files: what was written is read back, by a reader of our own, by tcpdump, and by Wireshark's where it is."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.frames import PcapRecord, pcap_records
from experiments.analysis.pcapng import Interface, Packet, pcapng
from tests.analysis.pcapng_reader import read_pcapng
from tests.examples import examples

SNAP_BYTES = 128
TEXTS = st.text(max_size=30)
COMMENTS = st.lists(st.text(min_size=1, max_size=30), max_size=3).map(tuple)
NOW_NS = 1_800_000_000 * 10**9


def packets_of(interfaces: list[Interface], stamps: st.SearchStrategy[int]) -> st.SearchStrategy[list[Packet]]:
    def of(data: bytes, more: int, number: int, t_ns: int, comments: tuple[str, ...]) -> Packet:
        return Packet(number, t_ns, data, len(data) + more, comments)

    numbers = st.integers(0, len(interfaces) - 1)
    return st.lists(st.builds(of, st.binary(max_size=SNAP_BYTES), st.integers(0, 9000), numbers, stamps, COMMENTS))


INTERFACES = st.lists(st.builds(Interface, st.text(min_size=1, max_size=15), TEXTS), min_size=1, max_size=4)
FILES = INTERFACES.flatmap(lambda found: st.tuples(st.just(found), packets_of(found, st.integers(0, 2**64 - 1))))
# tcpdump's own file has stamps of 32 bits of seconds.
DATED = INTERFACES.flatmap(lambda found: st.tuples(st.just(found), packets_of(found, st.integers(0, 2 * NOW_NS))))


def written(interfaces: list[Interface], packets: list[Packet], comment: str = "") -> bytes:
    return b"".join(pcapng(interfaces, packets, snap_bytes=SNAP_BYTES, comment=comment))


@given(FILES, TEXTS)
def test_what_was_written_is_read_back(file: tuple[list[Interface], list[Packet]], comment: str) -> None:
    interfaces, packets = file
    read = read_pcapng(written(interfaces, packets, comment))
    assert read.interfaces == [(each.name, each.description, SNAP_BYTES) for each in interfaces]
    assert read.packets == [astuple(packet) for packet in packets]
    assert read.comments == ([comment] if comment else [])
    assert read.application == "Armor"


def test_the_bytes_of_a_packet_are_those_of_the_format() -> None:
    packets = [Packet(0, 7, b"\x01", 1), Packet(0, 2**32 + 5, b"\x01\x02\x03", 60, ("é",))]
    *_, plain, block = pcapng([Interface("s1-eth2")], packets, snap_bytes=SNAP_BYTES)
    assert plain.hex(" ", 4) == "06000000 24000000 00000000 00000000 07000000 01000000 01000000 01000000 24000000"
    assert block.hex(" ", 4) == (
        "06000000 30000000 00000000 01000000 05000000 03000000 3c000000 01020300 01000200 c3a90000 00000000 30000000"
    )


@pytest.mark.parametrize("text", ["x" * 70_000, "é" * 40_000, "x" + "é" * 40_000])
def test_a_text_beyond_the_length_field_is_shortened_at_a_whole_character(text: str) -> None:
    read = read_pcapng(written([Interface("a", text)], [Packet(0, 1, b"", 0, (text, "next"))], text))
    (packet,) = read.packets
    for kept in (read.comments[0], read.interfaces[0][1], packet[4][0]):
        assert text.startswith(kept)
        assert 65_533 < len(kept.encode()) <= 65_535
    assert packet[4][1] == "next"


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump")
@examples(20)
@given(DATED)
def test_tcpdump_reads_the_same_stamps_bytes_and_lengths(file: tuple[list[Interface], list[Packet]]) -> None:
    interfaces, packets = file
    argv = ["tcpdump", "-r", "-", "--time-stamp-precision=nano", "-w", "-"]
    done = subprocess.run(argv, input=written(interfaces, packets), capture_output=True, check=True)
    assert list(pcap_records(done.stdout)) == [PcapRecord(each.t_ns, each.data, each.length) for each in packets]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_wiresharks_filter_finds_the_comments(tmp_path: Path) -> None:
    frame = bytes(12) + b"\x88\xb5" + bytes(46)
    packets = [
        Packet(0, NOW_NS + 1, frame, 60),
        Packet(1, NOW_NS + 2, frame, 1500, ("failure of s1-s2", "failure of s1-s3")),
    ]
    path = tmp_path / "run.pcapng"
    path.write_bytes(written([Interface("s1-eth2"), Interface("s2-eth3", "s2 to s1")], packets, "a run"))
    fields = ["frame.number", "frame.interface_name", "frame.time_epoch", "frame.len", "frame.comment"]
    argv = ["tshark", "-r", str(path), "-Y", "frame.comment", "-T", "fields", *(w for f in fields for w in ("-e", f))]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert said.split("\t") == ["2", "s2-eth3", "1800000000.000000002", "1500", "failure of s1-s2,failure of s1-s3\n"]


@pytest.mark.skipif(shutil.which("capinfos") is None, reason="needs capinfos")
def test_capinfos_finds_the_file_sound(tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    path.write_bytes(written([Interface("a"), Interface("b")], [Packet(1, NOW_NS, bytes(60), 60)], "a run"))
    said = subprocess.run(["capinfos", str(path)], capture_output=True, text=True, check=True).stdout
    assert "nanoseconds (9)" in said
    assert "Number of interfaces in file: 2" in said
    assert "a run" in said
