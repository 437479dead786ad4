"""Sends numbered datagrams of several flows at a pace that it keeps.

    python udp_sender.py JSON

JSON: {"start_s", "stop_s": CLOCK_MONOTONIC, "flows": [{"address", "port", "source_port", "dscp", "interval_s",
"interval_seed", "size_bytes", "start_s"}]}. At the end it prints {"sent": [[datagrams by tenth of a second] a flow]}.
A datagram holds its number and the tenth of a second in which it was sent. The n-th leaves n intervals after the first,
or with a seed a random interval after the one before; a late one leaves at once. It is run as a file, by its path, so
it imports nothing but the standard library.
"""

from __future__ import annotations

import heapq
import itertools
import json
import random
import socket
import struct
import sys
import time
from collections.abc import Iterator

HEADER = struct.Struct(">QI")  # number, tenth of a second
BINS_A_SECOND = 10
_DSCP_SHIFT = 2


def opened(flow: dict[str, object]) -> socket.socket:
    """A socket that sends from a flow's own port, marked with its DSCP."""
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(str(flow["dscp"])) << _DSCP_SHIFT)
    link.bind(("", int(str(flow["source_port"]))))
    return link


def due_times_s(start_s: float, interval_s: float, seed: int | None) -> Iterator[float]:
    """When the datagrams of a flow are due: at equal intervals, or with a seed at random ones of the same mean."""
    if seed is None:
        yield from (start_s + number * interval_s for number in itertools.count())
    else:
        lot = random.Random(seed)
        yield from itertools.accumulate((lot.expovariate(1 / interval_s) for _ in itertools.count()), initial=start_s)


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    plan = json.loads(argv[0])
    start_s, stop_s, flows = plan["start_s"], plan["stop_s"], plan["flows"]
    sent = [[0] * (int((stop_s - start_s) * BINS_A_SECOND) + 1) for _ in flows]
    links = [opened(flow) for flow in flows]
    times_s = [due_times_s(flow["start_s"], flow["interval_s"], flow["interval_seed"]) for flow in flows]
    due = [(next(times), flow, 0) for flow, times in enumerate(times_s)]
    heapq.heapify(due)
    while due and due[0][0] < stop_s:
        due_s, flow, number = due[0]
        wait_s = due_s - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        place = int((time.monotonic() - start_s) * BINS_A_SECOND)
        if place >= len(sent[flow]):
            break
        about = flows[flow]
        payload = HEADER.pack(number, place).ljust(about["size_bytes"], b"\0")
        links[flow].sendto(payload, (about["address"], about["port"]))
        sent[flow][place] += 1
        heapq.heapreplace(due, (next(times_s[flow]), flow, number + 1))
    print(json.dumps({"sent": sent}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
