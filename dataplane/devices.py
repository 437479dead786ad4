"""Interfaces that packet programs stand on: virtual ports, and the settings that hosts and links must have."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable

from dataplane.model.tunnel_header import OVERHEAD_BYTES
from machine.places import call_inside, inside, run_batch, run_program
from mininet_topos.errors import BadInputError

TAG_BYTES = 4
# A protected packet of a full Ethernet payload, with room for a tag.
PATH_MTU = 1500 + OVERHEAD_BYTES + TAG_BYTES
# Merged segments cannot be numbered or cached one by one; a checksum that is left to the card is missing from copies.
OFFLOADS = ("tso", "gso", "gro", "tx")


def interface_index(pid: int, device: str) -> int:
    """Number of an interface in the namespace of a process.

    Raises
    ------
    BadInputError
        There is none of that name.
    """

    def ask() -> int:
        try:
            return socket.if_nametoindex(device)
        except OSError as error:
            raise BadInputError(f"there is no interface {device} in the namespace: give one that is there") from error

    return call_inside(pid, ask)


def add_virtual_port(pid: int, outer: str, inner: str, mtu: int = PATH_MTU) -> None:
    """Make a port of a bridge (`outer`) whose other end (`inner`) is for a packet program; both up, offloads off.

    Parameters
    ----------
    pid
        A process in the namespace.
    outer, inner
        Names of the two interfaces.
    mtu
        At least that of the links, and for protected packets 28 bytes more than the hosts'.

    Raises
    ------
    CommandError
        The kernel refuses.
    """
    lines = [f"link add dev {outer} mtu {mtu} type veth peer name {inner} mtu {mtu}"]
    run_batch(pid, ["ip", "-batch", "-"], [*lines, f"link set dev {outer} up", f"link set dev {inner} up"])
    switch_offloads_off(pid, (outer, inner))


def switch_offloads_off(pid: int, devices: Iterable[str]) -> None:
    """Switch segmentation and checksum offloads of interfaces off; mandatory on every host of a protected flow.

    Raises
    ------
    CommandError
        ethtool refuses.
    """
    words = [word for name in OFFLOADS for word in (name, "off")]
    for device in devices:
        run_program(inside(pid, ["ethtool", "-K", device, *words]))


def has_queue(pid: int, device: str) -> bool:
    """Whether an interface queues what it sends (a traffic-control tree), or sends it at once.

    Raises
    ------
    CommandError
        There is no such interface.
    """
    trees = json.loads(run_program(inside(pid, ["tc", "-json", "qdisc", "show", "dev", device])) or "[]")
    return any(tree["kind"] not in ("noqueue", "clsact") for tree in trees)
