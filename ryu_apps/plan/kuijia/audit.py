"""Hold tunnel plans to what their scheme promises, by walking a packet of every kind through the interpreter.

Promises, for every commodity and any history of failures that the ingress switches have heard of:

- a flow whose tunnel lives stays on it, in its normal queue (rescaling: on some live tunnel, in its normal queue);
- a flow whose tunnel is down goes by a live one, in the victim queue at every switch and with the victim TC on every
  link (rescaling: in the normal queue; te: it is lost);
- without a live tunnel it is dropped where it enters, and uses up no link.

What is expected comes from the commodity's tunnels and the failed links alone, not from the planner's layers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from mininet_topos.topology import LinkId
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.choices import REPLICATED
from ryu_apps.plan.hash_ranges import N_SLOTS
from ryu_apps.plan.ids import Table
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.crossing import Crossing, cross
from ryu_apps.plan.kuijia.ingress import IngressEntry
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.kuijia.plan import Failures, TunnelPlanner
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.walk import Learning, Network

_LAST_SLOT = N_SLOTS - 1


@dataclass(frozen=True)
class Audit:
    """What came of walking.

    Attributes
    ----------
    cases
        Commodities times histories of failures.
    slots
        Slots of all cases; every one is covered by a walk that no rule can tell from it.
    delivered, dropped
        Slots whose packets arrive, or are lost.
    victims
        Slots whose packets wait in a victim queue all the way.
    moved
        Slots that left a live tunnel.
    faults
        Broken promises.
    """

    cases: int = 0
    slots: int = 0
    delivered: int = 0
    dropped: int = 0
    victims: int = 0
    moved: int = 0
    faults: tuple[str, ...] = ()

    def plus(self, other: Audit) -> Audit:
        """Both together."""
        names = ("cases", "slots", "delivered", "dropped", "victims", "moved", "faults")
        return Audit(*(getattr(self, name) + getattr(other, name) for name in names))

    def to_json(self) -> dict[str, object]:
        """Fields by name."""
        return asdict(self)


def audit(planner: TunnelPlanner, histories: Iterable[Failures], shape: str = REPLICATED) -> Audit:
    """Audit plans after every history of failures.

    Parameters
    ----------
    planner
        With hash ranges: a SELECT group's slots mean something else.
    histories
        Each from the first failure to the last; an empty one is the network without failures.
    shape
        Of the tables that packets meet.
    """
    found = Audit()
    for failures in histories:
        failed = frozenset(link for event in failures for link in event)
        plans = planner.plans(failures)
        network = Network(planner.topology, installed_plans(plans, shape), Learning(), failed)
        for node, ingress_entries in planner.ingress_entries.items():
            dpid = dpid_of(planner.topology, node)
            for ingress_entry in ingress_entries:
                walker = _Walker(planner, network, ingress_entry, failed)
                found = found.plus(walker.case(distinct_slots(plans[dpid], ingress_entry)))
    return found


def distinct_slots(plan: RulePlan, ingress_entry: IngressEntry) -> list[tuple[int, int]]:
    """(slot, how many slots from it on no rule of the commodity tells apart)."""
    borders = {0}
    for row in plan.flows:
        if row.table_id == Table.TE_HASH and ("reg1", ingress_entry.number, None) in row.match:
            value, mask = next(((value, mask) for name, value, mask in row.match if name == "reg0"), (0, 0))
            borders |= {value, value + 1 + (0 if mask is None else _LAST_SLOT & ~mask)}
    ordered = sorted(border for border in borders if border < N_SLOTS)
    return [(first, stop - first) for first, stop in zip(ordered, [*ordered[1:], N_SLOTS], strict=True)]


class _Walker:
    """One commodity after one history."""

    def __init__(
        self, planner: TunnelPlanner, network: Network, ingress_entry: IngressEntry, failed: frozenset[LinkId]
    ) -> None:
        self.planner, self.network, self.ingress_entry, self.failed = planner, network, ingress_entry, failed
        commodity = ingress_entry.commodity
        self.down = commodity.down(planner.topology, failed)
        self.base = planner.holding(ingress_entry)
        self.is_cut_off = len(self.down) == len(commodity.paths)
        source = planner.prefixes[commodity.src][0].ipv4
        target = ingress_entry.prefixes[0].ipv4
        self.packet = Packet(source, target, l4_src=1, l4_dst=2, ip_dscp=ingress_entry.traffic.dscp or 0)

    def case(self, slots: list[tuple[int, int]]) -> Audit:
        found = Audit(cases=1)
        for slot, size in slots:
            seen = cross(self.network, self.ingress_entry.commodity.src, self.packet, slot, self.planner.wiring.field)
            own = next(piece.tunnel for piece in self.base if slot in piece.slots)
            found = found.plus(self._judged(slot, size, own, seen))
        return found

    def _judged(self, slot: int, size: int, own: int | None, seen: Crossing) -> Audit:
        commodity, traffic = self.ingress_entry.commodity, self.ingress_entry.traffic
        is_moved = own not in self.down and (own is None or seen.links != commodity.paths[own])
        fault = self._fault(own, seen)
        where = f"{commodity.src} to {commodity.dst}, slot {slot}, failed {sorted(map(str, self.failed))}"
        return Audit(
            slots=size,
            delivered=size * (seen.delivered_to == commodity.dst),
            dropped=size * (seen.delivered_to is None),
            victims=size * (set(seen.queues) == {traffic.victim.queue_id}),
            moved=size * is_moved,
            faults=() if fault is None else (f"{where}: {fault}",),
        )

    def _fault(self, own: int | None, seen: Crossing) -> str | None:
        commodity, traffic, failover = self.ingress_entry.commodity, self.ingress_entry.traffic, self.planner.failover
        is_victim = own in self.down
        if is_victim and (not failover.recovers or self.is_cut_off):
            lost = seen.delivered_to is None and not (self.is_cut_off and failover.recovers and seen.links)
            return None if lost else f"it should be lost, and went {_way(seen)}"
        marking = traffic.victim if is_victim and failover.tags_victims else traffic.normal
        live = [path for number, path in enumerate(commodity.paths) if number not in self.down]
        stays = not is_victim and failover.keeps_others
        if seen.delivered_to != commodity.dst or seen.links not in live:
            return f"it should go by a live tunnel, and went {_way(seen)}"
        if stays and own is not None and seen.links != commodity.paths[own]:
            return f"its tunnel lives, and it went {_way(seen)}"
        if set(seen.queues) != {marking.queue_id} or set(seen.tcs) != {marking.tc}:
            return f"queues {seen.queues} and TCs {seen.tcs}, where {marking} belongs"
        return None


def _way(seen: Crossing) -> str:
    return " ".join(map(str, seen.links)) or "nowhere"
