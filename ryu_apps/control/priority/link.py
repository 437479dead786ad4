"""One switch under PSO: its main connection and its per-class connections as the one datapath that apps see."""

from __future__ import annotations

import itertools
import logging
from typing import Any

from mininet_topos.errors import ArmorError
from ryu_apps.control.limited_lines import LimitedLog
from ryu_apps.control.priority.channel import ClassChannel
from ryu_apps.control.priority.decide.channels import class_order, controller_ids, main_id, switch_of
from ryu_apps.control.priority.decide.dispatch import Dispatcher
from ryu_apps.control.priority.decide.divert import (
    Diverted,
    commits_bundle,
    divert,
    restore,
    sorting_messages,
    sorting_rows,
    wipes_sorting_rows,
)
from ryu_apps.control.priority.decide.fan_out import (
    DEFAULT_MASKS,
    for_class_connection,
    is_set_async,
    without_notifications,
)
from ryu_apps.control.priority.decide.footprint import CARRIED
from ryu_apps.control.priority.receiver import Receiver
from ryu_apps.control.priority.sender import FENCE_S, Sender
from ryu_apps.control.priority.waiting import Event
from ryu_apps.openflow import encode
from ryu_apps.openflow.lengths import check_received
from ryu_apps.openflow.wire import VERSION, MalformedMessageError, MsgType, WireError, header, split_messages
from ryu_apps.plan.rows import FlowRow
from ryu_apps.pmt.channels import channel_rows, main_class, notified_class
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.rules import UNMATCHED_CLASS, PolicyMapTable

LOG = logging.getLogger("pso")
_LINES = LimitedLog(LOG)
_FIRST_OWN_XID = 0xF5000000  # Ryu counts its own up from a random number; a meeting needs both under way at once


class Link:
    """A switch's connections, from the first byte of the main connection to its end.

    Parameters
    ----------
    datapath : Datapath
        What apps see: Ryu's object of the main connection.
    receiver
        Lets messages wait for the apps.

    Attributes
    ----------
    dpid
        What the switch has said first; None: nothing yet. Ryu's object takes a later one, too.
    """

    def __init__(
        self, datapath: Any, table: PolicyMapTable, sender: Sender, receiver: Receiver, count_error: Any
    ) -> None:
        self.datapath, self.sender = datapath, sender
        self.dpid: int | None = None
        self.table, self._classifier = table, Classifier(table)
        self._receiver, self._count_error = receiver, count_error
        self._channels: dict[int, ClassChannel] = {}
        self._origins: dict[int, Diverted] = {}
        self._rows: tuple[FlowRow, ...] = ()
        self._main_id = UNMATCHED_CLASS
        self._repeated: dict[int, bytes] = {}  # by message type, for per-class connections that come later
        self._notified: int | None = None  # class whose connection brings notifications in place of the main one
        self._own_xids: set[int] = set()
        self._echo_xid: int | None = None
        self._is_sent_more = self._is_wiped_by_bundle = False
        self._dispatcher = Dispatcher()
        self._xids = itertools.count(_FIRST_OWN_XID)
        sender.on_overflow = self._give_up

    @property
    def dscps(self) -> dict[int, int]:
        """Mark of each class's packets."""
        return {class_id: row.dscp for class_id, row in enumerate(channel_rows(self.table))}

    def has_own_connection(self, class_id: int) -> bool:
        """Whether the table gives a class a connection beside the main connection."""
        return class_id in class_order(self.table) and class_id != main_class(self.table)

    @property
    def classes(self) -> list[int]:
        """Classes that have a connection, the main connection's first."""
        return [main_class(self.table), *sorted(self._channels)]

    # From the switch

    def received(self, message: bytes) -> None:
        """A message has come on the main connection.

        Raises
        ------
        WireError
            It is no OpenFlow message, or claims another datapath id than before.
        """
        xid = header(message).xid
        if message[1] == MsgType.FEATURES_REPLY:
            self.dpid = switch_of(self.dpid, message)
        if message[1] == MsgType.ECHO_REPLY and xid == self._echo_xid:
            self._echo_xid = None
            return
        if message[1] in (MsgType.BARRIER_REPLY, MsgType.ERROR):
            self.sender.barrier_answered(xid)
        if xid in self._own_xids:
            self._answered(message, xid)
        else:
            self.deliver(message)

    def _answered(self, message: bytes, xid: int) -> None:
        """An answer to what PSO itself asked."""
        if message[1] == MsgType.BARRIER_REPLY:
            self._own_xids = {each for each in self._own_xids if each > xid}
        if message[1] == MsgType.ERROR:
            self._count_error("refused by a switch")
            LOG.error("switch %s refuses what PSO needs (is it Open vSwitch?): %s", self.datapath.id, message.hex())

    def deliver(self, message: bytes, class_id: int | None = None) -> None:
        """Give a message to the apps, as one of the main connection's.

        Parameters
        ----------
        class_id
            Its class, when the connection implies it.

        Raises
        ------
        MalformedMessageError
            It is no OpenFlow message.
        """
        if not self.datapath.admits(message):
            return
        check_received(message, self.datapath.ofproto.OFP_VERSION)
        if message[0] == VERSION:
            message = restore(message, self._origins)
        self._receiver.take(self.datapath, message, self._class_of(message) if class_id is None else class_id)

    def is_behind(self, class_id: int, caught_up: Event) -> bool:
        """Whether a per-class connection need not be read for now; `caught_up` is rung when it should."""
        return self._receiver.is_behind(self.datapath, class_id, caught_up)

    def _class_of(self, message: bytes) -> int:
        # Other versions have no classes here: they are treated equally.
        return self._classifier.classify(message).class_id if message[0] == VERSION else UNMATCHED_CLASS

    # To the switch

    def send(self, buffer: bytes, closes: bool) -> bool:
        """Send the messages in a buffer; False when the connection has ended."""
        try:
            messages, rest = split_messages(buffer)
        except WireError:
            messages, rest = [], buffer
        if rest:  # no whole message: the app's own business
            return self.sender.put(buffer, main_class(self.table), closes)
        last = len(messages) - 1
        return all(self._send_one(message, closes and at == last) for at, message in enumerate(messages))

    def _send_one(self, message: bytes, closes: bool) -> bool:
        if message[0] != VERSION:
            return self.sender.put(message, UNMATCHED_CLASS, closes)
        if self._rows:
            message, diverted = divert(message)
            if diverted is not None:
                self._origins[diverted.by_table] = diverted
        try:
            class_id = self._classifier.classify(message).class_id
        except MalformedMessageError:
            class_id = main_class(self.table)  # the switch will say what it thinks of it
        self._is_sent_more = True
        is_apart = is_set_async(message) and self._notified is not None
        is_sent = self._dispatch(without_notifications(message) if is_apart else message, class_id, closes)
        if for_class_connection(message) is not None:
            self._repeated[message[1]] = message
            for channel in self._channels.values():
                channel.control(self._copy(message, channel.class_id))
        if self._rows:
            self._put_back_after(message)
        return is_sent

    def _put_back_after(self, message: bytes) -> None:
        """Send PSO's rows again once a message has deleted them; what stands in a bundle does so at its commit."""
        wipes = wipes_sorting_rows(message)
        is_direct = message[1] == MsgType.FLOW_MOD
        self._is_wiped_by_bundle |= wipes and not is_direct
        if (wipes and is_direct) or (self._is_wiped_by_bundle and commits_bundle(message)):
            self._is_wiped_by_bundle = False
            self._send_own([])  # another class's message would pass it
            self._send_own(sorting_messages(self._rows))

    def _copy(self, message: bytes, class_id: int) -> bytes:
        return for_class_connection(message, class_id == notified_class(self.table)) or b""

    def repeated_for(self, class_id: int) -> list[bytes]:
        """What a per-class connection that comes late has to hear of what an app has said."""
        return [self._copy(message, class_id) for message in self._repeated.values()]

    def _dispatch(self, message: bytes, class_id: int, closes: bool) -> bool:
        """Let an app's message wait in the fifo that the table, and messages that it depends on, say."""
        self.sender.wait_for_room(message)
        # Nothing gives way from here on: messages are queued in the order in which they are placed.
        if message[1] == MsgType.BARRIER_REQUEST:
            self._dispatcher.barrier()
            return self.sender.put_in(message, class_id, closes)
        is_on_main = not self.table.by_class
        may_leave = message[1] == MsgType.PACKET_OUT or CARRIED.get(message[1]) in self.table.by_class
        fifo = self.sender.fifo_of(class_id, may_leave)
        if is_on_main and self.sender.is_settled:
            self._dispatcher.place_first(message, fifo)
            return self.sender.put_in(message, fifo, closes)
        placement = self._dispatcher.place(message, fifo, self.sender.strict_fifos if is_on_main else ())
        if placement.needs_barrier:
            self._put_own(encode.barrier_request())
        return self.sender.put_in(message, placement.fifo, closes)

    def converse(self) -> None:
        """Have the switch say something on its main connection, if it has been sent more since it was asked last.

        A host that says nothing on a connection acknowledges each small message in a packet of its own; one that
        answers now and then acknowledges every second one ("pingpong" in Linux' net/ipv4/tcp_input.c). With classes,
        the packet-ins that would carry acknowledgements travel on other connections.

        Per-class connections that do not answer a barrier are closed; those that are not read for now are kept up.
        """
        self._close_late()
        for channel in self._channels.values():
            channel.say_something()
        if self._channels and self._is_sent_more and self._echo_xid is None and self.sender.has_room:
            self._is_sent_more = False
            self._echo_xid = next(self._xids)
            self.sender.put(encode.echo_request(xid=self._echo_xid), main_class(self.table))

    def _give_up(self) -> None:
        """Close the connection of a switch for which far too much waits: what sends to it serves all switches."""
        self._count_error("not read")
        _LINES.error(
            "switches that take too little",
            f"switch {self.datapath.id} at {self.datapath.address} takes too little: far more waits for it than "
            "send_queue allows; its connection is closed (raise send_queue if an app sends so much at once)",
        )
        self.datapath.close()

    def _close_late(self) -> None:
        """Close per-class connections that hold up the main connection: a barrier waits for their answer."""
        for class_id in self.sender.late_fences():
            self._count_error("not answered")
            _LINES.error(
                "connections that do not answer",
                f"switch {self.datapath.id} at {self.datapath.address} has not answered a barrier on the connection of "
                f"class {class_id} for {FENCE_S:g} s; that connection is closed",
            )
            self._channels[class_id].close()

    def _send_own(self, messages: list[bytes]) -> None:
        """Queue what belongs to PSO, without giving way; a barrier keeps what an app sends next behind it."""
        for message in (*messages, encode.barrier_request()):
            self._put_own(message)
        self._dispatcher.barrier()

    def _put_own(self, message: bytes) -> None:
        xid = next(self._xids)
        self._own_xids.add(xid)
        self.sender.put_in(message[:4] + xid.to_bytes(4, "big") + message[8:], main_class(self.table))

    # Its connections

    def channel_ready(self, channel: ClassChannel) -> None:
        """A per-class connection has got its id: packets of that class go there."""
        self._channels[channel.class_id] = channel
        channel.mark(self.dscps[channel.class_id])
        self.sender.open_apart(channel.class_id, channel.wake, channel.fence)
        self._route()

    def channel_gone(self, channel: ClassChannel) -> None:
        """A per-class connection has ended: packets of that class come on the main connection until it is back."""
        if self._channels.get(channel.class_id) is not channel:
            return
        del self._channels[channel.class_id]
        if self.sender.is_unconfirmed(channel.class_id) or channel.class_id == self._notified:
            # Nobody knows which commands the switch has, or what it has said. An app deals with that as with any
            # switch that comes again.
            self._count_error("failed with unconfirmed messages")
            self.datapath.close()
        self.sender.close_apart(channel.class_id)
        self._route()

    def set_table(self, table: PolicyMapTable) -> None:
        """Sort the switch's packets by a table from now on.

        No connection is closed, except those of classes that are no more; the others keep their ids.
        """
        self.table, self._classifier = table, Classifier(table)
        if self._notified not in (None, notified_class(table)):
            self.datapath.close()  # two connections would change their masks, and something could be lost between
        self.datapath.mark(self.dscps[main_class(table)])
        for class_id, channel in tuple(self._channels.items()):
            if self.has_own_connection(class_id):
                channel.mark(self.dscps[class_id])
            else:
                channel.close()
        self._route()

    def close(self) -> None:
        """The main connection has ended."""
        self.sender.close()

    def _route(self) -> None:
        """Tell the switch on which connection each class comes.

        This does not wait for room. Rows of another call could come between, and a reader of a per-class connection
        that waited here would not read the answer that makes room.
        """
        self.sender.limit_overflow()
        ready = {class_id for class_id in self._channels if self.has_own_connection(class_id)}
        try:
            rows = sorting_rows(self.table, controller_ids(self.table, ready))
        except ArmorError as error:
            self._count_error("table without flow entries")
            LOG.error("packets of switch %s are not sorted: %s", self.datapath.id, error)
            return
        messages = sorting_messages(rows, self._rows)
        wanted_id = main_id(self.table, ready)
        if wanted_id != self._main_id:
            messages = [encode.set_controller_id(wanted_id), *messages]
        self._rows, self._main_id = rows, wanted_id
        messages += self._masks()
        self._send_own(messages)

    def _masks(self) -> list[bytes]:
        """Message that takes notifications from the main connection, once the connection of their class is ready.

        That connection has got its masks before, so notifications may be duplicated, and are never lost.
        """
        notified = notified_class(self.table)
        if notified == self._notified or notified not in self._channels:
            return []
        self._notified = notified
        return [without_notifications(self._repeated.get(DEFAULT_MASKS[1], DEFAULT_MASKS))]
