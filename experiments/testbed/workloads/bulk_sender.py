"""Sends one TCP flow as fast as it goes, and notes how it gets on.

    python bulk_sender.py ADDRESS PORT SECONDS SAMPLE_MS

Prints {"samples": [[at_ns, cwnd_segments, sent_bytes, acknowledged_bytes, retransmits]]}: CLOCK_MONOTONIC, and by the
kernel's TCP_INFO the congestion window, bytes sent at least once, bytes that the receiver has confirmed, segments sent
again. It is run as a file, by its path, so it imports nothing but the standard library.
"""

from __future__ import annotations

import json
import select
import socket
import struct
import sys
import time

# Places in struct tcp_info of <linux/tcp.h>.
_CWND, _RETRANSMITS = 80, 100
_ACKNOWLEDGED, _SENT, _RETRANSMITTED = 120, 200, 208
_WORD, _LONG = struct.Struct("=I"), struct.Struct("=Q")
_INFO_BYTES = 216
_ANYTHING = memoryview(bytes(1 << 17))
_FAREWELL_S = 30.0


def sample(link: socket.socket) -> list[int]:
    """What the kernel knows of the flow now."""
    at_ns = time.monotonic_ns()
    info = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    cwnd, retransmits = (_WORD.unpack_from(info, place)[0] for place in (_CWND, _RETRANSMITS))
    acknowledged, sent, repeated = (
        _LONG.unpack_from(info, place)[0] for place in (_ACKNOWLEDGED, _SENT, _RETRANSMITTED)
    )
    return [at_ns, cwnd, sent - repeated, acknowledged, retransmits]


def send(link: socket.socket, seconds: float, sample_s: float) -> list[list[int]]:
    """Send for so long, with a sample every so often."""
    samples, began_s = [], time.monotonic()
    due_s = began_s
    while (now_s := time.monotonic()) < began_s + seconds:
        if now_s >= due_s:
            samples.append(sample(link))
            due_s += sample_s
        if select.select([], [link], [], max(0.0, due_s - now_s))[1]:
            link.send(_ANYTHING)
    return samples


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    address, port, seconds, sample_ms = argv[0], int(argv[1]), float(argv[2]), float(argv[3])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
            link.settimeout(_FAREWELL_S)
            link.connect((address, port))
            link.setblocking(False)
            samples = send(link, seconds, sample_ms / 1000)
    except OSError as error:
        print(json.dumps({"error": str(error)}))
        return 1
    print(json.dumps({"samples": samples}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
