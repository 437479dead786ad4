"""The connection of `control/datapath.py` with queues of classes in place of Ryu's FIFOs."""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Protocol

from ryu.controller.handler import DEAD_DISPATCHER

from ryu_apps.control.datapath import ServedDatapath
from ryu_apps.control.limited_lines import LimitedLog
from ryu_apps.control.priority.link import Link
from ryu_apps.control.priority.sockets import mark, prepare, why_unsent
from ryu_apps.pmt.channels import main_class

_LINES = LimitedLog(logging.getLogger("pso"))


class Service(Protocol):
    """Who knows all main connections."""

    def main_opened(self, datapath: Any) -> Link:
        """A switch has opened its main connection."""

    def main_closed(self, link: Link) -> None:
        """A main connection has ended."""

    def error(self, kind: str) -> None:
        """Count an error."""


class PsoDatapath(ServedDatapath):
    """The datapath that apps see: the main connection of a switch, and its per-class connections behind it."""

    pso: ClassVar[Service]

    def __init__(self, connection: Any, address: Any) -> None:
        self.link = self.pso.main_opened(self)
        super().__init__(connection, address)
        prepare(connection)
        self.mark(self.link.dscps[main_class(self.link.table)])

    def mark(self, dscp: int) -> None:
        """Mark what is sent on the main connection from now on."""
        mark(self.socket, dscp)

    def set_state(self, state: str) -> None:
        """Change state; the end comes after all that is dropped with it."""
        if state == DEAD_DISPATCHER and self.state != DEAD_DISPATCHER:
            self.pso.main_closed(self.link)
        super().set_state(state)

    def receive(self, message: bytes) -> None:
        """Let a message wait for its turn (raises as `Link.received`)."""
        self.link.received(message)

    def refuse(self, kind: str, text: str) -> None:
        """Have it counted and said that a message cannot be used."""
        self.pso.error(kind)
        super().refuse(kind, text)

    def queue(self, buf: Any, close_socket: bool) -> bool:
        """Let messages wait for their turn."""
        return self.link.send(bytes(buf), close_socket)

    def _send_loop(self) -> None:
        try:
            while self.state != DEAD_DISPATCHER:
                chunk, closes = self.link.sender.next_main()
                if chunk:
                    self.socket.sendall(chunk)
                if closes:
                    break
        except OSError as error:
            if self.state != DEAD_DISPATCHER:  # else it was closed meanwhile, and that was said
                self.pso.error(why_unsent(error))
                text = f"switch {self.id} at {self.address} takes nothing ({error}); its connection is closed"
                _LINES.error("switches that take nothing", text)
        finally:
            self.send_q = None  # Ryu's echo loop stops by it
            self.link.sender.close()
            self._close_write()
