"""What a packet carries between switches: the number of its tunnel, and the tag of its traffic class.

A number names a path in both directions, so that acknowledgements return over the tunnel of their flow; commodities
that share a path share its number. The tunnel field decides how far a number is valid, and how rows read and write it:

- `MplsField`: a label, valid in the whole network, and its traffic class (TC);
- `DscpField`: the DSCP, valid for the packets between two switches, and ECN (the testbed of Kuijia section 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, Protocol

from mininet_topos.errors import PlanLimitError
from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.choices import DSCP_FIELD
from ryu_apps.plan.fields import ETH_IPV4, ETH_MPLS
from ryu_apps.plan.ids import Priority, Table
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.commodities import Path, TunnelCommodity, label_key
from ryu_apps.plan.kuijia.options import Prefix
from ryu_apps.plan.kuijia.priorities import ClassMarking
from ryu_apps.plan.rows import Action, Match, PopMpls, PushMpls, SetField, match

FIRST_LABEL, MAX_LABEL = 16, (1 << 20) - 1  # labels 0 to 15 have meanings of their own (RFC 3032 section 2.1)
# CS4 and above belong to control packets (docs/pso.md), and 0 to packets outside tunnels.
FIRST_DSCP, MAX_DSCP = 1, 31
# Not-ECT and CE (RFC 3168): queue management on the way marks packets of neither.
ECN_OF_TC = {0: 0b00, 1: 0b11}
_LENGTHS = 33  # of prefixes

Terms = dict[str, int | tuple[int, int]]
"""Match terms as `rows.match` takes them."""


class Guard(NamedTuple):
    """A row of the first table: what it matches, its priority, and where such packets go on; None: dropped."""

    match: Match
    priority: int
    goto_table: Table | None


class TransitMatch(NamedTuple):
    """What packets of a tunnel show on their way, beside the port by which they come.

    Attributes
    ----------
    identity
        Goes into cookies, where other rows have a destination.
    """

    terms: Terms
    priority: int
    identity: int


class TunnelField(Protocol):
    """How packets carry the number of their tunnel and their tag."""

    @property
    def numbers(self) -> range:
        """Numbers of tunnels."""

    @property
    def needs(self) -> Terms:
        """What rows that write the field have to match."""

    def scope(self, path: Path) -> str:
        """Where the number of a path is valid, in words: no two paths of one scope have the same number."""

    def guards(self, node: str) -> Iterator[Guard]:
        """Rows of a switch that separate packets in tunnels from those that enter here."""

    def transit(self, way: Path, number: int, marking: ClassMarking) -> Iterator[TransitMatch]:
        """How switches recognise packets of a class that cross a tunnel in one direction."""

    def enter(self, number: int, marking: ClassMarking) -> tuple[Action, ...]:
        """Actions that write the field where a packet enters a tunnel."""

    def leave(self) -> tuple[Action, ...]:
        """Actions that clear the field, so that hosts get clean packets."""

    def read(self, packet: Packet) -> tuple[tuple[int, int], ...]:
        """(number, TC) that a packet on a link carries; nothing outside tunnels."""


@dataclass(frozen=True, slots=True)
class MplsField:
    """A label and its TC: two fields of a header of their own."""

    numbers: range = range(FIRST_LABEL, MAX_LABEL + 1)

    @property
    def needs(self) -> Terms:
        """Nothing: a label is pushed onto any packet."""
        return {}

    def scope(self, path: Path) -> str:  # noqa: ARG002
        """One for all: labels are valid in the whole network."""
        return "the network"

    def guards(self, node: str) -> Iterator[Guard]:  # noqa: ARG002
        """Labels to the label table; untagged IPv4 of hosts to the ingress table; labels of hosts are dropped."""
        yield Guard(match(eth_type=ETH_MPLS, in_port=HOST_PORT), Priority.GUARD, None)
        yield Guard(match(eth_type=ETH_MPLS, vlan_vid=0), Priority.PRIMARY, Table.TE_TRANSIT)
        from_host = match(eth_type=ETH_IPV4, in_port=HOST_PORT, vlan_vid=0)
        yield Guard(from_host, Priority.PRIMARY, Table.TE_INGRESS)

    def transit(self, way: Path, number: int, marking: ClassMarking) -> Iterator[TransitMatch]:  # noqa: ARG002
        """Label and TC; cookies carry the label, so counters are by tunnel."""
        terms: Terms = {"eth_type": ETH_MPLS, "mpls_label": number, "mpls_tc": marking.tc}
        yield TransitMatch(terms, Priority.PRIMARY, number)

    def enter(self, number: int, marking: ClassMarking) -> tuple[Action, ...]:
        """Push a label. The TC is set, or Open vSwitch would copy bits of the DSCP into it."""
        return PushMpls(), SetField("mpls_label", number), SetField("mpls_tc", marking.tc)

    def leave(self) -> tuple[Action, ...]:
        """Pop the label."""
        return (PopMpls(ETH_IPV4),)

    def read(self, packet: Packet) -> tuple[tuple[int, int], ...]:
        """The labels."""
        return packet.mpls


@dataclass(frozen=True, slots=True)
class DscpField:
    """DSCP and ECN, beside the addresses of both ends: what hosts write there themselves is lost.

    Attributes
    ----------
    prefixes
        Addresses behind every switch. A packet with a source address of another switch would be taken for one of that
        switch's tunnels, so it is dropped where it enters.
    """

    prefixes: Mapping[str, tuple[Prefix, ...]]
    numbers: range = range(FIRST_DSCP, MAX_DSCP + 1)

    @property
    def needs(self) -> Terms:
        """IPv4, which alone has the field here."""
        return {"eth_type": ETH_IPV4}

    def scope(self, path: Path) -> str:
        """One for each pair of switches."""
        key = label_key(path)
        return f"the pair {key[0].src}, {key[-1].dst}"

    def guards(self, node: str) -> Iterator[Guard]:
        """IPv4 of the switch's own hosts to the ingress table, of links to the transit table."""
        own = self.prefixes[node]
        within = [
            prefix
            for other, prefixes in self.prefixes.items()
            for prefix in prefixes
            if other != node and any(prefix.ipv4 in each for each in own)
        ]
        for prefix, goto in (*((each, Table.TE_INGRESS) for each in own), *((each, None) for each in within)):
            fields = match(eth_type=ETH_IPV4, in_port=HOST_PORT, ipv4_src=prefix.match, vlan_vid=0)
            yield Guard(fields, Priority.PRIMARY + prefix.length, goto)
        yield Guard(match(eth_type=ETH_IPV4, vlan_vid=0), Priority.PRIMARY, Table.TE_TRANSIT)

    def transit(self, way: Path, number: int, marking: ClassMarking) -> Iterator[TransitMatch]:
        """Addresses of both ends, DSCP and ECN; of prefixes that overlap the longest match wins, first at the end."""
        for source, destination in product(self.prefixes[way[0].src], self.prefixes[way[-1].dst]):
            terms: Terms = {
                "eth_type": ETH_IPV4,
                "ipv4_src": source.match,
                "ipv4_dst": destination.match,
                "ip_dscp": number,
                "ip_ecn": ECN_OF_TC[marking.tc],
            }
            priority = Priority.PRIMARY + _LENGTHS * destination.length + source.length
            yield TransitMatch(terms, priority, destination.ipv4)

    def enter(self, number: int, marking: ClassMarking) -> tuple[Action, ...]:
        """Write both fields."""
        return SetField("ip_dscp", number), SetField("ip_ecn", ECN_OF_TC[marking.tc])

    def leave(self) -> tuple[Action, ...]:
        """Best effort, and no ECN: what hosts wrote there is not known any more."""
        return SetField("ip_dscp", 0), SetField("ip_ecn", 0)

    def read(self, packet: Packet) -> tuple[tuple[int, int], ...]:
        """The DSCP, and the TC that ECN stands for."""
        tcs = [tc for tc, ecn in ECN_OF_TC.items() if ecn == packet.ip_ecn]
        return tuple((packet.ip_dscp, tc) for tc in tcs if packet.ip_dscp in self.numbers)


MPLS = MplsField()


def field_of(name: str, prefixes: Mapping[str, tuple[Prefix, ...]]) -> TunnelField:
    """The tunnel field of a name (`plan.choices.TUNNEL_FIELDS`) with the prefixes behind every switch."""
    return DscpField(prefixes) if name == DSCP_FIELD else MPLS


def assign_labels(
    commodities: Iterable[TunnelCommodity], held: Mapping[Path, int] | None = None, field: TunnelField = MPLS
) -> dict[Path, int]:
    """A number for every path, by the path in the direction in which its lower end comes first.

    Parameters
    ----------
    held
        Numbers of the plan in force. Paths that stay keep theirs, and none of them is given to another path, so that
        packets under way are never taken for others while one plan replaces the other.

    Raises
    ------
    PlanLimitError
        More paths than numbers.
    """
    known = dict(held or {})
    used = {(field.scope(path), number) for path, number in known.items()}
    free: dict[str, Iterator[int]] = {}
    labels: dict[Path, int] = {}
    for path in (path for each in commodities for path in each.paths):
        key, scope = label_key(path), field.scope(path)
        if key in labels:
            continue
        if key not in known:
            unused = free.setdefault(scope, iter(field.numbers))
            known[key] = next((number for number in unused if (scope, number) not in used), -1)
        if known[key] not in field.numbers:
            raise PlanLimitError(
                f"{scope} has more tunnels than the {len(field.numbers):,} that its tunnel field can number; "
                "plan fewer pairs or tunnels"
            )
        labels[key] = known[key]
    return labels
