"""PSO under any Ryu app: Ryu's queues replaced by queues of classes, several connections of a switch made one.

Ryu itself is not edited: `install` lets its servers make a subclass of `Datapath`, and puts a queue of classes in
place of each app's event queue. Without a table nothing is put anywhere.
"""

from __future__ import annotations

import logging
from typing import Any

from ryu.base import app_manager
from ryu.controller.handler import DEAD_DISPATCHER
from ryu.lib import hub

from mininet_topos.errors import BadInputError
from ryu_apps.control.datapath import REFUSED_SWITCH, MessageRefused, serve_with
from ryu_apps.control.decide.peers import AllowList, why_refused
from ryu_apps.control.limited_lines import LimitedLog
from ryu_apps.control.listening import OpenFlowServer, count_offence
from ryu_apps.control.priority.channel import ClassChannel
from ryu_apps.control.priority.datapath import PsoDatapath
from ryu_apps.control.priority.decide.channels import class_order, connections
from ryu_apps.control.priority.decide.counters import APPS, RECEIVE, SEND, Counters
from ryu_apps.control.priority.decide.policies import Policy, make_policy
from ryu_apps.control.priority.decide.queue import ClassQueue
from ryu_apps.control.priority.decide.settings import PsoSettings
from ryu_apps.control.priority.keeper import TableKeeper
from ryu_apps.control.priority.link import Link
from ryu_apps.control.priority.receiver import AppEvents, NoLimit, Receiver
from ryu_apps.control.priority.sender import Sender
from ryu_apps.openflow.wire import VERSION, MsgType
from ryu_apps.pmt.channels import main_class
from ryu_apps.pmt.rules import UNMATCHED_CLASS, PolicyMapTable

_LINES = LimitedLog(logging.getLogger("pso"))
HANDSHAKE_S = 10.0
CONVERSE_S = 1.0  # an echo and its answer every second are 0.1 % of a link of 1 Mbit/s
_ALL_CLASSES = (*range(1, 9), UNMATCHED_CLASS)  # eight class selectors: no table has more classes


class PsoService:
    """The service: its queues, its switches, its counters.

    Parameters
    ----------
    table
        With at least one rule.
    address
        Where Ryu listens: host and port.
    allow_list
        Who may speak for which switch; None: the first one that comes.

    Raises
    ------
    ArmorError
        The table or the shares cannot be used.
    """

    def __init__(
        self, table: PolicyMapTable, settings: PsoSettings, address: tuple[str, int], allow_list: AllowList | None
    ) -> None:
        self.table, self.settings, self._allow_list = table, settings, allow_list
        self.counters = Counters()
        self.links: dict[int, Link] = {}
        self._host, self._main_port = address
        connections(table, self._main_port)  # refused here, not when a switch comes
        self._event_loops: set[Any] = set()
        self._channels: dict[tuple[int, int], ClassChannel] = {}
        self._events: list[AppEvents] = []
        self._keeper = TableKeeper(table, settings, self.error)
        queue = ClassQueue(_ALL_CLASSES, self._policy(), settings.receive_queue)
        self._receiver = Receiver(queue, self.counters, self._event_loops, self._delivered)

    def _policy(self) -> Policy:
        return make_policy(self.table.scheduler.kind, self.table.class_shares)

    def install(self) -> None:
        """Put PSO in Ryu's way, before any app runs or any switch connects."""
        service = self

        class Served(PsoDatapath):
            """The datapath of this service."""

            pso = service

        serve_with(Served)
        original = app_manager.RyuApp.__init__

        def with_class_queue(app: Any, *arguments: Any, **options: Any) -> None:
            original(app, *arguments, **options)
            service.adopt(app)

        app_manager.RyuApp.__init__ = with_class_queue
        for app in app_manager.SERVICE_BRICKS.values():
            self.adopt(app)

    def adopt(self, app: Any) -> None:
        """Give an app that does not run yet a queue of classes."""
        queue = ClassQueue(_ALL_CLASSES, self._policy(), self.settings.app_queue)
        app.events = AppEvents(queue, self.counters, self._event_loops)
        app._events_sem = NoLimit()
        self._events.append(app.events)

    def start(self) -> None:
        """Listen for per-class connections and deliver what comes.

        Raises
        ------
        BadInputError
            A port is taken.
        """
        for class_id in _ALL_CLASSES:  # whatever table a switch gets later
            port = self._main_port + 1 + class_id
            try:
                server = OpenFlowServer((self._host, port), self._serve_of(class_id))
            except OSError as error:
                raise BadInputError(
                    f"class {class_id} needs TCP port {self._host}:{port} ({error.strerror}); "
                    "stop the program that has it, or choose another --ofp-tcp-listen-port"
                ) from error
            hub.spawn(server.serve_forever)
        hub.spawn(self._receiver.run)
        hub.spawn(self._converse)

    def _converse(self) -> None:
        while True:
            hub.sleep(CONVERSE_S)
            for link in tuple(self.links.values()):
                link.converse()

    def _serve_of(self, class_id: int) -> Any:
        def serve(connection: Any, address: Any) -> None:
            ClassChannel(connection, address, class_id, self).serve(HANDSHAKE_S)

        return serve

    # Main connections

    def main_opened(self, datapath: Any) -> Link:
        """A switch has opened its main connection."""
        sender = Sender(_ALL_CLASSES, self._policy(), self.settings.send_queue, self.counters, self._event_loops)
        return Link(datapath, self.table, sender, self._receiver, self.error)

    def main_closed(self, link: Link) -> None:
        """A main connection has ended: what it had still to say is of no use to anybody."""
        link.close()
        self._receiver.forget(link.datapath)
        for events in self._events:
            events.forget(link.datapath)
        dpid = link.dpid
        if dpid is not None and self.links.get(dpid) is link:
            del self.links[dpid]
            for channel in self._channels_of(dpid):
                channel.detach()

    def _delivered(self, datapath: Any, message: bytes) -> None:
        # Switches that speak another version keep their one connection, and their order.
        is_reply = message[0] == VERSION and message[1] == MsgType.FEATURES_REPLY
        is_known = datapath.id is not None and datapath.state != DEAD_DISPATCHER
        if is_reply and is_known and self.links.get(datapath.id) is not datapath.link:
            self._main_known(datapath.link, datapath.id)

    def _main_known(self, link: Link, dpid: int) -> None:
        before = self.links.get(dpid)
        # Asked here as well as by the apps: they ask at the end of the handshake, and a switch may withhold that.
        refused = self._refuses(link.datapath, dpid, before)
        if refused:
            event = MessageRefused(link.datapath, REFUSED_SWITCH, refused)
            link.datapath.ofp_brick.send_event_to_observers(event)
            return
        self.links[dpid] = link
        if before is not None:
            # The switch has come again before its old connection was seen to end; it has one.
            self.error("replaced connection")
            before.datapath.close()
        link.set_table(self._keeper.table_of(dpid))
        for channel in self._channels_of(dpid):
            if not self._refuses(channel, dpid, link):
                channel.introduce(link)
        address = str(link.datapath.address[0])
        hub.spawn(self._keeper.keep, dpid, address, lambda: self.links.get(dpid) is link, link.set_table)

    # Per-class connections

    def channel_known(self, channel: ClassChannel) -> None:
        """A per-class connection has said whose it is; it takes the place of an older one."""
        assert channel.dpid is not None
        key = (channel.dpid, channel.class_id)
        before, link = self._channels.get(key), self.links.get(channel.dpid)
        if self._refuses(channel, channel.dpid, link):
            count_offence(channel.address)
            return
        self._channels[key] = channel
        if before is not None:
            self.error("replaced connection")
            before.close()
        if link is None:
            return
        if link.has_own_connection(channel.class_id):
            channel.introduce(link)
        else:
            channel.close()

    def _refuses(self, connection: Any, dpid: int, present: Link | None) -> str | None:
        """Close a main or per-class connection whose end may not speak for a switch; why it may not."""
        present_peer = None if present is None else present.datapath.peer
        refused = why_refused(dpid, connection.peer, present_peer, self._allow_list)
        if refused is not None:
            self.error("refused connection")
            _LINES.error("refused connections", refused)
            connection.close()
        return refused

    def channel_closed(self, channel: ClassChannel) -> None:
        """A per-class connection has ended."""
        if channel.dpid is not None and self._channels.get((channel.dpid, channel.class_id)) is channel:
            del self._channels[channel.dpid, channel.class_id]
        if channel.link is not None:
            channel.link.channel_gone(channel)

    def error(self, kind: str) -> None:
        """Count an error."""
        self.counters.error(kind)

    def _channels_of(self, dpid: int) -> list[ClassChannel]:
        return [channel for (owner, _), channel in self._channels.items() if owner == dpid]

    def describe(self) -> dict[str, Any]:
        """State for GET /pso."""
        names = self.table.class_names
        return {
            "scheduler": self.table.scheduler.kind.value,
            "main_class": main_class(self.table),
            "classes": [
                {
                    "class_id": each,
                    "name": names[each],
                    **{way: self.counters.of(way, each).to_json() for way in (RECEIVE, APPS, SEND)},
                }
                for each in class_order(self.table)
            ],
            "errors": dict(sorted(self.counters.errors.items())),
            "switches": [{"dpid": dpid, "connections": link.classes} for dpid, link in sorted(self.links.items())],
        }
