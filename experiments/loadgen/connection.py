"""One connection of an emulated switch to a controller: a bounded queue of packet-ins, and what comes back.

As in Open vSwitch, replies and packet-ins share one queue in order, at most `queue_pkts` packet-ins wait in it, and
what finds it full is dropped (lib/rconn.c, ofproto/pinsched.c; controller_queue_size).
"""

from __future__ import annotations

import json
import socket
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from experiments.loadgen.decide.packets import answered_serial
from experiments.loadgen.decide.switch import Heard, Meaning, describe_error, hear, opening
from ryu_apps.openflow.wire import split_messages

QUEUE_PKTS = 100
READ_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Target:
    """Where a connection goes, and how its packets are marked.

    Attributes
    ----------
    dscp
        Of everything that the switch sends; 48 (CS6) is Open vSwitch's default.
    send_buffer_bytes
        SO_SNDBUF; 0: what the kernel chooses.
    is_class
        Whether the controller gives this connection a controller id (NXT_SET_CONTROLLER_ID) before it is used.
    source
        Address that the switch connects from; empty: the kernel's choice.
    """

    host: str
    port: int
    dscp: int = 48
    send_buffer_bytes: int = 0
    is_class: bool = False
    source: str = ""

    def to_text(self) -> str:
        """For a command line.

        Examples
        --------
        >>> Target.from_text(Target("127.0.0.1", 6656, dscp=40).to_text()).dscp
        40
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Target:
        """From what `to_text` gives."""
        return cls(**json.loads(text))


Sent = Callable[[int, float], None]
Hear = Callable[[bytes, int], Heard]


def _nothing(_serial: int, _now_s: float) -> None:
    """Nobody waits for this."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a switch talks.

    Attributes
    ----------
    hear : callable
        (message, datapath id) -> what it means and the reply.
    opening
        What it says first.
    on_echo : callable
        Called with (transaction id, now_s) when an echo reply comes.
    """

    hear: Hear = hear
    opening: bytes = field(default_factory=opening)
    on_echo: Sent = _nothing


GOOD = Manner()


class Connection:
    """A connection that neither blocks nor raises: when it ends, `gone` says why.

    Parameters
    ----------
    link : socket
        Connected; made non-blocking here.
    on_sent, on_answer : callable
        Called with (serial, now_s) when a packet-in has left whole, and when a message lets its packet go on.
    queue_pkts
        Packet-ins that may wait.
    manner
        How the switch talks; by default as OpenFlow says.

    Attributes
    ----------
    reads, read_bytes
        Whether it reads, and how much at a time.
    """

    def __init__(
        self,
        link: socket.socket,
        dpid: int,
        on_sent: Sent,
        on_answer: Sent,
        queue_pkts: int = QUEUE_PKTS,
        *,
        manner: Manner = GOOD,
    ) -> None:
        link.setblocking(False)
        self.link, self.dpid = link, dpid
        self.controller_id: int | None = None
        self.has_handshake = False
        self.reads, self.read_bytes = True, READ_BYTES
        self.gone: str | None = None
        self.errors: Counter[str] = Counter()
        self.heard: Counter[str] = Counter()
        self._on_sent, self._on_answer, self._manner = on_sent, on_answer, manner
        self._queue_pkts, self._waiting_pkts = queue_pkts, 0
        self._queue: deque[tuple[bytes, int | None]] = deque()
        self._at = 0
        self._rest = b""
        self._say(manner.opening, 0.0)

    def fileno(self) -> int:
        """For select()."""
        return self.link.fileno()

    @property
    def wants_to_write(self) -> bool:
        """Whether something waits for room in the kernel."""
        return bool(self._queue) and self.gone is None

    def offer(self, message: bytes, serial: int, now_s: float) -> bool:
        """Take a packet-in, or refuse it because too many wait or the connection is gone."""
        if self.gone is not None or self._waiting_pkts >= self._queue_pkts:
            return False
        self._queue.append((message, serial))
        self._waiting_pkts += 1
        self.flush(now_s)
        return True

    def flush(self, now_s: float) -> None:
        """Give the kernel what it takes now."""
        try:
            while self._queue:
                message, serial = self._queue[0]
                self._at += self.link.send(message[self._at :] if self._at else message)
                if self._at < len(message):
                    return
                self._queue.popleft()
                self._at = 0
                if serial is not None:
                    self._waiting_pkts -= 1
                    self._on_sent(serial, now_s)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(f"sending failed: {error.strerror}")

    def read(self, now_s: float) -> None:
        """Take what has come, answer requests, tell about answers."""
        try:
            data = self.link.recv(self.read_bytes)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(f"reading failed: {error.strerror}")
            return
        if not data:
            self._end("the controller closed it")
            return
        messages, self._rest = split_messages(self._rest + data)
        for message in messages:
            self._hear(message, now_s)

    def _hear(self, message: bytes, now_s: float) -> None:
        heard = self._manner.hear(message, self.dpid)
        self.heard[heard.meaning.value] += 1
        if heard.meaning is Meaning.COMMAND:
            serial = answered_serial(message)
            if serial is not None:
                self._on_answer(serial, now_s)
        elif heard.meaning is Meaning.FEATURES:
            self.has_handshake = True
        elif heard.meaning is Meaning.ECHO:
            self._manner.on_echo(heard.number, now_s)
        elif heard.meaning is Meaning.CONTROLLER_ID:
            self.controller_id = heard.number
        elif heard.meaning is Meaning.ERROR:
            self.errors[describe_error(message)] += 1
        if heard.reply:
            self._say(heard.reply, now_s)

    def _say(self, message: bytes, now_s: float) -> None:
        self._queue.append((message, None))
        self.flush(now_s)

    def _end(self, why: str) -> None:
        if self.gone is None:
            self.gone = why
            self._queue.clear()
            self._waiting_pkts = 0

    def close(self) -> None:
        """End the connection."""
        self._end("closed here")
        self.link.close()


def connection_of(connections: Sequence[Connection], controller_id: int) -> Connection:
    """Connection with that controller id, or the first: what no connection is named for goes there.

    Parameters
    ----------
    connections
        Of one switch, at least one.
    """
    return next((each for each in connections if each.controller_id == controller_id), connections[0])


def connect(target: Target, timeout_s: float = 5.0) -> socket.socket:
    """A connection to a controller; each message leaves at once, as Open vSwitch sends it (TCP_NODELAY).

    Raises
    ------
    OSError
        Nobody listens there.
    """
    link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, target.dscp << 2)
        if target.send_buffer_bytes:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, target.send_buffer_bytes)
        link.settimeout(timeout_s)
        if target.source:
            link.bind((target.source, 0))
        link.connect((target.host, target.port))
    except OSError:
        link.close()
        raise
    return link
