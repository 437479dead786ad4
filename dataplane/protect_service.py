"""The packet program of one switch's hairpin port, kept by a process on the switch and notified by the controller.

    python -m dataplane.protect_service --address 10.254.0.4 --device s4-ppx --listen 10.255.0.4:6655

Every line that comes over TCP is a JSON request, every line that goes back the node's state. A request with
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
import json
import os
import socket
import sys
import uuid
from ipaddress import IPv4Address
from typing import Any

from dataplane.model.protection_node import Connection
from dataplane.model.sequence import Egress, Ingress
from dataplane.protect import ProtectNode
from mininet_topos.endpoints import host_and_port
from mininet_topos.errors import ArmorError
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
            if "connections" in request:
                self._configure(request)
            return self.state()
        except (ArmorError, KeyError, TypeError, ValueError) as error:
            return {"error": f"{type(error).__name__}: {error}" if not isinstance(error, ArmorError) else str(error)}

    def _configure(self, request: Json) -> None:
        slots = {
            Connection(number, IPv4Address(ingress), IPv4Address(egress)): slot
            for number, ingress, egress, slot in request["connections"]
        }
        mine = {each: slot for each, slot in slots.items() if each.ingress == self._node.address}
        self._node.update(slots, slots=mine)
        by_end = {(each.number, str(each.egress)): each for each in slots}
        for number, egress, last in request.get("sending", ()):
            self._node.set_sending(by_end[number, egress], Ingress(last))
        for number, last in request.get("receiving", ()):
            self._node.set_receiving(by_end[number, str(self._node.address)], Egress(last))
        if self._connections is None:
            self._node.hairpin(self._device)
            print(json.dumps({"event": "attached", "device": self._device}), flush=True)
        self._connections = slots

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


def serve(service: ProtectService, host: str, port: int) -> None:
    """Answer requests, one connection after another, until SIGTERM."""
    with socket.create_server((host, port)) as listener:
        print(json.dumps({"event": "ready", "listen": f"{host}:{port}"}), flush=True)
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rw", encoding="utf-8") as stream:
                connection.settimeout(10)
                try:
                    for line in stream:
                        stream.write(json.dumps(service.answer(json.loads(line))) + "\n")
                        stream.flush()
                except (OSError, ValueError, RecursionError) as error:
                    print(json.dumps({"event": "dropped", "reason": str(error)}), flush=True)


def main(argv: list[str] | None = None) -> int:
    """Keep the program of one hairpin port."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", required=True, type=IPv4Address, help="of the switch as an end of connections")
    parser.add_argument("--device", required=True, help="inner end of the hairpin port")
    parser.add_argument("--listen", required=True, metavar="HOST:PORT")
    given = parser.parse_args(argv)
    host, port = host_and_port(given.listen, "--listen", least_port=0)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: sys.exit(0))
    with ProtectNode(os.getpid(), given.address) as node:
        serve(ProtectService(node, given.device), host, port)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ArmorError as error:
        print(f"armor: {sentence(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
