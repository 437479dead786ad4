"""Commands of `ip` and `tc` for a control link with a rate of its own: one queue, or classes by DSCP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from emulation.decide.class_rates import QUANTUM_BYTES, class_rates
from mininet_topos.errors import BadInputError
from ryu_apps.pmt.scheduling import SchedulerKind

SWITCH_ADDRESS, CONTROLLER_ADDRESS = "10.254.1.2", "10.254.2.2"
# Interfaces: the switch's, the wire's two, the controller's.
SWITCH_DEVICE, UP_DEVICE, DOWN_DEVICE, CONTROLLER_DEVICE = "load0", "wire0", "wire1", "ctl0"
QUEUE_PKTS = 100
LOWEST_CLASS = 0xF0
MAX_CLASSES = 8  # TC_HTB_NUMPRIO
_LEAST_KBIT = 8
_BURST_BYTES = 1600


def wire_lines(switch_pid: int, controller_pid: int) -> list[str]:
    """Lines for `ip -batch` in the wire's namespace: a cable to each side, and its own addresses."""
    cables = ((UP_DEVICE, SWITCH_DEVICE, switch_pid, 1), (DOWN_DEVICE, CONTROLLER_DEVICE, controller_pid, 2))
    lines = []
    for device, far, pid, net in cables:
        lines += [
            f"link add {device} type veth peer name {far} netns {pid}",
            f"addr add 10.254.{net}.1/24 dev {device}",
            f"link set {device} up",
        ]
    return lines


def end_lines(device: str, address: str) -> list[str]:
    """Lines for `ip -batch` at one end: its address, and the way to the other end."""
    gateway = address.rpartition(".")[0] + ".1"
    return [
        "link set lo up",
        f"addr add {address}/24 dev {device}",
        f"link set {device} up",
        f"route add default via {gateway}",
    ]


@dataclass(frozen=True, slots=True)
class LinkClasses:
    """Classes of a link.

    Attributes
    ----------
    dscps
        Most urgent first; all other packets come after them. Empty: one queue for all, first come first served.
    scheduler, shares
        How they share the link, and the weight or guaranteed fraction of each and of the rest (`class_rates`).
    """

    dscps: tuple[int, ...] = ()
    scheduler: SchedulerKind = SchedulerKind.STRICT
    shares: tuple[float, ...] = ()


ONE_QUEUE = LinkClasses()


def rate_lines(
    device: str, rate_mbps: float, classes: LinkClasses = ONE_QUEUE, queue_pkts: int = QUEUE_PKTS
) -> list[str]:
    """Lines for `tc -batch` that give a device a rate and classes by DSCP.

    Parameters
    ----------
    rate_mbps
        Ethernet headers count.
    queue_pkts
        Longest queue, each.

    Raises
    ------
    BadInputError
        A rate that `tc` cannot express, or too many classes.
    """
    rate_kbit = round(rate_mbps * 1000)
    if rate_kbit < 10 * _LEAST_KBIT:
        raise BadInputError(f"a control link of {rate_mbps:g} Mbit/s is too slow; use at least 0.08")
    n_marks = len(classes.dscps)
    if n_marks >= MAX_CLASSES:
        raise BadInputError(f"{n_marks} marks and the rest are more classes than the {MAX_CLASSES} of a link")
    burst, whole = f"burst {_BURST_BYTES} cburst {_BURST_BYTES}", f"rate {rate_kbit}kbit ceil {rate_kbit}kbit"
    lines = [
        f"qdisc replace dev {device} root handle 1: htb default {LOWEST_CLASS:x}",
        f"class add dev {device} parent 1: classid 1:1 htb {whole} quantum {QUANTUM_BYTES} {burst}",
    ]
    numbers = [*range(0x10, 0x10 + n_marks), LOWEST_CLASS]
    rates = class_rates(classes.scheduler, classes.shares or (0.0,) * len(numbers), rate_kbit)
    for number, own in zip(numbers, rates, strict=True):
        own_kbit = own.rate_kbit if n_marks else rate_kbit  # one class alone has the whole rate
        leaf = f"htb rate {own_kbit}kbit ceil {rate_kbit}kbit prio {own.priority} quantum {own.quantum_bytes} {burst}"
        lines += [
            f"class add dev {device} parent 1:1 classid 1:{number:x} {leaf}",
            f"qdisc add dev {device} parent 1:{number:x} handle {number:x}: pfifo limit {queue_pkts}",
        ]
    for number, dscp in zip(numbers, classes.dscps, strict=False):
        where = f"u32 match ip tos {dscp << 2:#x} 0xfc flowid 1:{number:x}"
        lines.append(f"filter add dev {device} parent 1: protocol ip prio 1 {where}")
    return lines


def class_counters(shown: Sequence[dict[str, Any]], dscps: Sequence[int]) -> dict[str, dict[str, int]]:
    """Bytes, packets and drops of each class of a link.

    Parameters
    ----------
    shown : sequence of dict
        What `tc -s -j qdisc show dev DEVICE` says, read as JSON: the queue of a class has its number as handle.
    dscps
        As the link was built.

    Returns
    -------
    "dscp N" or "rest" -> {"bytes", "packets", "drops"}.
    """
    names = {f"{0x10 + place:x}:": f"dscp {dscp}" for place, dscp in enumerate(dscps)}
    names[f"{LOWEST_CLASS:x}:"] = "rest"
    return {
        names[each["handle"]]: {name: int(each[name]) for name in ("bytes", "packets", "drops")}
        for each in shown
        if each.get("handle") in names
    }


def sent_bytes(before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> int:
    """Bytes of all classes between two readings."""
    return sum(now["bytes"] - before[name]["bytes"] for name, now in after.items())
