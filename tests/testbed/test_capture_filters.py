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
        data = frame(labels, *sent)
        pcap = struct.pack("<IHHiIII", NANOSECOND_MAGIC, 2, 4, 0, 0, 65535, ETHERNET_LINK_TYPE)
        pcap += struct.pack("<IIII", 1, 0, len(data), len(data)) + data
        argv = ["tcpdump", "-r", "-", "-w", "-", wanted]
        found = list(parse_pcap(subprocess.run(argv, input=pcap, capture_output=True, check=True).stdout))
        assert len(found) == (sent in kept)
