"""The packet program of one switch's hairpin port, kept by a process on the switch and notified by the controller.

    python -m dataplane.protect_service --address 10.254.0.4 --device s4-ppx --listen unix:/run/armor/s4.sock

Every line that comes is a JSON request, every line that goes back the node's state. A request with
`connections` sets what the node serves: rows (number, ingress, egress, slot); `sending` (number, egress, last) and
`receiving` (number, last) set numbers that the other ends know better. The program is attached when the first such
request has been carried out: until then, a program that an earlier process left on the port goes on with its own
numbers, so a restart loses nothing.
"""

from __future__ import annotations

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports ends the process, and not in a traceback

import argparse
import asyncio
import json
import os
import sys
import uuid
from ipaddress import IPv4Address
from typing import Any

from dataplane.model.node_lines import NodeRequest, read_request
from dataplane.model.protection_node import Connection
from dataplane.protect import ProtectNode
from machine.arguments import add_identity, take_identity
from machine.line_server import LineServer
from mininet_topos.endpoints import host_and_port, is_loopback
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.wording import sentence

Json = Any


class ProtectService:
    """A node and its configuration.

    Parameters
    ----------
    device
        Inner end of the hairpin port.
    """

    def __init__(self, node: ProtectNode, device: str) -> None:
        self._node, self._device = node, device
        self._epoch = uuid.uuid4().hex
        self._connections: dict[Connection, int] | None = None

    def answer(self, request: Json) -> Json:
        """Carry out a request; the state afterwards, or what is wrong with it."""
        try:
            wanted = read_request(request, self._node.address)
            if wanted is not None:
                self._configure(wanted)
            return self.state()
        except ArmorError as error:
            return {"error": sentence(error)}

    def _configure(self, wanted: NodeRequest) -> None:
        mine = {each: slot for each, slot in wanted.slots.items() if each.ingress == self._node.address}
        self._node.update(wanted.slots, slots=mine)
        for connection, ingress in wanted.sending:
            self._node.set_sending(connection, ingress)
        for connection, egress in wanted.receiving:
            self._node.set_receiving(connection, egress)
        if self._connections is None:
            self._node.hairpin(self._device)
            say({"event": "attached", "device": self._device})
        self._connections = wanted.slots

    def state(self) -> Json:
        """Numbers and counters of the node."""
        rows = [[each.number, str(each.ingress), str(each.egress)] for each in self._connections or ()]
        return {
            "epoch": self._epoch,
            "configured": self._connections is not None,
            "connections": sorted(
                [*row, slot] for row, slot in zip(rows, (self._connections or {}).values(), strict=True)
            ),
            "sending": [
                {"number": one.number, "egress": str(one.egress), "last": end.ingress.last, "sent": end.sent}
                for one, end in self._node.sending().items()
            ],
            "receiving": [
                {
                    "number": one.number,
                    "ingress": str(one.ingress),
                    "last": end.egress.last,
                    "accepted": end.egress.accepted,
                    "duplicate": end.duplicate,
                    "out_of_window": end.out_of_window,
                }
                for one, end in self._node.receiving().items()
            ],
        }


def parse_options(argv: list[str] | None = None) -> argparse.Namespace:
    """Options of a command line; argparse ends the process where they cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", required=True, type=IPv4Address, help="of the switch as an end of connections")
    parser.add_argument("--device", required=True, help="inner end of the hairpin port")
    parser.add_argument("--listen", required=True, metavar="unix:PATH|ssl:HOST:PORT|HOST:PORT")
    parser.add_argument("--clear", action="store_true", help="HOST:PORT may be one that other machines reach")
    add_identity(parser)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Keep the program of one hairpin port."""
    given = parse_options(argv)
    require_closed(given.listen, given.clear)
    take_identity(given)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: sys.exit(0))
    with ProtectNode(os.getpid(), given.address) as node:
        service = ProtectService(node, given.device)
        try:
            asyncio.run(LineServer(service.answer, say).run(given.listen))
        except OSError as error:
            raise BadInputError(f"--listen {given.listen!r} cannot be used ({error.strerror or error})") from error
    return 0


def say(event: dict[str, Any]) -> None:
    """Write an event."""
    print(json.dumps(event), flush=True)


def require_closed(listen: str, is_clear: bool) -> None:
    """Refuse an address at which anybody may command this service, unless that is wanted.

    Raises
    ------
    BadInputError
        It is TCP without TLS, not on loopback.
    """
    if is_clear or listen.startswith(("unix:", "ssl:")):
        return
    host, _port = host_and_port(listen, "--listen", least_port=0)
    if not is_loopback(host):
        raise BadInputError(
            f"at {listen} any machine of the network could command the service; use unix:PATH or ssl:HOST:PORT, or "
            "say with --clear that the network is closed"
        )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ArmorError as error:
        print(f"armor: {sentence(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
