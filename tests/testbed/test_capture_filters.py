"""What taps keep: labelled probes too, behind as many labels as a repair pushes."""

from __future__ import annotations

import shutil
import struct
import subprocess

import pytest

from experiments.analysis.frames import ETHERNET_LINK_TYPE, NANOSECOND_MAGIC, parse_pcap
from experiments.scenario.traffic.probe import PORT
from experiments.testbed.instruments.capture import PROBE_FILTER
from experiments.testbed.trials.testbed import SWITCH_FILTER
from ryu_apps.plan.fields import ETH_VLAN
from ryu_apps.plan.ids import Status
from ryu_apps.plan.notification import AFRESH
from ryu_apps.plan.recovery_rows import tag_tci

ICMP, UDP, OTHER_PORT = 1, 17, 9
LAST_LABEL = 0x100


def frame(labels: int, protocol: int, port: int) -> bytes:
    """An IPv4 packet behind so many labels."""
    stack = b"".join(struct.pack(">I", 77 << 12 | 64 | (LAST_LABEL if n == labels - 1 else 0)) for n in range(labels))
    ipv4 = struct.pack(">BBHHHBBHII", 0x45, 0, 28, 0, 0, 64, protocol, 0, 0x0A000001, 0x0A000002)
    return (
        bytes(12) + struct.pack(">H", 0x8847 if labels else 0x0800) + stack + ipv4 + struct.pack(">HHHH", port, 5, 8, 0)
    )


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump")
@pytest.mark.parametrize("labels", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("wanted", "kept"), [(SWITCH_FILTER, {(ICMP, OTHER_PORT)}), (PROBE_FILTER, {(ICMP, OTHER_PORT), (UDP, PORT)})]
)
def test_taps_keep_probes_behind_labels_and_nothing_else(labels: int, wanted: str, kept: set[tuple[int, int]]) -> None:
    for sent in ((ICMP, OTHER_PORT), (UDP, PORT), (UDP, OTHER_PORT)):
        assert is_kept(frame(labels, *sent), wanted) == (sent in kept)


def is_kept(data: bytes, wanted: str) -> bool:
    """Whether a tap with a filter keeps a frame."""
    pcap = struct.pack("<IHHiIII", NANOSECOND_MAGIC, 2, 4, 0, 0, 65535, ETHERNET_LINK_TYPE)
    pcap += struct.pack("<IIII", 1, 0, len(data), len(data)) + data
    argv = ["tcpdump", "-r", "-", "-w", "-", wanted]
    return bool(list(parse_pcap(subprocess.run(argv, input=pcap, capture_output=True, check=True).stdout)))


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump")
@pytest.mark.parametrize("afresh", [0, AFRESH])
@pytest.mark.parametrize("status", Status)
def test_taps_of_switches_keep_tagged_pings_and_every_notification(status: int, afresh: int) -> None:
    """A notification may be a copy of a packet of the load."""
    for protocol in (ICMP, UDP):
        plain = frame(0, protocol, OTHER_PORT)
        tagged = plain[:12] + struct.pack(">HH", ETH_VLAN, tag_tci(561, status | afresh)) + plain[12:]
        assert is_kept(tagged, SWITCH_FILTER) == (protocol == ICMP or status == Status.NOTIFICATION)
