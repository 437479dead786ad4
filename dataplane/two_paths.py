"""Two hosts behind two nodes with three links between, for trials of packet programs without a bridge.

    h1 (h0) -- (h) s1 ==p1==p2==p3== s2 (h) -- (h0) h2

Four network namespaces; nothing of it is left afterwards. Numbered frames go from host to host by packet sockets, so
that the hosts' own stacks, which are there as well (10.0.0.1 and 10.0.0.2), do not count or lose any.
"""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address

from dataplane.devices import PATH_MTU, switch_offloads_off
from dataplane.model.tunnel_header import checksum
from machine.places import call_inside, inside, pin_receive, private_namespace, run_batch, run_program, usable_processor

LINKS = ("p1", "p2", "p3")
H1_ADDRESS, H2_ADDRESS = IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2")
HEADERS_BYTES = 42  # Ethernet, IPv4, UDP
PORT = 7001
_MAC = {"h1": "02:00:00:00:00:01", "h2": "02:00:00:00:00:02"}
_NUMBER = struct.Struct("!I")
_SO_RCVBUFFORCE = 33  # Linux, where the socket module lacks it
_BUFFER_BYTES = 256 << 20
_TICK_S = 0.0005
_SILENCE_S = 0.3


@dataclass(frozen=True)
class StreamCount:
    """What became of a numbered stream: `reordered` came after a higher number, first copies only."""

    sent: int
    received: int
    lost: int
    duplicated: int
    reordered: int


def count_stream(sent: int, numbers: Sequence[int]) -> StreamCount:
    """Count losses, duplicates and reorderings.

    Parameters
    ----------
    sent
        Packets sent, numbered from 0.
    numbers
        Numbers in the order of their arrival.
    """
    first, highest, reordered = dict.fromkeys(numbers), -1, 0
    for number in first:
        reordered += number < highest
        highest = max(highest, number)
    return StreamCount(sent, len(numbers), sent - len(first), len(numbers) - len(first), reordered)


@dataclass(frozen=True)
class TwoPaths:
    """The testbed: ids of processes in its four namespaces."""

    h1: int
    s1: int
    s2: int
    h2: int

    def fail(self, link: str, *, own_end: bool = False) -> int:
        """Take a link down at s2, or at s1 itself (`own_end`); returns CLOCK_MONOTONIC nanoseconds of the order."""
        return self._set(link, "down", own_end)

    def repair(self, link: str, *, own_end: bool = False) -> int:
        """Bring a link up again."""
        return self._set(link, "up", own_end)

    def _set(self, link: str, state: str, own_end: bool) -> int:
        asked = time.monotonic_ns()
        run_program(inside(self.s1 if own_end else self.s2, ["ip", "link", "set", "dev", link, state]))
        return asked

    def silence(self, link: str) -> None:
        """Drop what s1 sends into a link, without anybody seeing it (a queue of no packets at s1)."""
        words = ["tc", "qdisc", "add", "dev", link, "root", "handle", "1:", "tbf", "rate", "8bit", "burst", "1b"]
        run_program(inside(self.s1, [*words, "limit", "1b"]))

    def listen(self) -> socket.socket:
        """A socket at h2 that keeps all that arrives from now on."""

        def make() -> socket.socket:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(0x0800))
            made.bind(("h0", 0x0800))
            made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_BYTES)
            return made

        return call_inside(self.h2, make)

    def sender(self) -> socket.socket:
        """A socket at h1 that sends whole frames."""

        def make() -> socket.socket:
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            made.bind(("h0", 0))
            return made

        return call_inside(self.h1, make)

    def send(
        self,
        rate_pps: int,
        seconds: float,
        frame_bytes: int = 106,
        enough: Callable[[int], bool] | None = None,
    ) -> int:
        """Send numbered UDP frames from h1 to h2 at a steady rate; returns how many.

        A frame that the sender's own interface refuses is not sent and tried again; time lost is made good at twice
        the rate, because a processor's queue of received packets is short. `enough`, if given, is called all the time
        how many were sent; frames go on after their time until it is true.
        """
        count, sent, began_s = round(rate_pps * seconds), 0, time.monotonic()
        most = max(2, int(2 * rate_pps * _TICK_S))
        with self.sender() as sender:
            while True:
                is_over = enough is None or enough(sent)
                if sent >= count and is_over:
                    return sent
                due = min(sent + most, int((time.monotonic() - began_s) * rate_pps) + 1)
                due = min(due, count) if sent < count else due
                for frame in numbered_frames(frame_bytes, range(sent, due)):
                    _send_surely(sender, frame)
                sent = due
                time.sleep(_TICK_S)


def _send_surely(sender: socket.socket, frame: bytes) -> None:
    while not _is_sent(sender, frame):
        time.sleep(_TICK_S)


def _is_sent(sender: socket.socket, frame: bytes) -> bool:
    try:
        sender.send(frame)
    except OSError as error:
        if error.errno != errno.ENOBUFS:
            raise
        return False
    return True


def numbered_frames(frame_bytes: int, numbers: Iterable[int]) -> Iterator[bytes]:
    """UDP frames of h1 to h2 of so many bytes, each with its number."""
    head, rest = frame_head(frame_bytes), bytes(frame_bytes - HEADERS_BYTES - _NUMBER.size)
    for number in numbers:
        yield head + _NUMBER.pack(number) + rest


def frame_head(frame_bytes: int) -> bytes:
    """Ethernet, IPv4 and UDP header of a frame of so many bytes in all; no UDP checksum."""
    total = frame_bytes - 14
    ends = H1_ADDRESS.packed + H2_ADDRESS.packed
    head = struct.pack("!BBHHHBB", 0x45, 0, total, 0, 0, 64, 17)
    ip = head + checksum(head + b"\0\0" + ends).to_bytes(2, "big") + ends
    macs = bytes.fromhex((_MAC["h2"] + _MAC["h1"]).replace(":", ""))
    return macs + b"\x08\0" + ip + struct.pack("!HHHH", PORT, PORT, total - 20, 0)


def numbers_in(receiver: socket.socket, silence_s: float = _SILENCE_S) -> list[int]:
    """Numbers of all test frames that a socket holds, and that come until nothing has come for a while."""
    found: list[int] = []
    quiet_until = time.monotonic() + silence_s
    while True:
        try:
            data = receiver.recv(4096)
        except BlockingIOError:
            if time.monotonic() > quiet_until:
                return found
            time.sleep(0.005)
            continue
        quiet_until = time.monotonic() + silence_s
        if len(data) >= HEADERS_BYTES + _NUMBER.size and data[23] == 17 and data[36:38] == PORT.to_bytes(2, "big"):
            found.append(_NUMBER.unpack_from(data, HEADERS_BYTES)[0])


@contextmanager
def two_paths() -> Iterator[TwoPaths]:
    """Build the testbed; it is gone afterwards, also after kill -9 of this program.

    Raises
    ------
    CommandError
        A namespace cannot be made.
    """
    with ExitStack() as stack:
        h1, s1, s2, h2 = (stack.enter_context(private_namespace()) for _ in range(4))
        for host, node, mine, peer, address in ((h1, s1, "h1", "h2", H1_ADDRESS), (h2, s2, "h2", "h1", H2_ADDRESS)):
            other = H2_ADDRESS if address == H1_ADDRESS else H1_ADDRESS
            pair = f"link add dev h0 address {_MAC[mine]} type veth peer name h netns {node}"
            run_batch(host, ["ip", "-batch", "-"], [pair, "link set dev h0 up", f"addr add {address}/24 dev h0"])
            run_batch(host, ["ip", "-batch", "-"], [f"neigh replace {other} lladdr {_MAC[peer]} dev h0"])
            run_batch(node, ["ip", "-batch", "-"], ["link set dev h up"])
            switch_offloads_off(host, ["h0"])
            # Packets of a connection that are handled on two processors overtake each other.
            pin_receive(node, {"h": usable_processor(len(mine) + (host == h2))})
        lines = [
            f"link add dev {link} mtu {PATH_MTU} type veth peer name {link} mtu {PATH_MTU} netns {s2}" for link in LINKS
        ]
        run_batch(s1, ["ip", "-batch", "-"], [*lines, *(f"link set dev {link} up" for link in LINKS)])
        run_batch(s2, ["ip", "-batch", "-"], [f"link set dev {link} up" for link in LINKS])
        yield TwoPaths(h1, s1, s2, h2)
