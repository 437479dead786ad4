"""Sends UDP packets that come back by way of the controller, and counts them.

    python bounce_probe.py ADDRESS RATE_PPS SECONDS WAIT_S PORT...

Every port gets `RATE_PPS`. The n-th packet is due n intervals after the first, and its delay counts from then, so that
a sender that is late hides nothing. It prints one JSON value: by port, what was sent and the delays (ms) of what came
back. It is run as a file, by its path, so it imports nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import sys
import time

_STAMP = struct.Struct("!Id")  # number, when it was due
_PAYLOAD_BYTES = 64
_RECEIVE_BYTES = 2048


def probe(
    address: str, rate_pps: float, seconds: float, wait_s: float, ports: list[int]
) -> dict[int, dict[str, object]]:
    """What was sent to each port, and the delays (ms) of what returned."""
    links = {port: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port in ports}
    port_of = {link: port for port, link in links.items()}
    for port, link in links.items():
        link.connect((address, port))
    delays: dict[int, dict[int, float]] = {port: {} for port in ports}
    count, sent, start_s = round(rate_pps * seconds), 0, time.monotonic()
    end_s = start_s + count / rate_pps + wait_s
    while (now_s := time.monotonic()) < end_s or sent < count:  # what is due is sent, however late
        due_s = start_s + sent / rate_pps if sent < count else end_s
        if sent < count and now_s >= due_s:
            for link in links.values():
                link.send(_STAMP.pack(sent, due_s).ljust(_PAYLOAD_BYTES, b"\0"))
            sent += 1
            continue
        for link in select.select(list(port_of), [], [], due_s - now_s)[0]:
            number, was_due_s = _STAMP.unpack_from(link.recv(_RECEIVE_BYTES))
            delays[port_of[link]].setdefault(number, (time.monotonic() - was_due_s) * 1e3)
        if sent == count and all(len(found) == count for found in delays.values()):
            break
    for link in links.values():
        link.close()
    return {port: {"sent": sent, "delays_ms": list(found.values())} for port, found in delays.items()}


if __name__ == "__main__":
    with contextlib.suppress(PermissionError):  # on a busy machine other programs would show as delay
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    rate, lasting, patience = map(float, sys.argv[2:5])
    print(json.dumps(probe(sys.argv[1], rate, lasting, patience, [int(port) for port in sys.argv[5:]])))
