"""Rule plans of the tunnel schemes: `kuijia`, `rescaling` (two kinds), and `te`, which does nothing about failures.

`TunnelPlanner` is prepared once from commodities; after that a failure costs the rows of the pairs that it hits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.ids import Kind, SchemeId
from ryu_apps.plan.kuijia.commodities import Commodity, Path, assign_labels, label_key, with_ways_back
from ryu_apps.plan.kuijia.hash_ranges import HashRange
from ryu_apps.plan.kuijia.ingress import (
    Entrance,
    Wiring,
    base_rows,
    commodity_number,
    failure_rows,
    ingress_rows,
    select_group,
)
from ryu_apps.plan.kuijia.layers import (
    Events,
    Layer,
    Layers,
    holding,
    kuijia_layers,
    no_layers,
    rebased_layer,
    rescaling_layers,
    untagged_layers,
)
from ryu_apps.plan.kuijia.options import TunnelOptions, prefixes_of
from ryu_apps.plan.kuijia.priorities import Mark, queue_rows
from ryu_apps.plan.kuijia.transit import alarm_rows, guard_rows, label_rows
from ryu_apps.plan.rows import FlowRow, GroupRow, RulePlan, sorted_flows

Failures = Sequence[frozenset[LinkId]]
"""Links that failed, one set for each moment, in order; a link that came back is in none."""


@dataclass(frozen=True)
class Held:
    """What a planner's plans have put in force.

    Attributes
    ----------
    labels : mapping of Path to int
    holders : mapping
        (pair, priority) to (slots, path), all slots; None: no tunnel.
    """

    labels: Mapping[Path, int] = field(default_factory=dict)
    holders: Mapping[tuple[tuple[str, str], int], tuple[tuple[HashRange, Path | None], ...]] = field(
        default_factory=dict
    )

    def base(self, commodity: Commodity) -> Layer | None:
        """Base layer of a commodity that moves no flow that need not move; None where nothing is in force."""
        holders = self.holders.get((commodity.pair, commodity.priority))
        if holders is None:
            return None
        number_of = {path: number for number, path in enumerate(commodity.paths)}
        return rebased_layer(((slots, number_of.get(path or ())) for slots, path in holders), commodity.weights)


@dataclass(frozen=True, slots=True)
class TunnelScheme:
    """What a scheme does about dead tunnels.

    Attributes
    ----------
    name, summary : str
    scheme : SchemeId
    layers : callable
        Layers that failures lay over a commodity's slots (layers.py).
    recovers : bool
        Whether flows of dead tunnels go on by others.
    tags_victims : bool
        Whether those are tagged, so that every switch needs rows for victims.
    keeps_others : bool
        Whether flows of living tunnels stay where they are.
    """

    name: str
    summary: str
    scheme: SchemeId
    layers: Layers
    recovers: bool
    tags_victims: bool
    keeps_others: bool


TUNNEL_SCHEMES = {
    scheme.name: scheme
    for scheme in (
        TunnelScheme(
            "kuijia",
            "tunnels; victims of a failure in a lower queue",
            SchemeId.KUIJIA,
            kuijia_layers,
            recovers=True,
            tags_victims=True,
            keeps_others=True,
        ),
        TunnelScheme(
            "rescaling",
            "tunnels; the others' shares grow",
            SchemeId.RESCALING,
            rescaling_layers,
            recovers=True,
            tags_victims=False,
            keeps_others=False,
        ),
        TunnelScheme(
            "rescaling_victims",
            "tunnels; victims share the others' queue, and no other flow moves",
            SchemeId.RESCALING_VICTIMS,
            untagged_layers,
            recovers=True,
            tags_victims=False,
            keeps_others=True,
        ),
        TunnelScheme(
            "te",
            "tunnels, no failover",
            SchemeId.TE,
            no_layers,
            recovers=False,
            tags_victims=False,
            keeps_others=True,
        ),
    )
}


def find_tunnel_scheme(name: str) -> TunnelScheme:
    """Tunnel scheme by name.

    Raises
    ------
    BadInputError
        Unknown name; the message lists the schemes.
    """
    if name not in TUNNEL_SCHEMES:
        near = get_close_matches(name, TUNNEL_SCHEMES, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise BadInputError(f"unknown tunnel scheme {name!r}; {hint}schemes: {', '.join(TUNNEL_SCHEMES)}")
    return TUNNEL_SCHEMES[name]


def plan_tunnels(
    scheme: str,
    topology: Topology,
    commodities: Iterable[Commodity],
    options: TunnelOptions | None = None,
    failures: Failures = (),
) -> dict[int, RulePlan]:
    """Plans of all switches by datapath id, as they are after the failures that the ingress switches know of.

    Raises
    ------
    BadInputError
        Unknown scheme, commodities that do not go together, or options that the scheme cannot use.
    PlanLimitError
        More tunnels than labels.
    """
    return TunnelPlanner(find_tunnel_scheme(scheme), topology, commodities, options or TunnelOptions()).plans(failures)


class TunnelPlanner:
    """One scheme on one topology with given tunnels and weights.

    Parameters
    ----------
    scheme : TunnelScheme
    topology : Topology
    commodities : iterable of Commodity
        Pairs that have no way back get one over the same tunnels.
    options : TunnelOptions
    held : Held, optional
        What is in force, when these plans are to replace it (replacement.py): paths that stay keep their labels, and
        no flow moves that need not.

    Attributes
    ----------
    entrances : dict of str to list of Entrance
        Commodities by ingress switch.
    labels : dict of Path to int
    """

    def __init__(
        self,
        scheme: TunnelScheme,
        topology: Topology,
        commodities: Iterable[Commodity],
        options: TunnelOptions,
        held: Held | None = None,
    ) -> None:
        if options.split == "select" and scheme.tags_victims:
            raise BadInputError(
                "a SELECT group cannot tag victims, so kuijia needs split 'ranges'; use rescaling or te"
            )
        self.scheme, self.topology, self.options = scheme, topology, options
        self.hosts = hosts_of(topology)
        self.prefixes = prefixes_of(topology, self.hosts, options)
        both_ways = with_ways_back(commodities)
        held = held or Held()
        self.labels = assign_labels(both_ways, held.labels)
        self.wiring = Wiring(scheme.scheme, assign_ports(topology), self.labels)
        self.entrances = self._entrances(both_ways, held)
        self._base = self._base_rows()

    def plans(self, failures: Failures = ()) -> dict[int, RulePlan]:
        """Plans by datapath id after these failures; rows about those are of whom the options let tell."""
        added = self.failure_rows(failures, Kind.AGENT if self.options.told_by == "agent" else Kind.PLANNED)
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
        for node, entrances in self.entrances.items():
            for entrance in entrances:
                events = self._events(entrance, failures)
                found[dpid_of(self.topology, node)] += self.entrance_rows(entrance, events, kind)
        return {dpid: tuple(rows) for dpid, rows in found.items() if rows}

    def entrance_rows(self, entrance: Entrance, events: Events, kind: Kind = Kind.PLANNED) -> tuple[FlowRow, ...]:
        """Rows of one commodity, beside the base rows, once these of its tunnels have died, in this order.

        What an ingress switch needs that watches its own tunnels and is told nothing about links (hash ranges only).
        """
        layers = self.scheme.layers(entrance.base, entrance.commodity.weights, events)
        return tuple(failure_rows(entrance, self.wiring, layers, kind))

    def groups(self, node: str, failures: Failures = ()) -> tuple[GroupRow, ...]:
        """SELECT groups of a switch after these failures (split "select" only)."""
        if self.options.split != "select":
            return ()
        gone = {link for event in failures for link in event} if self.scheme.recovers else set()
        groups = (
            select_group(entrance, self.wiring, entrance.commodity.dead(self.topology, gone))
            for entrance in self.entrances[node]
        )
        return tuple(sorted(groups, key=lambda group: group.group_id))

    def holding(self, entrance: Entrance, failures: Failures = ()) -> Layer:
        """Who holds which slots of a commodity after these failures."""
        return holding(entrance.base, self._layers(entrance, failures))

    def held(self, failures: Failures = ()) -> Held:
        """What is in force after these failures, for the planner that comes after this one."""
        holders = {
            (entrance.commodity.pair, entrance.commodity.priority): tuple(
                (piece.slots, None if piece.tunnel is None else entrance.commodity.paths[piece.tunnel])
                for piece in self.holding(entrance, failures)
            )
            for entrances in self.entrances.values()
            for entrance in entrances
        }
        return Held(self.labels, holders)

    def _layers(self, entrance: Entrance, failures: Failures) -> tuple[Layer, ...]:
        return self.scheme.layers(entrance.base, entrance.commodity.weights, self._events(entrance, failures))

    def _events(self, entrance: Entrance, failures: Failures) -> list[frozenset[int]]:
        return [entrance.commodity.dead(self.topology, event) for event in failures]

    def _entrances(self, commodities: Sequence[Commodity], held: Held) -> dict[str, list[Entrance]]:
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
        found: dict[str, list[Entrance]] = {node: [] for node in self.topology.node_names}
        for each in commodities:
            traffic = setup.class_of(each.priority)
            found[each.src].append(
                Entrance(
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
        rows = {node: list(guard_rows(self.scheme.scheme)) for node in self.topology.node_names}
        marks: dict[Path, set[Mark]] = defaultdict(set)
        for node, entrances in self.entrances.items():
            for entrance in entrances:
                rows[node] += ingress_rows(entrance, self.wiring, self.options.split)
                if self.options.split == "ranges":
                    rows[node] += base_rows(entrance, self.wiring)
                own = {entrance.traffic.normal} | ({entrance.traffic.victim} if self.scheme.tags_victims else set())
                for path in entrance.commodity.paths:
                    marks[label_key(path)] |= own
        for path, needed in marks.items():
            named = (self.scheme.scheme, path, self.labels[path])
            for node, row in label_rows(*named, sorted(needed, key=lambda mark: mark.tc), self.wiring.ports):
                rows[node].append(row)
            if self.options.told_by == "agent":
                for node, row in alarm_rows(*named, self.options.setup.alarm, self.wiring.ports):
                    rows[node].append(row)
        return rows

    def _capacities(self, node: str) -> dict[int, float | None]:
        """Capacity by port; the host's is not limited here."""
        links = self.topology.links_from[node]
        known = {self.wiring.ports.port_of[link.direction]: link.capacity_mbps for link in links}
        return {HOST_PORT: None, **known}
