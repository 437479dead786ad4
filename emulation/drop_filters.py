"""Filters that drop what interfaces send, switched on and off by netlink from inside their namespaces."""

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


class DropFilterError(ArmorError):
    """The kernel refuses a failure or a repair."""


@dataclass
class PlaceFilters:
    """The drop filters of one place: interface indexes, which of them drop, and the sockets that set them."""

    pid: int
    netfilter: socket.socket
    route: socket.socket
    index_of: dict[str, int] = field(default_factory=dict)
    dropping: set[str] = field(default_factory=set)


class DropFilters:
    """All drop filters of a run, by place.

    Parameters
    ----------
    shell_pid : function of place to a process in it
    mechanism : "nft" or "clsact"
        What drops the packets: nftables (Linux 5.16 and later), or a filter behind a clsact qdisc.
    program
        With clsact, file descriptor of a program that takes packets (`dataplane.drop_program`).
    """

    def __init__(self, shell_pid: Callable[[str], int], mechanism: str = NFT, program: int | None = None) -> None:
        self._shell_pid, self._mechanism, self._program = shell_pid, mechanism, program
        self._places: dict[str, PlaceFilters] = {}

    def prepare(self, place: str, interfaces: Iterable[str]) -> None:
        """Prepare filters that let all pass at interfaces of a place; those that have one keep it.

        Raises
        ------
        CommandError
            The kernel refuses it (`armor doctor` tells what it can do).
        """
        filters = self._place(place)
        new = [name for name in dict.fromkeys(interfaces) if name not in filters.index_of]
        if not new:
            return
        if self._mechanism == NFT:
            run_batch(filters.pid, ["nft", "-f", "-"], nft.prepare_lines(new))
        else:
            run_batch(filters.pid, ["tc", "-batch", "-"], clsact.prepare_lines(new))
        indexes = call_inside(filters.pid, lambda: [socket.if_nametoindex(name) for name in new])
        filters.index_of.update(zip(new, indexes, strict=True))

    def _place(self, place: str) -> PlaceFilters:
        if place not in self._places:
            pid = self._shell_pid(place)
            netfilter, route = call_inside(pid, lambda: (_netlink(_NETLINK_NETFILTER), _netlink(_NETLINK_ROUTE)))
            self._places[place] = PlaceFilters(pid, netfilter, route)
        return self._places[place]

    def switch(self, live_of: Mapping[tuple[str, str], bool]) -> tuple[float, float]:
        """Switch filters on or off, one message a place, all sent back to back.

        Parameters
        ----------
        live_of : mapping of (place, interface) to whether it may send
            All prepared before; a filter that is in the wanted state is left alone.

        Returns
        -------
        tuple of float
            CLOCK_MONOTONIC before the first message and after the last.

        Raises
        ------
        DropFilterError
            The kernel refuses at a place; the others have changed.
        """
        by_place: dict[str, dict[str, bool]] = {}
        for (place, interface), live in live_of.items():
            if live == (interface in self._places[place].dropping):
                by_place.setdefault(place, {})[interface] = live
        sends = [(*self._message(self._places[place], part), place, part) for place, part in by_place.items()]
        before = time.monotonic()
        for connection, message, _, _ in sends:
            connection.send(message)  # the kernel has done it when this returns
        after = time.monotonic()
        refused: list[DropFilterError] = []
        for connection, _, place, part in sends:
            try:
                _check_answers(connection, len(part))
            except DropFilterError as error:
                refused.append(error)
                continue
            self._places[place].dropping.difference_update(name for name, live in part.items() if live)
            self._places[place].dropping.update(name for name, live in part.items() if not live)
        if refused:
            raise refused[0]
        return before, after

    @property
    def drops_a_part(self) -> bool:
        """Whether filters can drop a part of the packets."""
        return self._mechanism == NFT

    def set_rule(self, ends: Iterable[tuple[str, str]], rule: str | None) -> tuple[float, float]:
        """Give prepared filters of (place, interface) a rule that drops a part, or take it away (None).

        Returned are the times of CLOCK_MONOTONIC before and after.

        Raises
        ------
        DropFilterError
            The filters are not nftables'.
        CommandError
            The kernel refuses the rule.
        """
        if not self.drops_a_part:
            raise DropFilterError("only nftables can drop a part of what an interface sends (Linux 5.16 and later)")
        by_place: dict[str, list[str]] = {}
        for place, interface in ends:
            by_place.setdefault(place, []).append(interface)
        before = time.monotonic()
        for place, interfaces in by_place.items():
            run_batch(self._places[place].pid, ["nft", "-f", "-"], nft.rule_lines(interfaces, rule))
        return before, time.monotonic()

    def _message(self, filters: PlaceFilters, live_of: Mapping[str, bool]) -> tuple[socket.socket, bytes]:
        if self._mechanism == NFT:
            return filters.netfilter, nft.switch_message(live_of)
        by_index = {filters.index_of[name]: live for name, live in live_of.items()}
        return filters.route, clsact.switch_message(by_index, self._program)

    def set_carrier(self, place: str, interface: str, up: bool) -> tuple[float, float]:
        """Set one end of a cable up or down; the other end's carrier follows.

        Returns
        -------
        tuple of float
            CLOCK_MONOTONIC before and after.

        Raises
        ------
        DropFilterError
            The kernel refuses.
        """
        filters = self._place(place)
        index = call_inside(filters.pid, lambda: socket.if_nametoindex(interface))
        message = carrier_message(index, up)
        before = time.monotonic()
        filters.route.send(message)
        after = time.monotonic()
        _check_answers(filters.route, 1)
        return before, after

    def close(self) -> None:
        """Close the sockets; the filters themselves go with their namespaces."""
        for filters in self._places.values():
            filters.netfilter.close()
            filters.route.close()
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
            raise DropFilterError(f"the kernel confirmed {answered} of {expected} changes only") from error
        refused = [number for number in errors if number]
        if refused:
            raise DropFilterError(f"the kernel refuses to switch a drop filter: {os.strerror(refused[0])}")
        answered += len(errors)
