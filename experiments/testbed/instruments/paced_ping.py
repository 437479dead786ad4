"""Sends echo requests at a pace that it keeps, whatever the answers do.

    python paced_ping.py ADDRESS INTERVAL_S COUNT WAIT_S PAYLOAD_BYTES

iputils' ping is not used for measurements: between two requests it waits for answers with a timeout that the kernel
rounds up to its tick, so that a pair with quick answers gets up to a third fewer requests at 10 ms than a pair with
slow ones. Here the n-th request leaves n intervals after the first, and a late one at once; nothing is left out.
It is run as a file, by its path, so it imports nothing but the standard library.
"""

from __future__ import annotations

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


def is_answer(packet: bytes, identifier: int) -> bool:
    """Whether an IPv4 packet, as a raw socket gives it, answers one of our requests."""
    start = (packet[0] & 0x0F) * _IPV4_WORD_BYTES
    return packet[start] == _ECHO_REPLY and struct.unpack_from(">H", packet, start + 4)[0] == identifier


def send_all(
    link: socket.socket, identifier: int, interval_s: float, count: int, wait_s: float, *, payload: bytes
) -> str:
    """Send `count` requests, wait for the last answers, and say what was counted in the words of ping.

    A KeyboardInterrupt ends it early.
    """
    sent = answered = 0
    try:
        start_s = time.monotonic()
        while sent < count or answered < sent:
            due_s = start_s + (sent * interval_s if sent < count else (count - 1) * interval_s + wait_s)
            left_s = due_s - time.monotonic()
            if left_s <= 0:
                if sent == count:
                    break
                link.send(echo_request(identifier, sent, payload))
                sent += 1
            # Also when it is late: answers that nobody reads fill the socket's buffer, and the next ones are lost.
            if select.select([link], [], [], max(0.0, left_s))[0]:
                answered += is_answer(link.recv(_RECEIVE_BYTES), identifier)
    except KeyboardInterrupt:
        pass
    return f"{sent} packets transmitted, {answered} received"


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
