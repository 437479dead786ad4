"""A conversation with one switch: bytes out in order, replies back to the caller, errors as exceptions.

One greenlet writes, so that messages leave in the order in which they were given, and nobody but it waits
for a slow switch. A request carries one transaction id in all its messages; its barrier reply, or the last
part of its dump, ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from ryu.lib import hub

from mininet_topos.errors import ArmorError
from ryu_apps.control.decide.reply_limit import Gathered
from ryu_apps.control.turns import Turns
from ryu_apps.openflow import encode
from ryu_apps.openflow.messages import DumpPart, ErrorMessage, Received
from ryu_apps.openflow.wire import WireError, with_xid

CHUNK_BYTES = 1 << 12  # some forty flow-mods: under PSO each is classified while other switches wait
MAX_POSTED = 1000
Entry = TypeVar("Entry")


class SwitchGoneError(ArmorError):
    """The connection to the switch is gone, or it does not answer."""


class SwitchClosedError(SwitchGoneError):
    """The connection has ended; when the switch comes back, all starts anew."""


class SwitchRefusedError(ArmorError):
    """The switch refused messages of a request."""

    def __init__(self, errors: list[ErrorMessage]) -> None:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(f"{errors[0]}{more}")
        self.errors = errors


@dataclass
class _Pending:
    """A request that waits for its end."""

    done: Any = field(default_factory=hub.Event)
    replies: list[DumpPart] = field(default_factory=list)
    errors: list[ErrorMessage] = field(default_factory=list)
    gathered: Gathered = field(default_factory=Gathered)


class SwitchChannel:
    """Requests to, and replies from, one connected switch.

    Parameters
    ----------
    datapath : ryu.controller.controller.Datapath
    timeout_s
        How long a request may take.
    """

    def __init__(self, datapath: Any, timeout_s: float = 30.0) -> None:
        self.datapath = datapath
        self.timeout_s = timeout_s
        self.closed = False
        self.posts_dropped = 0
        self._pending: dict[int, _Pending] = {}
        self._outbox: Any = hub.Queue()
        self._turns = Turns()
        self._writer = hub.spawn(self._write)

    def close(self) -> None:
        """End the conversation: waiting callers get `SwitchGoneError`."""
        self.closed = True
        self._outbox.put(None)
        for pending in self._pending.values():
            pending.done.set()

    def post(self, message: bytes) -> None:
        """Send without waiting for anything; dropped, and counted, when the switch takes nothing any more."""
        if self._outbox.qsize() >= MAX_POSTED:
            self.posts_dropped += 1
        else:
            self._outbox.put(message)

    def apply(self, messages: Iterable[bytes]) -> None:
        """Send messages, and return once the switch has carried out all of them.

        Raises
        ------
        SwitchRefusedError
            Some were refused; the others are in effect.
        SwitchGoneError
            No answer: nothing is known of what is in effect.
        """
        self.send(messages)()

    def send(self, messages: Iterable[bytes]) -> Callable[[], None]:
        """Send messages now; the function that comes back waits until the switch has carried them out, as `apply` does.

        Raises
        ------
        SwitchClosedError
            The connection has ended.
        """
        xid, pending = self._begin()
        self._send((*(with_xid(message, xid) for message in messages), encode.barrier_request(xid)))

        def confirm() -> None:
            self._finish(xid, pending)

        return confirm

    def apply_at_once(self, messages: Iterable[bytes]) -> None:
        """Send messages as one atomic bundle: all of them come into effect together, or none does.

        Raises
        ------
        SwitchRefusedError
            One was refused, or the switch knows no bundles; nothing is in effect.
        SwitchGoneError
            No answer: nothing is known of what is in effect.
        """
        xid, pending = self._begin()
        self._send((encode.bundle(xid, messages, xid=xid), encode.barrier_request(xid)))
        self._finish(xid, pending)

    def dump(self, request: Callable[..., bytes], entry: type[Entry], **filters: int) -> list[Entry]:
        """All entries of a multipart reply, which have to be of one type.

        Raises
        ------
        SwitchRefusedError, SwitchGoneError, WireError
        """
        xid, pending = self._begin()
        self._send((request(**filters, xid=xid),))
        entries: list[Entry] = []
        for part in self._finish(xid, pending):
            found = [each for each in part.entries if isinstance(each, entry)]
            if len(found) != len(part.entries):
                raise WireError(f"a request for {entry.__name__} entries was answered by a dump of type {part.kind}")
            entries += found
        return entries

    def on_message(self, received: Received) -> bool:
        """Take a reply or an error; False: it answers no request that waits."""
        pending = self._pending.get(received.xid)
        if pending is None:
            return False
        if not self._has_room(pending, received):
            return True
        if isinstance(received.value, ErrorMessage):
            pending.errors.append(received.value)
        elif isinstance(received.value, DumpPart):
            pending.replies += [received.value] * bool(received.value.entries)
        if received.ends_request:
            pending.done.set()
        return True

    def _has_room(self, pending: _Pending, received: Received) -> bool:
        """Count a message to its request; one that makes the reply too long ends the connection."""
        if pending.gathered.too_long:
            return False  # the connection is ending
        n_entries = len(received.value.entries) if isinstance(received.value, DumpPart) else 1
        pending.gathered = pending.gathered.with_part(received.n_bytes, n_entries)
        text = pending.gathered.too_long
        if text:
            pending.replies.clear()
            pending.errors.clear()
            self.close()
            hub.spawn(self._give_up, text)  # the caller is the app that has to take the events of this
        return not text

    def _give_up(self, text: str) -> None:
        self.datapath.refuse("overlong", f"{text}; its connection is closed")
        self.datapath.close_refused()

    def _begin(self) -> tuple[int, _Pending]:
        if self.closed:
            raise SwitchClosedError(f"switch {self.datapath.id} is not connected")
        # Ryu numbers its own messages from the same counter, so no two share an id.
        self.datapath.xid = (self.datapath.xid + 1) & 0xFFFFFFFF
        pending = self._pending[self.datapath.xid] = _Pending()
        return self.datapath.xid, pending

    def _send(self, messages: Iterable[bytes]) -> None:
        chunk: list[bytes] = []
        size = 0
        for message in messages:
            chunk.append(message)
            size += len(message)
            if size >= CHUNK_BYTES:
                self._outbox.put(b"".join(chunk))
                chunk, size = [], 0
                hub.sleep(0)
        self._outbox.put(b"".join(chunk))

    def _finish(self, xid: int, pending: _Pending) -> list[DumpPart]:
        try:
            ended = pending.done.wait(self.timeout_s)
        finally:
            del self._pending[xid]
        if self.closed:
            raise SwitchClosedError(f"switch {self.datapath.id} has closed its connection")
        if not ended:
            raise SwitchGoneError(f"switch {self.datapath.id} did not answer within {self.timeout_s:g} s")
        if pending.errors:
            raise SwitchRefusedError(pending.errors)
        return pending.replies

    def _write(self) -> None:
        while not self.closed:
            messages = self._outbox.get()
            if messages and not self._turns.do(partial(self.datapath.send, messages)):
                self.close()
