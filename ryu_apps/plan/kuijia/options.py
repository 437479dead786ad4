"""What the user may choose about tunnel plans, and the prefixes behind edge switches."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Network, NetmaskValueError
from typing import NamedTuple

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import Host
from ryu_apps.plan.choices import AGENTS_NOTIFY, DSCP_FIELD, NOTIFIERS, SPLITS, TUNNEL_FIELDS, dscp_conflict
from ryu_apps.plan.kuijia.priorities import PRIORITY_SETUPS, PrioritySetup

_ADDRESS_BITS = 32


class Prefix(NamedTuple):
    """Addresses behind an edge switch: IPv4 network and prefix length."""

    ipv4: int
    length: int

    @property
    def mask(self) -> int:
        """Network mask."""
        return (1 << _ADDRESS_BITS) - (1 << _ADDRESS_BITS - self.length)

    @property
    def match(self) -> int | tuple[int, int]:
        """The term that `rows.match` takes."""
        return self.ipv4 if self.length == _ADDRESS_BITS else (self.ipv4, self.mask)

    def __contains__(self, ipv4: object) -> bool:
        return isinstance(ipv4, int) and ipv4 & self.mask == self.ipv4


def parse_prefix(text: str) -> Prefix:
    """Prefix of "10.0.2.0/24"; a bare address is a prefix of 32 bits.

    Raises
    ------
    BadInputError
        No IPv4 prefix, bits set behind it, or the prefix of all addresses.
    """
    try:
        network = IPv4Network(text)
    except (AddressValueError, NetmaskValueError, ValueError) as error:
        raise BadInputError(f"{text!r} is no IPv4 prefix ({error}); write one like 10.0.2.0/24") from None
    if not network.prefixlen:
        raise BadInputError(f"{text!r} holds all addresses; give every edge switch a prefix of its own")
    return Prefix(int(network.network_address), network.prefixlen)


@dataclass(frozen=True, slots=True)
class TunnelOptions:
    """Options of every tunnel scheme.

    Attributes
    ----------
    priorities : {"single", "four", "eight"}
        Traffic classes and queues (priorities.py).
    split : {"ranges", "select"}
        Hash ranges by masked matches, or a SELECT group: for comparison only, since its weights are not kept
        (Open vSwitch rounds them to slots of its own) and its victims cannot be tagged.
    prefixes : tuple of (str, tuple of Prefix)
        Addresses behind edge switches; a switch that is not named has the address of its host.
    notified_by : {"controller", "agent"}
        Who notifies the ingress that a tunnel is down: the controller, or the agents of the switches (transit.py), for
        which every tunnel needs rows.

    tunnel_field : {"mpls", "dscp"}
        What packets carry their tunnel and their tag in (tunnel_field.py).

    Raises
    ------
    BadInputError
        A value that is not among the choices, agents with a SELECT group, a prefix that stands twice, or choices that
        tunnels in the DSCP do not go together with.
    """

    priorities: str = "single"
    split: str = "ranges"
    prefixes: tuple[tuple[str, tuple[Prefix, ...]], ...] = ()
    notified_by: str = NOTIFIERS[0]
    tunnel_field: str = TUNNEL_FIELDS[0]

    def __post_init__(self) -> None:
        for name, choices in (
            ("priorities", tuple(PRIORITY_SETUPS)),
            ("split", SPLITS),
            ("notified_by", NOTIFIERS),
            ("tunnel_field", TUNNEL_FIELDS),
        ):
            if getattr(self, name) not in choices:
                raise BadInputError(f"unknown {name} {getattr(self, name)!r}; use one of {', '.join(choices)}")
        if self.split == "select" and self.by_agents:
            raise BadInputError(
                "agents change hash ranges, not groups; use split 'ranges', or let the controller notify"
            )
        conflict = dscp_conflict(self.priorities, self.notified_by)
        if self.tunnel_field == DSCP_FIELD and conflict:
            raise BadInputError(conflict)
        given = [prefix for _, prefixes in self.prefixes for prefix in prefixes]
        if len(set(given)) < len(given):
            raise BadInputError(f"the prefixes {self.prefixes} name one twice; each belongs to one switch")

    @property
    def by_agents(self) -> bool:
        """Whether the agents of the switches answer failed tunnels."""
        return self.notified_by == AGENTS_NOTIFY

    @property
    def setup(self) -> PrioritySetup:
        """Traffic classes and queues."""
        return PRIORITY_SETUPS[self.priorities]


def prefixes_of(topology: Topology, hosts: dict[str, Host], options: TunnelOptions) -> dict[str, tuple[Prefix, ...]]:
    """Prefixes behind every switch.

    Raises
    ------
    BadInputError
        The options name a switch that the topology does not have.
    """
    given = dict(options.prefixes)
    for node in given:
        if node not in topology.index_of:
            raise BadInputError(f"prefixes are given for {node!r}, which is no node of {topology.name!r}; remove them")
    return {node: given.get(node, (Prefix(hosts[node].ipv4, _ADDRESS_BITS),)) for node in topology.node_names}
