"""What a controller of tunnels sends to ingress switches at a failure, prepared beforehand; what a new plan moves.

A failure costs a look-up: the rows of every commodity are worked out and encoded, for each set of its tunnels that one
link can fail, when the plan is made; and while links have failed, for one more (`Failovers.expect`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mininet_topos.topology import LinkId, Topology
from ryu_apps.control.decide.messages import message_of
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.diff import Command, Operation
from ryu_apps.plan.hash_ranges import N_SLOTS, HashRange
from ryu_apps.plan.kuijia.commodities import Path, label_key, nodes_of
from ryu_apps.plan.kuijia.history import FailedTunnels, History
from ryu_apps.plan.kuijia.ingress import IngressEntry
from ryu_apps.plan.kuijia.plan import Held, TunnelPlanner
from ryu_apps.plan.rows import FlowRow

Json = object


class Place(NamedTuple):
    """A commodity at its ingress switch."""

    dpid: int
    number: int


class _Case(NamedTuple):
    """What decides the rows of a commodity: its failed tunnels, and the weights by which victims are split."""

    place: Place
    failed_tunnels: FailedTunnels
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FailoverRows:
    """Rows of a commodity with failed tunnels, beside its base rows, and the messages that add them."""

    rows: tuple[FlowRow, ...] = ()
    messages: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """What takes a switch from the rows `before` to the rows `after` (its base rows apart)."""

    before: tuple[FlowRow, ...]
    after: tuple[FlowRow, ...]
    messages: tuple[bytes, ...]


@dataclass(frozen=True)
class FailoverState:
    """What failures have added to the base rows of all switches.

    Attributes
    ----------
    history : tuple of frozenset of LinkId
    places
        Commodities with rows only.
    rows
        By datapath id. Switches that a change leaves alone keep the same object.
    """

    history: History = ()
    places: Mapping[Place, FailoverRows] = field(default_factory=dict)
    rows: Mapping[int, tuple[FlowRow, ...]] = field(default_factory=dict)


class Failovers:
    """The rows of every commodity of a plan for failures.

    Parameters
    ----------
    planner
        Split by hash ranges.
    """

    def __init__(self, planner: TunnelPlanner) -> None:
        self.planner = planner
        self._ingress_entry: dict[Place, IngressEntry] = {}
        self._failed_by: dict[LinkId, dict[Place, frozenset[int]]] = defaultdict(dict)
        self._prepared: dict[_Case, FailoverRows] = {}
        self._expected: dict[_Case, FailoverRows] = {}
        for node, ingress_entries in planner.ingress_entries.items():
            for ingress_entry in ingress_entries:
                self._prepare(Place(dpid_of(planner.topology, node), ingress_entry.number), ingress_entry)

    def _prepare(self, place: Place, ingress_entry: IngressEntry) -> None:
        self._ingress_entry[place] = ingress_entry
        topology = self.planner.topology
        for link in {topology.link_id(hop) for path in ingress_entry.commodity.paths for hop in path}:
            down = ingress_entry.commodity.down(topology, [link])
            self._failed_by[link][place] = down
            case = self._case(place, (frozenset({link}),))
            if case not in self._prepared:
                self._prepared[case] = self._failover_rows(case)

    def _case(self, place: Place, history: History) -> _Case:
        weights = self.planner.victim_weights(self._ingress_entry[place], history)
        return _Case(place, self.failed_tunnels(place, history), weights)

    def _failover_rows(self, case: _Case) -> FailoverRows:
        ingress_entry = self._ingress_entry[case.place]
        rows = self.planner.ingress_entry_rows(ingress_entry, case.failed_tunnels, weights=case.weights)
        return FailoverRows(rows, tuple(message_of(Command(Operation.ADD, row)) for row in rows))

    def failed_tunnels(self, place: Place, history: History) -> FailedTunnels:
        """Which tunnels of a commodity failed when; moments that hit none of them are left out."""
        none = frozenset[int]()
        found = (none.union(*(self._failed_by[link].get(place, none) for link in event)) for event in history)
        return tuple(event for event in found if event)

    def hit(self, links: Iterable[LinkId]) -> frozenset[Place]:
        """Commodities with a tunnel over one of the links."""
        return frozenset(place for link in links if link in self._failed_by for place in self._failed_by[link])

    def after(self, failover: FailoverState, history: History) -> tuple[FailoverState, dict[int, Change]]:
        """The failover state once this is the history, and how the switches get there, by datapath id."""
        old, new = (frozenset[LinkId]().union(*events) for events in (failover.history, history))
        places, rows = dict(failover.places), dict(failover.rows)
        messages: dict[int, list[bytes]] = defaultdict(list)
        for place in sorted(self.hit(old ^ new)):
            before, now = places.pop(place, FailoverRows()), self._found(place, history)
            messages[place.dpid] += _messages(before, now)
            if now.rows:
                places[place] = now
        of_switch: dict[int, list[FlowRow]] = {dpid: [] for dpid in messages}
        for place, failover_rows in places.items():
            if place.dpid in of_switch:
                of_switch[place.dpid] += failover_rows.rows
        rows.update({dpid: tuple(each) for dpid, each in of_switch.items()})
        changes = {
            dpid: Change(failover.rows.get(dpid, ()), rows[dpid], tuple(each))
            for dpid, each in messages.items()
            if each
        }
        return FailoverState(history, places, rows), changes

    def _found(self, place: Place, history: History) -> FailoverRows:
        case = self._case(place, history)
        if not case.failed_tunnels:
            return FailoverRows()
        return self._prepared.get(case) or self._expected.get(case) or self._failover_rows(case)

    def expect(self, history: History) -> Iterator[None]:
        """Prepare for one more failed link after this history, a commodity at a time, in place of other histories."""
        self._expected = found = {}
        failed = frozenset[LinkId]().union(*history)
        for place in sorted(self.hit(failed)):
            links = {self.planner.topology.link_id(hop) for path in self._paths(place) for hop in path}
            for case in {self._case(place, (*history, frozenset({link}))) for link in links - failed}:
                found[case] = self._failover_rows(case)
                yield

    def _paths(self, place: Place) -> tuple[Path, ...]:
        return self._ingress_entry[place].commodity.paths


def _messages(before: FailoverRows, now: FailoverRows) -> tuple[bytes, ...]:
    """New and other rows first, then those that go: the slots are never without a row."""
    held = {row.key: row for row in before.rows}
    sent = []
    for row, message in zip(now.rows, now.messages, strict=True):
        there = held.pop(row.key, None)
        if there is None:
            sent.append(message)
        elif there != row:
            sent.append(message_of(Command(Operation.MODIFY, row)))
    return (*sent, *(message_of(Command(Operation.DELETE, row)) for row in held.values()))


def moved_slots(old: Held, new: Held) -> int:
    """Hash slots that another path holds now, over the commodities that both know."""
    return sum(
        len(range(max(one.first, other.first), min(one.stop, other.stop)))
        for key, holders in new.holders.items()
        for one, path in holders
        for other, earlier in old.holders.get(key, ())
        if path != earlier
    )


def compared_slots(old: Held, new: Held) -> int:
    """Hash slots of the commodities that both know."""
    return N_SLOTS * len(old.holders.keys() & new.holders.keys())


def cut_off(topology: Topology, node: str, failed: frozenset[LinkId]) -> bool:
    """Whether every link of a node has failed."""
    return all(topology.link_id(link.direction) in failed for link in topology.links_from[node])


def tunnels_to_json(planner: TunnelPlanner, history: History) -> dict[str, Json]:
    """Tunnels, weights and slots of every commodity, and the failures, as the REST interface shows them."""
    commodities = [
        _commodity_to_json(planner, ingress_entry, history)
        for ingress_entries in planner.ingress_entries.values()
        for ingress_entry in ingress_entries
    ]
    return {
        "scheme": planner.scheme.name,
        "priorities": planner.options.priorities,
        "notified_by": planner.options.notified_by,
        "tunnel_field": planner.options.tunnel_field,
        "failures": [sorted(map(str, event)) for event in history],
        "commodities": commodities,
    }


def _commodity_to_json(planner: TunnelPlanner, ingress_entry: IngressEntry, history: History) -> dict[str, Json]:
    commodity = ingress_entry.commodity
    down = commodity.down(planner.topology, frozenset[LinkId]().union(*history))
    tunnels = [
        {
            "label": planner.labels[label_key(path)],
            "nodes": list(nodes_of(path)),
            "links": [str(planner.topology.link_id(hop)) for hop in path],
            "weight": commodity.weights[number],
            "live": number not in down,
        }
        for number, path in enumerate(commodity.paths)
    ]
    slots = [
        {"first": slots.first, "stop": slots.stop, "tunnel": tunnel, "victim": victim}
        for slots, tunnel, victim in _pieces(planner, ingress_entry, history)
    ]
    return {
        "src": commodity.src,
        "dst": commodity.dst,
        "priority": commodity.priority,
        "tunnels": tunnels,
        "slots": slots,
    }


def _pieces(
    planner: TunnelPlanner, ingress_entry: IngressEntry, history: History
) -> Iterable[tuple[HashRange, int | None, bool]]:
    return ((piece.slots, piece.tunnel, piece.victim) for piece in planner.holding(ingress_entry, history))
