"""The connection of one class: packet-ins of the class come on it, packet-outs of the class leave on it."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any, Protocol

from ryu.lib import hub

from mininet_topos.errors import ArmorError
from ryu_apps.control.datapath import peer_of, read_messages
from ryu_apps.control.limited_lines import LimitedLog
from ryu_apps.control.listening import count_offence
from ryu_apps.control.priority.decide.channels import switch_of
from ryu_apps.control.priority.sender import Sender
from ryu_apps.control.priority.sockets import keep_short, mark, prepare, why_unsent
from ryu_apps.control.priority.waiting import Event
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import VERSION, MsgType, header
from ryu_apps.pmt.channels import async_masks, set_async
from ryu_apps.pmt.rules import PolicyMapTable

_LINES = LimitedLog(logging.getLogger("pso"))
MAX_UNSENT_BYTES = 1 << 16  # of answers to echo requests: with more waiting the connection is not read from
# What apps hear of what comes here, as if from the main connection; the rest answers PSO itself.
_NOTIFICATIONS = (MsgType.PORT_STATUS, MsgType.FLOW_REMOVED)
_TO_APPS = (MsgType.ERROR, MsgType.MULTIPART_REPLY, MsgType.QUEUE_REPLY)


class Registry(Protocol):
    """Who knows all switches."""

    def channel_known(self, channel: ClassChannel) -> None:
        """A per-class connection has said whose it is."""

    def channel_closed(self, channel: ClassChannel) -> None:
        """A per-class connection has ended."""

    def error(self, kind: str) -> None:
        """Count an error."""


class Link(Protocol):
    """All connections of the switch that a class connection belongs to."""

    table: PolicyMapTable
    sender: Sender

    def repeated_for(self, class_id: int) -> list[bytes]:
        """What a class connection that comes late has to hear."""

    def channel_ready(self, channel: ClassChannel) -> None:
        """A class connection has got its id."""

    def channel_gone(self, channel: ClassChannel) -> None:
        """A class connection has ended."""

    def deliver(self, message: bytes, class_id: int | None = None) -> None:
        """Give a message to the apps."""

    def is_behind(self, class_id: int, caught_up: Event) -> bool:
        """Whether a class connection need not be read for now."""


class ClassChannel:
    """A per-class connection, from its first byte to its end.

    Parameters
    ----------
    connection : socket
    address : tuple
        Of the switch.
    """

    def __init__(self, connection: Any, address: Any, class_id: int, registry: Registry) -> None:
        self.address, self.class_id = address, class_id
        self.peer = peer_of(connection, address)
        self.dpid: int | None = None
        self.link: Link | None = None
        self._is_ready = self._is_paused = False
        self._has_offended = True  # until it has said whose it is
        self._socket, self._registry, self._is_open = connection, registry, True
        self._urgent = bytearray()
        self._work, self._caught_up = Event(), Event()
        self._replies: dict[int, Callable[[], None]] = {}
        self._xids = itertools.count(1)
        prepare(connection)
        keep_short(connection)

    def serve(self, timeout_s: float) -> None:
        """Hold the conversation until the connection ends.

        Parameters
        ----------
        timeout_s
            How long the switch may take to say who it is, and not take what is sent to it.
        """
        self._socket.settimeout(timeout_s)
        writer = hub.spawn(self._write)
        self.control(encode.hello(), encode.features_request(next(self._xids)))
        late = hub.spawn_after(timeout_s, self._give_up)
        try:
            read_messages(self._socket, lambda: self._is_open, self._received)
        except ArmorError as error:
            self._has_offended = True
            self._registry.error("malformed")
            _LINES.error("malformed messages", f"per-class connection of {self.address} is closed: {error}")
        finally:
            self._is_open = False
            if self._has_offended:
                count_offence(self.address)
            self._registry.channel_closed(self)
            hub.kill(late)
            hub.kill(writer)
            self._socket.close()

    def control(self, *messages: bytes) -> None:
        """Send what belongs to the connection itself, before packet-outs."""
        self._urgent += b"".join(messages)
        self._work.ring()

    def say_something(self) -> None:
        """Say something to a switch whose own probes are not read now, or it would take the connection for lost."""
        if self._is_paused:
            self.control(encode.echo_request())

    def wake(self) -> None:
        """Packet-outs may be waiting."""
        self._work.ring()

    def fence(self) -> None:
        """Ask the switch to say when it has carried out all packet-outs so far."""
        self._ask_barrier(self._fence_passed)

    def introduce(self, link: Link) -> None:
        """Give the connection its id and its masks; it is ready when the switch has taken both."""
        self.link, self._is_ready = link, False
        mask = set_async(async_masks(link.table)[self.class_id], next(self._xids))
        self.control(encode.set_controller_id(self.class_id, next(self._xids)), mask, *link.repeated_for(self.class_id))
        self._ask_barrier(self._introduced)

    def mark(self, dscp: int) -> None:
        """Mark what is sent from now on."""
        mark(self._socket, dscp)

    def detach(self) -> None:
        """The main connection is gone; wait for the next."""
        self.link, self._is_ready = None, False
        self._caught_up.ring()

    def close(self) -> None:
        """End the connection."""
        self._is_open = False
        self._urgent.clear()
        self._work.ring()
        self._caught_up.ring()
        hub.spawn(_shut, self._socket)

    def _ask_barrier(self, then: Callable[[], None]) -> None:
        xid = next(self._xids)
        self._replies[xid] = then
        self._caught_up.ring()  # the reply comes behind what has not been read yet
        self.control(encode.barrier_request(xid))

    def _introduced(self) -> None:
        if self.link is not None:
            self._is_ready = True
            self.link.channel_ready(self)

    def _fence_passed(self) -> None:
        if self.link is not None:
            self.link.sender.fence_passed(self.class_id)

    def _give_up(self) -> None:
        if self.dpid is None:
            self._registry.error("no handshake")
            self.close()

    def _received(self, message: bytes) -> None:
        if message[1] == MsgType.PACKET_IN and message[0] == VERSION:
            self._packet_in(message)
            return
        head = header(message)
        if head.msg_type == MsgType.ECHO_REQUEST:
            self._answer_echo(message)
        elif head.msg_type == MsgType.FEATURES_REPLY:
            before, self.dpid = self.dpid, switch_of(self.dpid, message)
            if before is None:
                self._has_offended = False
                self._registry.channel_known(self)
        elif head.msg_type == MsgType.BARRIER_REPLY:
            self._replies.pop(head.xid, _nothing)()
        elif self.link is not None and head.version == VERSION and self._is_for_apps(head.msg_type):
            self.link.deliver(message)

    def _answer_echo(self, request: bytes) -> None:
        """Answer, and do not read on while too many answers wait; a switch that takes none runs into the timeout."""
        self.control(encode.echo_reply(request))
        while self._is_open and len(self._urgent) > MAX_UNSENT_BYTES:
            self._caught_up.wait()

    def _is_for_apps(self, msg_type: int) -> bool:
        # Until this connection is ready, the main connection brings notifications, too.
        return msg_type in _TO_APPS or (self._is_ready and msg_type in _NOTIFICATIONS)

    def _packet_in(self, message: bytes) -> None:
        if self.link is None or not self._is_ready:
            return  # until it has its id, the main connection gets the same packet-in
        # The switch has sorted it by the same table.
        self.link.deliver(message, self.class_id)
        while self._must_wait():
            self._is_paused = True
            self._caught_up.wait()
        self._is_paused = False

    def _must_wait(self) -> bool:
        """Whether not to read on: too much waits already, and nothing but packet-ins is expected."""
        if self._replies or not self._is_open or self.link is None:
            return False
        return self.link.is_behind(self.class_id, self._caught_up)

    def _write(self) -> None:
        try:
            while self._is_open:
                chunk = bytes(self._urgent)
                self._urgent.clear()
                if chunk:
                    self._caught_up.ring()
                if not chunk and self.link is not None and self._is_ready:
                    chunk = self.link.sender.next_apart(self.class_id)
                if chunk:
                    self._socket.sendall(chunk)
                else:
                    self._work.wait()
        except OSError as error:
            if self._is_open:
                self._registry.error(why_unsent(error))
            self.close()


def _nothing() -> None:
    """What a barrier reply that nobody waits for leads to."""


def _shut(connection: Any) -> None:
    """Wake the readers of a socket; it may be closed already."""
    import socket

    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
