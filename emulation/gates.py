"""Gates in front of the wires of interfaces, opened and shut by netlink from inside their namespaces."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from emulation.decide import clsact, nft
from emulation.decide.netlink import carrier_message, read_errors
from machine.places import call_inside, run_batch
from mininet_topos.errors import ArmorError

NFT, CLSACT = "nft", "clsact"
_NETLINK_ROUTE, _NETLINK_NETFILTER = 0, 12
_ANSWER_TIMEOUT_S = 2.0
_REPLY_BYTES = 1 << 16


class GateError(ArmorError):
    """The kernel refuses a failure or a repair."""


@dataclass
class PlaceGates:
    """The gates of one place: index of each prepared interface, which are shut, and the sockets that move them."""

    pid: int
    netfilter: socket.socket
    route: socket.socket
    index_of: dict[str, int] = field(default_factory=dict)
    shut: set[str] = field(default_factory=set)


class Gates:
    """All gates of a run, by place.

    Parameters
    ----------
    shell_pid : function of place to a process in it
    mechanism : "nft" or "clsact"
        What drops the packets: nftables (Linux 5.16 and later), or a filter behind a clsact qdisc.
    program : int, optional
        With clsact, file descriptor of a program that takes packets (`dataplane.gate_program`).
    """

    def __init__(self, shell_pid: Callable[[str], int], mechanism: str = NFT, program: int | None = None) -> None:
        self._shell_pid, self._mechanism, self._program = shell_pid, mechanism, program
        self._places: dict[str, PlaceGates] = {}

    def prepare(self, place: str, interfaces: Iterable[str]) -> None:
        """Put open gates before interfaces of a place; those that have one keep it.

        Raises
        ------
        CommandError
            The kernel refuses it (`armor doctor` tells what it can do).
        """
        gates = self._place(place)
        new = [name for name in dict.fromkeys(interfaces) if name not in gates.index_of]
        if not new:
            return
        if self._mechanism == NFT:
            run_batch(gates.pid, ["nft", "-f", "-"], nft.prepare_lines(new))
        else:
            run_batch(gates.pid, ["tc", "-batch", "-"], clsact.prepare_lines(new))
        indexes = call_inside(gates.pid, lambda: [socket.if_nametoindex(name) for name in new])
        gates.index_of.update(zip(new, indexes, strict=True))

    def _place(self, place: str) -> PlaceGates:
        if place not in self._places:
            pid = self._shell_pid(place)
            netfilter, route = call_inside(pid, lambda: (_netlink(_NETLINK_NETFILTER), _netlink(_NETLINK_ROUTE)))
            self._places[place] = PlaceGates(pid, netfilter, route)
        return self._places[place]

    def switch(self, live_of: Mapping[tuple[str, str], bool]) -> tuple[float, float]:
        """Open or shut gates, one message a place, all sent back to back.

        Parameters
        ----------
        live_of : mapping of (place, interface) to whether it may send
            All prepared before; a gate that stands as asked already stays.

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
            if live == (interface in self._places[place].shut):
                by_place.setdefault(place, {})[interface] = live
        sends = [(*self._message(self._places[place], part), place, part) for place, part in by_place.items()]
        before = time.monotonic()
        for connection, message, _, _ in sends:
            connection.send(message)  # the kernel has done it when this returns
        after = time.monotonic()
        for connection, _, place, part in sends:
            _check_answers(connection, len(part))
            self._places[place].shut.difference_update(name for name, live in part.items() if live)
            self._places[place].shut.update(name for name, live in part.items() if not live)
        return before, after

    def _message(self, gates: PlaceGates, live_of: Mapping[str, bool]) -> tuple[socket.socket, bytes]:
        if self._mechanism == NFT:
            return gates.netfilter, nft.switch_message(live_of)
        by_index = {gates.index_of[name]: live for name, live in live_of.items()}
        return gates.route, clsact.switch_message(by_index, self._program)

    def set_carrier(self, place: str, interface: str, up: bool) -> tuple[float, float]:
        """Set one end of a cable up or down; the other end's carrier follows.

        Returns
        -------
        tuple of float
            CLOCK_MONOTONIC before and after.

        Raises
        ------
        GateError
            The kernel refuses.
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
