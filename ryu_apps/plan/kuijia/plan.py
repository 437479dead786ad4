"""Rule plans of schemes with tunnels.

`TunnelPlanner` is prepared once from commodities; after that a failure costs the rows of the pairs that it hits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.hash_ranges import HashRange
from ryu_apps.plan.ids import Kind
from ryu_apps.plan.kuijia.commodities import Path, TunnelCommodity, label_key, with_ways_back
from ryu_apps.plan.kuijia.ingress import (
    IngressEntry,
    Wiring,
    base_rows,
    commodity_number,
    failure_rows,
    ingress_rows,
    select_group,
)
from ryu_apps.plan.kuijia.options import TunnelOptions, prefixes_of
from ryu_apps.plan.kuijia.priorities import ClassMarking, queue_rows
from ryu_apps.plan.kuijia.transit import guard_rows, ldi_rows, tunnel_rows
from ryu_apps.plan.kuijia.tunnel_field import assign_labels, field_of
from ryu_apps.plan.rows import FlowRow, GroupRow, RulePlan, sorted_flows
from ryu_apps.plan.scheme import Scheme
from ryu_apps.plan.slot_layers import (
    Events,
    Layer,
    holding,
    rebased_layer,
)

Failures = Sequence[frozenset[LinkId]]
"""Links that failed, one set for each moment, in order; a repaired link is in none."""


@dataclass(frozen=True)
class Held:
    """What a planner's plans have put in force.

    Attributes
    ----------
    holders
        (pair, priority) to (slots, path), all slots; None: no tunnel.
    """

    labels: Mapping[Path, int] = field(default_factory=dict)
    holders: Mapping[tuple[tuple[str, str], int], tuple[tuple[HashRange, Path | None], ...]] = field(
        default_factory=dict
    )

    def base(self, commodity: TunnelCommodity) -> Layer | None:
        """Base layer of a commodity that moves no flow that need not move; None where nothing is in force."""
        holders = self.holders.get((commodity.pair, commodity.priority))
        if holders is None:
            return None
        number_of = {path: number for number, path in enumerate(commodity.paths)}
        return rebased_layer(((slots, number_of.get(path or ())) for slots, path in holders), commodity.weights)


class TunnelPlanner:
    """One scheme on one topology with given tunnels and weights.

    Parameters
    ----------
    scheme
        One with tunnels.
    commodities
        Pairs that have no way back get one over the same tunnels.
    held
        What is in force, when these plans are to replace it (replacement.py): paths that stay keep their labels, and
        no flow moves that need not.

    Attributes
    ----------
    owner : int
        Whose rows they are, in cookies.
    failover : TunnelFailover
    ingress_entries : dict of str to list of Ingress entry
        Commodities by ingress switch.
    labels : dict of Path to int
    """

    def __init__(
        self,
        scheme: Scheme,
        topology: Topology,
        commodities: Iterable[TunnelCommodity],
        options: TunnelOptions,
        held: Held | None = None,
    ) -> None:
        if scheme.tunnels is None or scheme.number is None:
            raise BadInputError(f"scheme {scheme.name!r} plans no tunnels")
        if options.split == "select" and scheme.tunnels.tags_victims:
            raise BadInputError(
                f"a SELECT group cannot tag victims, so {scheme.name} needs split 'ranges'; use a scheme that tags none"
            )
        if scheme.tunnels.precomputes and options.by_agents:
            raise BadInputError(
                f"agents are notified of tunnels, not of links, so {scheme.name} cannot choose the weights of a link; "
                "let the controller notify (notified_by controller)"
            )
        self.scheme, self.owner, self.failover = scheme, scheme.number, scheme.tunnels
        self.topology, self.options = topology, options
        self.hosts = hosts_of(topology)
        self.prefixes = prefixes_of(topology, self.hosts, options)
        both_ways = with_ways_back(commodities)
        held = held or Held()
        field = field_of(options.tunnel_field, self.prefixes)
        self.labels = assign_labels(both_ways, held.labels, field)
        self.wiring = Wiring(self.owner, assign_ports(topology), self.labels, field)
        self.ingress_entries = self._ingress_entries(both_ways, held)
        self._base = self._base_rows()

    def plans(self, failures: Failures = ()) -> dict[int, RulePlan]:
        """Plans by datapath id after these failures; rows about those are of the notifier that the options name."""
        added = self.failure_rows(failures, Kind.AGENT if self.options.by_agents else Kind.PLANNED)
        plans = {}
        for node in self.topology.node_names:
            dpid = dpid_of(self.topology, node)
            host = self.hosts[node]
            plans[dpid] = RulePlan(
                dpid,
                node,
                flows=sorted_flows((*self._base[node], *added.get(dpid, ()))),
                groups=self.groups(node, failures),
                queues=queue_rows(self.options.setup, self._capacities(node)),
                local_ipv4=(host.ipv4,) if any(host.ipv4 in prefix for prefix in self.prefixes[node]) else (),
            )
        return plans

    def failure_rows(self, failures: Failures, kind: Kind = Kind.PLANNED) -> dict[int, tuple[FlowRow, ...]]:
        """Rows that ingress switches hold beside the base rows after these failures, by datapath id.

        With one failure in `failures` this is what can be encoded beforehand for every link: for Kuijia it only adds
        rows, and taking them away is the repair.
        """
        if self.options.split == "select":
            return {}
        found: dict[int, list[FlowRow]] = defaultdict(list)
        for node, ingress_entries in self.ingress_entries.items():
            for ingress_entry in ingress_entries:
                events = self._events(ingress_entry, failures)
                weights = self.victim_weights(ingress_entry, failures)
                found[dpid_of(self.topology, node)] += self.ingress_entry_rows(ingress_entry, events, kind, weights)
        return {dpid: tuple(rows) for dpid, rows in found.items() if rows}

    def ingress_entry_rows(
        self,
        ingress_entry: IngressEntry,
        events: Events,
        kind: Kind = Kind.PLANNED,
        weights: Sequence[float] | None = None,
    ) -> tuple[FlowRow, ...]:
        """Rows of one commodity, beside the base rows, once these of its tunnels have failed, in this order.

        What an ingress switch needs that watches its own tunnels and is not notified of links (hash ranges only).

        Parameters
        ----------
        weights
            By which victims are split (`victim_weights`); None: the commodity's.
        """
        layers = self.failover.layers(ingress_entry.base, weights or ingress_entry.commodity.weights, events)
        return tuple(failure_rows(ingress_entry, self.wiring, layers, kind))

    def groups(self, node: str, failures: Failures = ()) -> tuple[GroupRow, ...]:
        """SELECT groups of a switch after these failures (split "select" only)."""
        if self.options.split != "select":
            return ()
        gone = {link for event in failures for link in event} if self.failover.recovers else set()
        groups = (
            select_group(ingress_entry, self.wiring, ingress_entry.commodity.down(self.topology, gone))
            for ingress_entry in self.ingress_entries[node]
        )
        return tuple(sorted(groups, key=lambda group: group.group_id))

    def holding(self, ingress_entry: IngressEntry, failures: Failures = ()) -> Layer:
        """Who holds which slots of a commodity after these failures."""
        return holding(ingress_entry.base, self._layers(ingress_entry, failures))

    def held(self, failures: Failures = ()) -> Held:
        """What is in force after these failures, for the planner that comes after this one."""
        holders = {
            (ingress_entry.commodity.pair, ingress_entry.commodity.priority): tuple(
                (piece.slots, None if piece.tunnel is None else ingress_entry.commodity.paths[piece.tunnel])
                for piece in self.holding(ingress_entry, failures)
            )
            for ingress_entries in self.ingress_entries.values()
            for ingress_entry in ingress_entries
        }
        return Held(self.labels, holders)

    def _layers(self, ingress_entry: IngressEntry, failures: Failures) -> tuple[Layer, ...]:
        weights = self.victim_weights(ingress_entry, failures)
        return self.failover.layers(ingress_entry.base, weights, self._events(ingress_entry, failures))

    def victim_weights(self, ingress_entry: IngressEntry, failures: Failures) -> tuple[float, ...]:
        """How victims of a commodity are split after these failures."""
        return ingress_entry.commodity.victim_weights(self.topology, failures)

    def _events(self, ingress_entry: IngressEntry, failures: Failures) -> list[frozenset[int]]:
        return [ingress_entry.commodity.down(self.topology, event) for event in failures]

    def _ingress_entries(self, commodities: Sequence[TunnelCommodity], held: Held) -> dict[str, list[IngressEntry]]:
        setup = self.options.setup
        classes: dict[tuple[str, str], list[int]] = defaultdict(list)
        for each in commodities:
            position = setup.classes.index(setup.class_of(each.priority))
            if position in classes[each.pair]:
                raise BadInputError(
                    f"the traffic from {each.src!r} to {each.dst!r} has two demands in class "
                    f"{setup.classes[position].name!r} of set-up {setup.name!r}; use another set-up, or join them"
                )
            classes[each.pair].append(position)
        found: dict[str, list[IngressEntry]] = {node: [] for node in self.topology.node_names}
        for each in commodities:
            traffic = setup.class_of(each.priority)
            found[each.src].append(
                IngressEntry(
                    each,
                    traffic,
                    commodity_number(dpid_of(self.topology, each.dst), traffic.normal.tc),
                    self.hosts[each.dst].ipv4,
                    self.prefixes[each.dst],
                    takes_rest=setup.classes.index(traffic) == max(classes[each.pair]),
                    rebased=held.base(each),
                )
            )
        return found

    def _base_rows(self) -> dict[str, list[FlowRow]]:
        rows = {node: list(guard_rows(self.wiring, node)) for node in self.topology.node_names}
        markings: dict[Path, set[ClassMarking]] = defaultdict(set)
        for node, ingress_entries in self.ingress_entries.items():
            for ingress_entry in ingress_entries:
                rows[node] += ingress_rows(ingress_entry, self.wiring, self.options.split)
                if self.options.split == "ranges":
                    rows[node] += base_rows(ingress_entry, self.wiring)
                own = {ingress_entry.traffic.normal} | (
                    {ingress_entry.traffic.victim} if self.failover.tags_victims else set()
                )
                for path in ingress_entry.commodity.paths:
                    markings[label_key(path)] |= own
        for path, needed in markings.items():
            for node, row in tunnel_rows(self.wiring, path, sorted(needed, key=lambda marking: marking.tc)):
                rows[node].append(row)
            if self.options.by_agents:
                for node, row in ldi_rows(self.wiring, path, self.options.setup.ldi):
                    rows[node].append(row)
        return rows

    def _capacities(self, node: str) -> dict[int, float | None]:
        """Capacity by port; the host's is not limited here."""
        links = self.topology.links_from[node]
        known = {self.wiring.ports.port_of[link.direction]: link.capacity_mbps for link in links}
        return {HOST_PORT: None, **known}
