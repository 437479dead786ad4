"""ARP and discovery frames: what is written is read, and anything else is nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.decide.frames import Arp, LldpProbe, arp_frame, lldp_probe_frame, read_arp, read_lldp_probe

MACS = st.integers(0, 2**48 - 1)
IPV4S = st.integers(0, 2**32 - 1)
arps = st.builds(Arp, st.integers(0, 65535), MACS, IPV4S, MACS, IPV4S)
lldp_probes = st.builds(LldpProbe, st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))


@given(arps, MACS)
def test_an_arp_packet_survives_its_frame(arp, eth_dst):
    frame = arp_frame(arp, eth_dst)
    assert read_arp(frame) == arp
    assert len(frame) == 60
    assert int.from_bytes(frame[:6], "big") == eth_dst
    assert read_lldp_probe(frame) is None


@given(lldp_probes, MACS)
def test_a_lldp_probe_survives_its_frame(lldp_probe, src_mac):
    frame = lldp_probe_frame(lldp_probe, src_mac)
    assert read_lldp_probe(frame) == lldp_probe
    assert frame[:6] == bytes.fromhex("0180c200000e")
    assert read_arp(frame) is None


@given(st.binary(max_size=120))
def test_any_bytes_are_read_without_an_error(frame):
    assert read_arp(frame) is None or isinstance(read_arp(frame), Arp)
    assert read_lldp_probe(frame) is None or isinstance(read_lldp_probe(frame), LldpProbe)


@given(st.one_of(arps.map(arp_frame), lldp_probes.map(lldp_probe_frame)), st.data())
def test_damaged_and_cut_frames_are_read_without_an_error(frame, data):
    at = data.draw(st.integers(0, len(frame) - 1))
    damaged = frame[:at] + data.draw(st.binary(max_size=3)) + frame[at + 1 :]
    for bad in (damaged, frame[:at]):
        read_arp(bad)
        read_lldp_probe(bad)


@given(arps, st.integers(0, 41))
def test_a_cut_arp_packet_is_none(arp, length):
    assert read_arp(arp_frame(arp)[:length]) is None


@pytest.mark.parametrize("at", [14, 16, 18, 19])
def test_arp_for_other_networks_than_ethernet_and_ipv4_is_none(at):
    frame = bytearray(arp_frame(Arp(1, 2, 3, 4, 5)))
    frame[at] ^= 0x40
    assert read_arp(bytes(frame)) is None


def test_lldp_of_another_maker_is_none():
    chassis_by_mac = bytes.fromhex("0207 04 020000000001") + bytes.fromhex("0402 0731") + bytes.fromhex("06020078 0000")
    assert read_lldp_probe(bytes.fromhex("0180c200000e 020000000001 88cc") + chassis_by_mac) is None


@pytest.mark.ryu
def test_ryu_reads_our_lldp_frame():
    packet = pytest.importorskip("ryu.lib.packet.packet")
    lldp = pytest.importorskip("ryu.lib.packet.lldp")
    (found,) = (
        part for part in packet.Packet(lldp_probe_frame(LldpProbe(0x2A, 7))).protocols if isinstance(part, lldp.lldp)
    )
    assert found.tlvs[0].chassis_id == b"armor-dpid:000000000000002a"
    assert found.tlvs[1].port_id == b"armor-port:7"
