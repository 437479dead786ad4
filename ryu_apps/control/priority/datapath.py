"""Ryu's `Datapath` with queues of classes in place of its FIFOs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

from ryu.controller import controller as ryu_controller
from ryu.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER
from ryu.lib import hub

from mininet_topos.errors import ArmorError
from ryu_apps.control.priority.sockets import mark, prepare, read_messages, why_unsent
from ryu_apps.pmt.channels import home_class

if TYPE_CHECKING:
    from ryu_apps.control.priority.service import PsoService

LOG = logging.getLogger("pso")
HANDSHAKE_S = 10.0


class PsoDatapath(ryu_controller.Datapath):
    """The datapath that apps see: the home connection of a switch, and its class connections behind it."""

    pso: ClassVar[PsoService]

    def __init__(self, connection: Any, address: Any) -> None:
        self.link = self.pso.home_opened(self)
        super().__init__(connection, address)
        prepare(connection)
        self.mark(self.link.dscps[home_class(self.link.table)])

    def mark(self, dscp: int) -> None:
        """Mark what is sent on the home connection from now on."""
        mark(self.socket, dscp)

    def set_state(self, state: str) -> None:
        """Change state; the end comes after all that is dropped with it."""
        if state == DEAD_DISPATCHER and self.state != DEAD_DISPATCHER:
            self.pso.home_closed(self.link)
        super().set_state(state)

    def send(self, buf: Any, close_socket: bool = False) -> bool:
        """Let messages wait for their turn."""
        return self.link.send(bytes(buf), close_socket)

    def _recv_loop(self) -> None:
        late = hub.spawn_after(HANDSHAKE_S, self._give_up)
        try:
            read_messages(self.socket, lambda: self.state != DEAD_DISPATCHER, self.link.received)
        except ArmorError as error:
            self.pso.error("malformed")
            LOG.error("connection of switch %s at %s is closed: %s", self.id, self.address, error)
        finally:
            hub.kill(late)
            self.close()  # before its socket: nothing that is still to be delivered may look for it
            self.socket.close()

    def _give_up(self) -> None:
        if self.state not in (MAIN_DISPATCHER, DEAD_DISPATCHER):
            self.pso.error("no handshake")
            self.close()

    def _send_loop(self) -> None:
        try:
            while self.state != DEAD_DISPATCHER:
                chunk, closes = self.link.sender.next_home()
                if chunk:
                    self.socket.sendall(chunk)
                if closes:
                    break
        except OSError as error:
            self.pso.error(why_unsent(error))
            LOG.error("switch %s at %s takes nothing (%s); its connection is closed", self.id, self.address, error)
        finally:
            self.send_q = None  # Ryu's echo loop stops by it
            self.link.sender.close()
            self._close_write()
