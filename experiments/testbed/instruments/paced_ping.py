"""Sends echo requests at a pace that it keeps, whatever the answers do.

    python paced_ping.py ADDRESS INTERVAL_S COUNT WAIT_S PAYLOAD_BYTES

iputils' ping is not used for measurements: between two requests it waits for answers with a timeout that the kernel
rounds up to its tick, so that a pair with quick answers gets up to a third fewer requests at 10 ms than a pair with
slow ones. Here the n-th request leaves n intervals after the first, and a late one at once; nothing is left out.
Lines of output: when the first request left, printed as soon as a request is answered; how many requests and answers
there were, and how late the latest request left; the JSON list of [number, when it left] of each unanswered request
(times are CLOCK_MONOTONIC, seconds).
It is run as a file, by its path, so it imports nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys
import time

_ECHO_REPLY, _ECHO_REQUEST = 0, 8
_SOL_RAW, _ICMP_FILTER = 255, 1  # linux/icmp.h; the filter has a bit for each type that is not wanted
_RECEIVE_BYTES = 2048
_IPV4_WORD_BYTES = 4


def echo_request(identifier: int, sequence: int, payload: bytes) -> bytes:
    """An ICMP echo request with its checksum (RFC 792, RFC 1071)."""
    body = struct.pack(">HH", identifier, sequence & 0xFFFF) + payload
    return struct.pack(">BBH", _ECHO_REQUEST, 0, checksum(struct.pack(">BBH", _ECHO_REQUEST, 0, 0) + body)) + body


def checksum(data: bytes) -> int:
    """Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def answered_sequence(packet: bytes, identifier: int) -> int | None:
    """Sequence number of our request that an IPv4 packet, as a raw socket gives it, answers; None: it answers none."""
    start = (packet[0] & 0x0F) * _IPV4_WORD_BYTES
    found, sequence = struct.unpack_from(">HH", packet, start + 4)
    return sequence if packet[start] == _ECHO_REPLY and found == identifier else None


class Requests:
    """When each request was sent, and which have no answer yet."""

    def __init__(self) -> None:
        self.sent, self._latest_s = 0, 0.0
        self._unanswered: dict[int, float] = {}
        self._number_of: dict[int, int] = {}  # by sequence number, which has 16 bits

    @property
    def answered(self) -> int:
        """How many have an answer."""
        return self.sent - len(self._unanswered)

    def note_sent(self, now_s: float, late_s: float = 0.0) -> None:
        """The next one leaves, so many seconds late."""
        self._latest_s = max(self._latest_s, late_s)
        self._number_of[self.sent & 0xFFFF] = self.sent
        self._unanswered[self.sent] = now_s
        self.sent += 1

    def note_answer(self, sequence: int | None) -> None:
        """An answer came; a second copy changes nothing."""
        if sequence in self._number_of:
            self._unanswered.pop(self._number_of[sequence], None)

    def __str__(self) -> str:
        unanswered = [(number, round(sent_s, 6)) for number, sent_s in self._unanswered.items()]
        counts = (
            f"{self.sent} packets transmitted, {self.answered} received, at most {1000 * self._latest_s:.1f} ms late"
        )
        return f"{counts}\n{json.dumps(unanswered)}"


def send_all(
    link: socket.socket, identifier: int, interval_s: float, count: int, wait_s: float, *, payload: bytes
) -> Requests:
    """Send `count` requests, and wait for the last answers.

    A KeyboardInterrupt ends it early.
    """
    requests = Requests()
    is_said = False
    try:
        start_s = time.monotonic()
        while requests.sent < count or requests.answered < requests.sent:
            due_s = start_s + (
                requests.sent * interval_s if requests.sent < count else (count - 1) * interval_s + wait_s
            )
            left_s = due_s - time.monotonic()
            if left_s <= 0:
                if requests.sent == count:
                    break
                request = echo_request(identifier, requests.sent, payload)
                requests.note_sent(time.monotonic(), -left_s)
                link.send(request)
            # Also when it is late: answers that nobody reads fill the socket's buffer, and the next ones are lost.
            if select.select([link], [], [], max(0.0, left_s))[0]:
                requests.note_answer(answered_sequence(link.recv(_RECEIVE_BYTES), identifier))
            if requests.answered and not is_said:
                print(f"{start_s:.6f}", flush=True)
                is_said = True
    except KeyboardInterrupt:
        pass
    return requests


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    address, interval_s, count, wait_s, payload_bytes = argv
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit that it is ignored
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as link:
        link.setsockopt(_SOL_RAW, _ICMP_FILTER, struct.pack("I", ~(1 << _ECHO_REPLY) & 0xFFFFFFFF))
        link.connect((address, 0))
        payload = bytes(int(payload_bytes))
        print(send_all(link, os.getpid() & 0xFFFF, float(interval_s), int(count), float(wait_s), payload=payload))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
