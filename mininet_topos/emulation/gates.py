"""Gates in front of the wires of interfaces, opened and shut by netlink from inside their namespaces."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mininet_topos.emulation.nft_core import arm_lines, carrier_message, flip_message, read_errors
from mininet_topos.emulation.places import call_inside, run_batch
from mininet_topos.errors import ArmorError

_NETLINK_ROUTE, _NETLINK_NETFILTER = 0, 12
_ANSWER_TIMEOUT_S = 2.0
_REPLY_BYTES = 1 << 16


class GateError(ArmorError):
    """The kernel refuses a cut or a repair."""


@dataclass
class PlaceGates:
    """The gates of one place: which interfaces have one, and the sockets that move them."""

    pid: int
    armed: set[str]
    netfilter: socket.socket
    route: socket.socket


class Gates:
    """All gates of a run, by place.

    Parameters
    ----------
    shell_pid : function of place to a process in it
    """

    def __init__(self, shell_pid: Callable[[str], int]) -> None:
        self._shell_pid = shell_pid
        self._places: dict[str, PlaceGates] = {}

    def arm(self, place: str, interfaces: Iterable[str]) -> None:
        """Put open gates before interfaces of a place; those that have one keep it.

        Raises
        ------
        CommandError
            nft refuses it (a kernel before 5.16 has no egress hook).
        """
        gates = self._place(place)
        new = [name for name in dict.fromkeys(interfaces) if name not in gates.armed]
        if new:
            run_batch(gates.pid, ["nft", "-f", "-"], arm_lines(new))
            gates.armed.update(new)

    def _place(self, place: str) -> PlaceGates:
        if place not in self._places:
            pid = self._shell_pid(place)
            netfilter, route = call_inside(pid, lambda: (_netlink(_NETLINK_NETFILTER), _netlink(_NETLINK_ROUTE)))
            self._places[place] = PlaceGates(pid, set(), netfilter, route)
        return self._places[place]

    def flip(self, live_of: Mapping[tuple[str, str], bool]) -> tuple[float, float]:
        """Open or shut gates, one message a place, all sent back to back.

        Parameters
        ----------
        live_of : mapping of (place, interface) to whether it may send
            All armed before.

        Returns
        -------
        tuple of float
            CLOCK_MONOTONIC before the first message and after the last.

        Raises
        ------
        GateError
            The kernel refuses.
        """
        by_place: dict[str, dict[str, bool]] = {}
        for (place, interface), live in live_of.items():
            by_place.setdefault(place, {})[interface] = live
        messages = [(self._places[place].netfilter, flip_message(part), len(part)) for place, part in by_place.items()]
        before = time.monotonic()
        for connection, message, _ in messages:
            connection.send(message)  # the kernel has done it when this returns
        after = time.monotonic()
        for connection, _, answers in messages:
            _check_answers(connection, answers)
        return before, after

    def set_carrier(self, place: str, interface: str, up: bool) -> tuple[float, float]:
        """Set one end of a cable up or down; the other end's carrier follows.

        Returns
        -------
        tuple of float
            CLOCK_MONOTONIC before and after.
        """
        gates = self._place(place)
        index = call_inside(gates.pid, lambda: socket.if_nametoindex(interface))
        message = carrier_message(index, up)
        before = time.monotonic()
        gates.route.send(message)
        after = time.monotonic()
        _check_answers(gates.route, 1)
        return before, after

    def close(self) -> None:
        """Close the sockets; the gates themselves go with their namespaces."""
        for gates in self._places.values():
            gates.netfilter.close()
            gates.route.close()
        self._places.clear()


def _netlink(protocol: int) -> socket.socket:
    connection = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    connection.bind((0, 0))
    connection.settimeout(_ANSWER_TIMEOUT_S)
    return connection


def _check_answers(connection: socket.socket, expected: int) -> None:
    answered = 0
    while answered < expected:
        try:
            errors = read_errors(connection.recv(_REPLY_BYTES))
        except TimeoutError as error:
            raise GateError(f"the kernel confirmed {answered} of {expected} changes only") from error
        refused = [number for number in errors if number]
        if refused:
            raise GateError(f"the kernel refuses to move a gate: {os.strerror(refused[0])}")
        answered += len(errors)
