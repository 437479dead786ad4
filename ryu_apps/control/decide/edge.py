"""ARP at the edge: the controller answers for hosts elsewhere, and finds out which MAC addresses hosts really have.

A host that is asked for is first asked itself (an ARP request to its port): the answer gives its MAC address,
the waiting askers get it, and when it is not the derived one, its switch rewrites the destination of what it
delivers. A host that does not answer is not answered for. Addresses are those of `plan/addressing.py`:
host k of the topology is 10.0.k/256.k%256; another address on a host port is named and gets no service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address

from ryu_apps.control.decide.frames import CONTROLLER_MAC, Arp
from ryu_apps.plan.addressing import Host
from ryu_apps.plan.fields import ARP_REPLY, ARP_REQUEST

MAX_WAITING = 64  # askers kept for one host; more than that are repeats or an attack
MAX_UNEXPECTED = 64  # unexpected hosts that are named at one switch


@dataclass(frozen=True, slots=True)
class SendArp:
    """Send an ARP packet out of a switch's port."""

    node: str
    port_no: int
    arp: Arp
    eth_dst: int


@dataclass(frozen=True, slots=True)
class UseMac:
    """A host has this MAC address: its switch must deliver to it (`foreign`: it is not the derived one)."""

    node: str
    ipv4: int
    mac: int
    foreign: bool


@dataclass(frozen=True, slots=True)
class UnexpectedHost:
    """Something at a host port that does not fit the topology; a sentence."""

    node: str
    text: str


EdgeAction = SendArp | UseMac | UnexpectedHost


@dataclass(frozen=True)
class EdgeState:
    """Hosts, what is known of their MAC addresses, and who waits for whom.

    Attributes
    ----------
    hosts
        By IPv4 address.
    mac_of
        Confirmed MAC addresses.
    waiting
        Askers (IPv4) by the address that they asked for.
    unexpected
        What has been named already.
    """

    hosts: Mapping[int, Host]
    mac_of: Mapping[int, int] = field(default_factory=dict)
    waiting: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    unexpected: frozenset[UnexpectedHost] = frozenset()


def edge_state(hosts: Mapping[str, Host]) -> EdgeState:
    """State in which nothing is known but who should be where (`addressing.hosts_of`)."""
    return EdgeState({host.ipv4: host for host in hosts.values()})


def derived_mac(host: Host) -> int:
    """The MAC address that a host of an emulated network has."""
    return int(host.mac.replace(":", ""), 16)


def foreign_macs_at(state: EdgeState, node: str) -> dict[int, int]:
    """MAC addresses, by IPv4 address, of the hosts on a switch that are not the derived ones."""
    return {
        ipv4: mac
        for ipv4, mac in state.mac_of.items()
        if state.hosts[ipv4].node == node and mac != derived_mac(state.hosts[ipv4])
    }


def probe(state: EdgeState, node: str) -> tuple[SendArp, ...]:
    """Ask every host on a switch for its MAC address; who asks has no address (RFC 5227 probe)."""
    return tuple(_probe_of(host) for host in state.hosts.values() if host.node == node)


def remember_macs(state: EdgeState, macs: Mapping[int, int]) -> EdgeState:
    """MAC addresses that a switch's rows already name (learned before the controller restarted)."""
    known = {ipv4: mac for ipv4, mac in macs.items() if ipv4 in state.hosts}
    return replace(state, mac_of={**known, **state.mac_of})


def on_arp(state: EdgeState, node: str, port_no: int, arp: Arp) -> tuple[EdgeState, tuple[EdgeAction, ...]]:
    """An ARP packet has come from a switch's host port.

    Returns
    -------
    tuple of EdgeState and tuple of EdgeAction
        The state after it, and what to do.
    """
    actions: list[EdgeAction] = []
    asker = state.hosts.get(arp.sender_ipv4)
    if asker is not None and (asker.node, asker.port_no) == (node, port_no):
        if arp.sender_mac != CONTROLLER_MAC and not arp.sender_mac >> 40 & 1:
            state, learned = _confirm(state, asker, arp.sender_mac)
            actions += learned
    elif arp.sender_ipv4:
        state, named = _name_unexpected_host(state, node, port_no, arp.sender_ipv4)
        actions += named
        asker = None
    if arp.op == ARP_REQUEST and asker is not None and arp.target_ipv4 != arp.sender_ipv4:
        state, answer = _answer(state, asker, arp.target_ipv4)
        actions += answer
    return state, tuple(actions)


def _confirm(state: EdgeState, host: Host, mac: int) -> tuple[EdgeState, list[EdgeAction]]:
    waiting = state.waiting.get(host.ipv4, ())
    actions: list[EdgeAction] = []
    if state.mac_of.get(host.ipv4) != mac:
        actions.append(UseMac(host.node, host.ipv4, mac, mac != derived_mac(host)))
    state = replace(
        state,
        mac_of={**state.mac_of, host.ipv4: mac},
        waiting={ipv4: askers for ipv4, askers in state.waiting.items() if ipv4 != host.ipv4},
    )
    return state, [*actions, *(_reply(state, state.hosts[asker], host) for asker in waiting)]


def _answer(state: EdgeState, asker: Host, target_ipv4: int) -> tuple[EdgeState, list[EdgeAction]]:
    target = state.hosts.get(target_ipv4)
    if target is None:
        text = f"{asker.name} asks for {IPv4Address(target_ipv4)}, which no host of the topology has"
        return _name(state, UnexpectedHost(asker.node, text))
    if target_ipv4 in state.mac_of:
        return state, [_reply(state, asker, target)]
    waiting = state.waiting.get(target_ipv4, ())
    if asker.ipv4 not in waiting and len(waiting) < MAX_WAITING:
        waiting = (*waiting, asker.ipv4)
    return replace(state, waiting={**state.waiting, target_ipv4: waiting}), [_probe_of(target)]


def _reply(state: EdgeState, asker: Host, target: Host) -> SendArp:
    asker_mac = state.mac_of.get(asker.ipv4, derived_mac(asker))
    arp = Arp(ARP_REPLY, state.mac_of[target.ipv4], target.ipv4, asker_mac, asker.ipv4)
    return SendArp(asker.node, asker.port_no, arp, asker_mac)


def _probe_of(host: Host) -> SendArp:
    arp = Arp(ARP_REQUEST, CONTROLLER_MAC, 0, 0, host.ipv4)
    return SendArp(host.node, host.port_no, arp, (1 << 48) - 1)


def _name_unexpected_host(state: EdgeState, node: str, port_no: int, ipv4: int) -> tuple[EdgeState, list[EdgeAction]]:
    expected = [host.address for host in state.hosts.values() if (host.node, host.port_no) == (node, port_no)]
    text = f"port {port_no} of {node} uses address {IPv4Address(ipv4)}; give the host {' or '.join(expected) or 'none'}"
    return _name(state, UnexpectedHost(node, text))


def _name(state: EdgeState, unexpected: UnexpectedHost) -> tuple[EdgeState, list[EdgeAction]]:
    # By switch, so that one that names many does not keep the others from being named.
    at_switch = sum(1 for each in state.unexpected if each.node == unexpected.node)
    if unexpected in state.unexpected or at_switch >= MAX_UNEXPECTED:
        return state, []
    return replace(state, unexpected=state.unexpected | {unexpected}), [unexpected]
