"""Rule plans of 1+1 protection: OpenFlow matches the protected flows and doubles packets, the hairpin does the rest.

Rows of a switch, beside shortest paths for all that is not protected (P4-Protect, section 5.3, as OpenFlow says it):

- ProtectedFlows: a packet of a protected flow gets its connection's slot as VLAN id and goes to the hairpin port.
  The first flow that matches counts: overlapping ones have priorities in their order, and a range of ports is masks;
- m_grp: what comes back numbered and wrapped goes to a group that copies it to both tunnels;
- transit: a copy is matched by its ends and its in-port, since disjoint tunnels share no link;
- Decaps: a copy that arrives at its receiving end goes to the hairpin port, which lets one of the two through;
- what comes from the hairpin port untagged is the packet as it was: delivered, forwarded, or protected anew.

Hosts cannot send wrapped packets: those are dropped at their port.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from itertools import pairwise, product

from dataplane.model.flow_match import LARGEST_PORT, PortRange
from dataplane.model.tunnel_header import PROTOCOL
from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, PortMap, assign_ports
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of, node_ipv4
from ryu_apps.plan.fields import ETH_IPV4, IP_TCP
from ryu_apps.plan.ids import (
    OFPP_IN_PORT,
    PROTECT_PORT,
    VLAN_PRESENT,
    Kind,
    Priority,
    Table,
    cookie,
    protect_group,
)
from ryu_apps.plan.masked_blocks import masked_blocks
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.protection import (
    PROTOCOLS,
    ProtectedFlow,
    Protection,
    flow_text,
    match_of,
    ranks_of,
)
from ryu_apps.plan.rows import (
    Action,
    Bucket,
    FlowRow,
    Group,
    GroupRow,
    Match,
    Output,
    PushVlan,
    RulePlan,
    SetField,
    match,
    sorted_flows,
)
from ryu_apps.plan.shortest import plan_shortest

OWNER = 11
MOST_ROWS = 512  # of a flow at a switch
_ANY = (0, 0)

Path = tuple[Direction, ...]
Paths = dict[tuple[str, str], tuple[Path, Path]]
Rows = dict[str, list[FlowRow]]


def plan_protect(topology: Topology, options: PlanOptions) -> dict[int, RulePlan]:
    """Rule plans by datapath id; without `options.protection`, plain shortest paths.

    Raises
    ------
    BadInputError
        The ends of a connection are joined by no two disjoint paths, or a port of the topology has the hairpin's
        number.
    """
    protection = options.protection or Protection()
    return plans_of(topology, options, protection, paths_of(topology, protection, options.metric))


def paths_of(topology: Topology, protection: Protection, metric: str) -> Paths:
    """Both tunnels of every connection's ends."""
    if not protection.connections:
        return {}
    from ryu_apps.plan.protect.tunnels import require_pairs_of_paths  # brings a compiler with it

    return require_pairs_of_paths(topology, protection.pairs, metric)


def plans_of(topology: Topology, options: PlanOptions, protection: Protection, paths: Paths) -> dict[int, RulePlan]:
    """Rule plans by datapath id, for tunnels that are known.

    Raises
    ------
    BadInputError
        A link has the hairpin's port.
    """
    writer = _Writer(topology, protection, paths, assign_ports(topology))
    taken = [node for node, port in writer.ports.direction_at if port == PROTECT_PORT]
    if taken:
        raise BadInputError(f"{taken[0]} has a link on port {PROTECT_PORT}, where the hairpin stands; give it another")
    flows, groups = writer.rows()
    plans = {}
    for dpid, plain in plan_shortest(topology, options, OWNER).items():
        plans[dpid] = replace(
            plain, flows=sorted_flows([*plain.flows, *flows[plain.node]]), groups=tuple(groups[plain.node])
        )
    return plans


@dataclass(frozen=True)
class _Writer:
    """Writes the rows that protection adds to shortest paths."""

    topology: Topology
    protection: Protection
    paths: Paths
    ports: PortMap

    def rows(self) -> tuple[Rows, dict[str, list[GroupRow]]]:
        """Flow rows and groups by switch."""
        flows: Rows = defaultdict(list)
        groups: dict[str, list[GroupRow]] = defaultdict(list)
        for node in self.topology.node_names:
            forged = match(in_port=HOST_PORT, eth_type=ETH_IPV4, ip_proto=PROTOCOL)
            flows[node].append(FlowRow(Table.CLASSIFY, Priority.GUARD, forged, cookie=self._cookie(None)))
        for pair in sorted(self.paths, key=lambda pair: [self.topology.index_of[node] for node in pair]):
            for node, row in self._tunnel_rows(pair):
                flows[node].append(row)
            groups[pair[0]].append(self._group(pair))
        ranks = ranks_of(self.protection, self.topology)
        for flow, rank in zip(self.protection.flows, ranks, strict=True):
            for number, segment in enumerate(flow.segments):
                in_port = HOST_PORT if number == 0 else PROTECT_PORT
                flows[segment[0]] += self._flow_rows(flow, segment, in_port, Priority.PROTECT - rank)
        return flows, groups

    def _group(self, pair: tuple[str, str]) -> GroupRow:
        buckets = tuple(Bucket((Output(self.ports.port_of[path[0]]),)) for path in self.paths[pair])
        return GroupRow(protect_group(dpid_of(self.topology, pair[1])), "all", buckets)

    def _tunnel_rows(self, pair: tuple[str, str]) -> Iterator[tuple[str, FlowRow]]:
        """Rows for wrapped packets from one end to the other: into the group, along both tunnels, into the hairpin."""
        ingress, egress = pair
        row = self._wrapped(pair)
        yield ingress, row(PROTECT_PORT, Group(protect_group(dpid_of(self.topology, egress))))
        for path in self.paths[pair]:
            for arriving, leaving in pairwise(path):
                yield leaving.src, row(self._in_port(arriving), Output(self.ports.port_of[leaving]))
            yield egress, row(self._in_port(path[-1]), Output(PROTECT_PORT))

    def _in_port(self, arriving: Direction) -> int:
        return self.ports.port_of[Direction(arriving.dst, arriving.src, arriving.key)]

    def _wrapped(self, pair: tuple[str, str]) -> Callable[[int, Action], FlowRow]:
        source, destination = (node_ipv4(dpid_of(self.topology, node)) for node in pair)
        planned = cookie(OWNER, Kind.PLANNED, 0, destination)

        def row(in_port: int, action: Action) -> FlowRow:
            fields = match(
                in_port=in_port,
                eth_type=ETH_IPV4,
                ip_proto=PROTOCOL,
                ipv4_src=source,
                ipv4_dst=destination,
            )
            return FlowRow(Table.CLASSIFY, Priority.TUNNEL, fields, (action,), cookie=planned)

        return row

    def _flow_rows(
        self, flow: ProtectedFlow, segment: tuple[str, str], in_port: int, priority: int
    ) -> Iterator[FlowRow]:
        """Rows that send a protected flow's packets to the hairpin: from the host, or anew from the hairpin itself."""
        connection = self.protection.connection(flow, segment, self.topology)
        actions = (
            PushVlan(),
            SetField("vlan_vid", VLAN_PRESENT | connection.slot),
            Output(PROTECT_PORT if in_port == HOST_PORT else OFPP_IN_PORT),
        )
        for fields in flow_matches(self.topology, flow, in_port):
            yield FlowRow(Table.CLASSIFY, priority, fields, actions, cookie=self._cookie(flow))

    def _cookie(self, flow: ProtectedFlow | None) -> int:
        destination = 0 if flow is None else hosts_of(self.topology)[flow.destination].ipv4
        return cookie(OWNER, Kind.PLANNED, 0, destination)


def flow_matches(topology: Topology, flow: ProtectedFlow, in_port: int) -> tuple[Match, ...]:
    """Matches of a protected flow's packets at a port: one for each protocol and each mask of its ranges of ports.

    Raises
    ------
    BadInputError
        Ranges at both ends that take more rows than a flow may have.
    """
    wanted = match_of(flow, topology)
    ports = list(product(_masks(wanted.source_ports), _masks(wanted.destination_ports)))
    protocols = PROTOCOLS if wanted.protocol is None else (wanted.protocol,)
    if len(ports) * len(protocols) > MOST_ROWS:
        raise BadInputError(
            f"flow {flow_text(flow)} takes {len(ports) * len(protocols)} rows in a switch, and {MOST_ROWS} are "
            "allowed; begin and end its ranges of ports at multiples of 256"
        )
    fixed = {"in_port": in_port, "eth_type": ETH_IPV4}
    ends = {"ipv4_src": _prefix(wanted.source), "ipv4_dst": _prefix(wanted.destination)}
    found = []
    for protocol in protocols:
        name = "tcp" if protocol == IP_TCP else "udp"
        for pair in ports:
            given = {f"{name}_{side}": bits for side, bits in zip(("src", "dst"), pair, strict=True)}
            fields = {key: bits for key, bits in (ends | given).items() if bits != _ANY}
            found.append(match(**fixed, ip_proto=protocol, **fields))
    return tuple(found)


def _masks(ports: PortRange) -> list[int | tuple[int, int]]:
    """A range of ports as values of a match: exact, or (value, mask)."""
    blocks = masked_blocks(ports.first, ports.last + 1, LARGEST_PORT + 1)
    return [value if mask == LARGEST_PORT else (value, mask) for value, mask in blocks]


def _prefix(network: IPv4Network) -> int | tuple[int, int]:
    value = int(network.network_address)
    return value if network.prefixlen == network.max_prefixlen else (value, int(network.netmask))
