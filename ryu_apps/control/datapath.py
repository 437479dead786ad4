"""Ryu's connection to a switch, with lengths checked before any parser, and one decoding for each message.

`ServedDatapath` takes the place of Ryu's `Datapath`. Ryu negotiates the version as ever, with its own parsers. Once it
has, a message is decoded by Armor's codec, for the apps of Armor, and by Ryu's parsers only while some other app in the
process listens to Ryu's messages.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from ryu.base import app_manager
from ryu.controller import controller as ryu_controller
from ryu.controller import ofp_event
from ryu.controller.event import EventBase
from ryu.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER
from ryu.lib import hub
from ryu.ofproto import ofproto_parser

from mininet_topos.errors import ArmorError
from ryu_apps.control.decide.asked import Asked
from ryu_apps.control.decide.peers import Peer
from ryu_apps.control.limited_lines import LimitedLog, LimitedRecords
from ryu_apps.control.listening import count_offence
from ryu_apps.control.turns import Turns
from ryu_apps.openflow import encode
from ryu_apps.openflow.decode import decode_received
from ryu_apps.openflow.lengths import check_received
from ryu_apps.openflow.messages import Received
from ryu_apps.openflow.wire import VERSION, MsgType, WireError, header, split_messages

_LOG = logging.getLogger("armor.datapath")
_LINES = LimitedLog(_LOG)
_LOGGERS_OF_RYU = ("OFPHandler", "ryu.ofproto.ofproto_parser")  # each writes lines about what a switch sends
_OF_RYU = LimitedRecords(_LOG)
HANDSHAKE_S = 10.0
NO_HANDSHAKE, REFUSED_SWITCH = "no handshake", "refused switch"
_READ_BYTES = 16384
_RYU_FACTORY = ryu_controller.datapath_connection_factory
_APPS: set[str] = set()  # names of the apps that take `MessageReceived`, and need nothing of Ryu's parsers


class MessageReceived(EventBase):
    """A switch has sent a message (`received`); only while its connection is in Ryu's main state."""

    def __init__(self, datapath: Any, received: Received) -> None:
        super().__init__()
        self.datapath, self.received = datapath, received


class MessageRefused(EventBase):
    """A switch has sent what cannot be used.

    Attributes
    ----------
    kind
        "malformed", and the connection is closed; "unusable": Ryu fell over it, closed; "unparsable" by Ryu,
        "unreadable" by Armor's codec, "unasked" (a list that answers no request): the message is left out.
        "overlong": too much came in answer to one request, closed. `NO_HANDSHAKE`: none within `HANDSHAKE_S`, closed.
        `REFUSED_SWITCH`: it may not speak for the datapath id that it claims, and PSO, which learns of it first, has
        closed it.
    text
        What is wrong with it.
    """

    def __init__(self, datapath: Any, kind: str, text: str) -> None:
        super().__init__()
        self.datapath, self.kind, self.text = datapath, kind, text

    @property
    def what(self) -> str:
        """Name of the error in the event log."""
        return self.kind if self.kind in (NO_HANDSHAKE, REFUSED_SWITCH) else f"{self.kind} message"


def peer_of(connection: Any, address: Any) -> Peer:
    """The other end of a connection of a switch, from its socket and address."""
    certificate: Any = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else {}
    names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    return Peer(str(address[0]), names[-1] if names else "")


class ServedDatapath(ryu_controller.Datapath):
    """A connection that reads whole messages, checks them, and delivers each.

    Attributes
    ----------
    peer
        Its other end.
    """

    def __init__(self, connection: Any, address: Any) -> None:
        self.peer = peer_of(connection, address)
        self._has_offended = True  # until its handshake is over
        self._asked, self._turns = Asked(), Turns()
        super().__init__(connection, address)

    def receive(self, message: bytes) -> None:
        """Take a message of the switch, and give way to others after some work.

        Raises
        ------
        WireError
            It is malformed.
        """
        self._turns.do(partial(self._receive, message))

    def _receive(self, message: bytes) -> None:
        if self.admits(message):
            check_received(message, self.ofproto.OFP_VERSION)
            self.deliver(message)

    def admits(self, message: bytes) -> bool:
        """Whether to look at a message; a list that nobody asked for is refused, and is an offence of its connection.

        The connection goes on: a new one would cost more than what it sends.
        """
        if self._asked.admits(message):
            return True
        self._has_offended = True
        self.refuse("unasked", f"{len(message)} bytes of type {message[1]} answer no request of this controller")
        return False

    def send(self, buf: Any, close_socket: bool = False) -> bool:
        """Send whole messages; False when the connection has ended."""
        self._asked.sent(bytes(buf))
        return self.queue(buf, close_socket)

    def queue(self, buf: Any, close_socket: bool) -> bool:
        """Let messages wait for their turn."""
        return bool(super().send(buf, close_socket))

    def deliver(self, message: bytes, decorate: Callable[[Any], None] = lambda _event: None) -> None:
        """Give a checked message to the apps that want it; `decorate` is called with each event before.

        Whatever Ryu or one of its handlers falls over is refused, and ends this connection alone.
        """
        if self.state == DEAD_DISPATCHER:
            return
        try:
            is_in_use = self.state == MAIN_DISPATCHER and message[0] == VERSION
            if not is_in_use or self._others_listen():
                self._deliver_to_ryu(message, decorate)
            elif message[1] == MsgType.ECHO_REQUEST:
                self.send(encode.echo_reply(message))
            elif message[1] == MsgType.ECHO_REPLY:
                self.acknowledge_echo_reply(header(message).xid)
            if is_in_use and self.ofp_brick.observers.get(MessageReceived):
                self._deliver_decoded(message, decorate)
        except WireError as error:
            self.refuse("unreadable", str(error))
        except Exception as error:  # noqa: BLE001 - nothing is hidden: it is counted and logged
            _LINES.error("handlers that fail", f"a handler has fallen over a message of {self.address}", error)
            self._has_offended = True
            self.refuse("unusable", f"{type(error).__name__}: {error}; its connection is closed")
            self.close()

    def refuse(self, kind: str, text: str) -> None:
        """Have it counted and said that a message cannot be used."""
        event = MessageRefused(self, kind, text)
        if self.ofp_brick.get_observers(event, None):
            self.ofp_brick.send_event_to_observers(event)
        else:
            _LINES.error(f"{kind} messages", f"switch {self.id} at {self.address}: {kind} message: {text}")

    def _others_listen(self) -> bool:
        observers = self.ofp_brick.observers.values()
        return any(name not in _APPS for names in observers for name in names)

    def _deliver_decoded(self, message: bytes, decorate: Callable[[Any], None]) -> None:
        event = MessageReceived(self, decode_received(message))
        decorate(event)
        self.ofp_brick.send_event_to_observers(event, self.state)

    def _deliver_to_ryu(self, message: bytes, decorate: Callable[[Any], None]) -> None:
        """Parse and hand out one message, as `Datapath._recv_loop` of Ryu does."""
        buffer = bytearray(message)
        parsed = ofproto_parser.msg(self, *header(message), buffer)
        if parsed is None:
            self.refuse("unparsable", f"type {message[1]}, {len(message)} bytes")
            return
        event = ofp_event.ofp_msg_to_ev(parsed)
        decorate(event)
        self.ofp_brick.send_event_to_observers(event, self.state)
        for handler in self.ofp_brick.get_handlers(event):
            if self.state in handler.callers[event.__class__].dispatchers:
                handler(event)

    def _recv_loop(self) -> None:
        late = hub.spawn_after(HANDSHAKE_S, self._give_up)
        try:
            read_messages(self.socket, lambda: self.state != DEAD_DISPATCHER, self.receive)
        except ArmorError as error:
            self._has_offended = True
            self.refuse("malformed", f"{error}; its connection is closed")
        finally:
            hub.kill(late)
            if self._has_offended:
                count_offence(self.address)
            self.close()  # before its socket: nothing that is still to be delivered may look for it
            self.socket.close()

    def close_refused(self) -> None:
        """Close a connection that may not speak for the switch that it claims to be."""
        self._has_offended = True
        self.close()

    def set_state(self, state: str) -> None:
        """Change state."""
        if state == MAIN_DISPATCHER:
            self._has_offended = False
        super().set_state(state)

    def _give_up(self) -> None:
        if self.state not in (MAIN_DISPATCHER, DEAD_DISPATCHER):
            self.refuse(NO_HANDSHAKE, f"none within {HANDSHAKE_S:g} s; its connection is closed")
            self.close()


def serve_with(datapath_class: type[ServedDatapath]) -> None:
    """Have Ryu make such a datapath of every connection, and limit what Ryu writes about it."""
    for name in _LOGGERS_OF_RYU:
        logging.getLogger(name).addFilter(_OF_RYU)

    def serve(connection: Any, address: Any) -> None:
        with contextlib.closing(datapath_class(connection, address)) as datapath:
            datapath.serve()

    ryu_controller.datapath_connection_factory = serve


class MessageApp(app_manager.RyuApp):
    """An app of Armor: it gets each message decoded, once, and takes nothing of Ryu's but changes of state."""

    OFP_VERSIONS: ClassVar[list[int]] = [VERSION]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if ryu_controller.datapath_connection_factory is _RYU_FACTORY:  # else PSO's are there
            serve_with(ServedDatapath)
        _APPS.add(self.name)
        self._turns = Turns()

    def start(self) -> None:
        """Start Ryu's event loop; from now on messages come."""
        super().start()
        brick = app_manager.lookup_service_brick(ofp_event.NAME)
        for event, handler in ((MessageReceived, self._take_received), (MessageRefused, self._take_refused)):
            self.register_handler(event, handler)
            brick.register_observer(event, self.name)

    def _take_received(self, event: MessageReceived) -> None:
        self._turns.do(partial(self.message_received, event))

    def _take_refused(self, event: MessageRefused) -> None:
        self._turns.do(partial(self.message_refused, event))

    def message_received(self, event: MessageReceived) -> None:
        """A switch has sent something."""
        raise NotImplementedError

    def message_refused(self, event: MessageRefused) -> None:
        """A switch has sent what cannot be used."""
        raise NotImplementedError


def read_messages(connection: Any, is_wanted: Callable[[], bool], take: Callable[[bytes], None]) -> None:
    """Take whole messages from a connection until it ends or is not wanted any more.

    Gives way to other greenlets when more may be there already; waiting for more does it too.

    Raises
    ------
    WireError
        A header whose length makes no sense: where the next message begins is unknown.
    """
    buffer = b""
    while is_wanted():
        try:
            data = connection.recv(_READ_BYTES)
        except (TimeoutError, ssl.SSLError):
            continue  # as Ryu does: eventlet reports a read timeout of TLS as SSLError
        except OSError:
            return
        if not data:
            return
        messages, buffer = split_messages(buffer + data)
        for message in messages:
            if not is_wanted():
                return
            take(message)
        if len(data) == _READ_BYTES or isinstance(connection, ssl.SSLSocket):  # TLS gives one record, however short
            hub.sleep(0)
