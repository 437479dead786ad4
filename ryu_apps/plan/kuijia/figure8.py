"""Kuijia's Figure 8: memory of flow entries against the number of priorities, on the network of its Figure 7.

The network is that of Figure 1, read as three tunnels from s1 to s4: by s2, straight, and by s3. Every priority has a
class of traffic, a TC and a queue of its own, and travels over the same tunnels in both directions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.choices import SHAPES
from ryu_apps.plan.decompose.count import count_fields
from ryu_apps.plan.decompose.shapes import decompose
from ryu_apps.plan.fields import ETH_IPV4
from ryu_apps.plan.hash_ranges import WHOLE, masked_slots, partition
from ryu_apps.plan.ids import SPARE_TABLES, Kind, Priority, Table, cookie
from ryu_apps.plan.kuijia.commodities import TunnelCommodity, with_ways_back
from ryu_apps.plan.kuijia.ingress import COMMODITY, SPREAD, Wiring, commodity_number, into_tunnel
from ryu_apps.plan.kuijia.priorities import ClassMarking
from ryu_apps.plan.kuijia.transit import tunnel_rows
from ryu_apps.plan.kuijia.tunnel_field import assign_labels
from ryu_apps.plan.rows import FlowRow, Load, match

_OWNER = 1  # no count depends on whose rows they are
MAX_PRIORITIES = 8  # values of the TC
CLASS_PARTS = {"reg1": 3}  # the low bits of a commodity's number are its class (kuijia.ingress.commodity_number)
_EDGES = ((1, 2), (2, 4), (1, 4), (1, 3), (3, 4))
_TUNNELS = (("s1", "s2", "s4"), ("s1", "s4"), ("s1", "s3", "s4"))


class Point(NamedTuple):
    """Match fields and actions of all switches, for a number of priorities, in each shape."""

    n_priorities: int
    replicated: int
    two_table: int
    decomposed: int


def example_tables(n_priorities: int) -> dict[tuple[str, int], list[FlowRow]]:
    """Rows of the example by switch and table.

    Parameters
    ----------
    n_priorities
        1 to 8.

    Raises
    ------
    BadInputError
        Another number.
    """
    if not 1 <= n_priorities <= MAX_PRIORITIES:
        raise BadInputError(f"{n_priorities} priorities do not fit the TC of a label; use 1 to {MAX_PRIORITIES}")
    topology = from_edges("kuijia-figure7", numbered_nodes(["s1", "s2", "s3", "s4"]), _EDGES)
    paths = tuple(tuple(Direction(*ends) for ends in pairwise(nodes)) for nodes in _TUNNELS)
    there_and_back = with_ways_back([TunnelCommodity("s1", "s4", paths, (1 / 3,) * 3)])
    wiring = Wiring(_OWNER, assign_ports(topology), assign_labels(there_and_back))
    markings = [ClassMarking(number, number) for number in range(n_priorities)]
    tables: dict[tuple[str, int], list[FlowRow]] = defaultdict(list)
    for path in there_and_back[0].paths:
        for node, row in tunnel_rows(wiring, path, markings):
            tables[node, row.table_id].append(row)
    for commodity in there_and_back:
        for row in _ingress_rows(topology, commodity, markings, wiring):
            tables[commodity.src, row.table_id].append(row)
    return dict(tables)


def _ingress_rows(
    topology: Topology, commodity: TunnelCommodity, markings: Sequence[ClassMarking], wiring: Wiring
) -> Iterator[FlowRow]:
    """Rows that find class and slot, and rows that map them to a tunnel, as an ingress switch of Kuijia holds them."""
    destination, owner = hosts_of(topology)[commodity.dst].ipv4, cookie(_OWNER, Kind.PLANNED)
    for marking in markings:
        number = commodity_number(dpid_of(topology, commodity.dst), marking.tc)
        named = match(in_port=HOST_PORT, eth_type=ETH_IPV4, ip_dscp=marking.tc, ipv4_dst=destination)
        found = (SPREAD, Load(COMMODITY, 0, 32, number))
        yield FlowRow(Table.TE_INGRESS, Priority.PRIMARY, named, found, goto_table=Table.TE_HASH, cookie=owner)
        for slots, tunnel in partition([WHOLE], commodity.weights):
            actions = into_tunnel(commodity.paths[tunnel], marking, wiring)
            for masked in masked_slots(slots):
                yield FlowRow(Table.TE_HASH, Priority.PRIMARY, match(reg0=masked, reg1=number), actions, cookie=owner)


def figure8(tables: Iterable[int] = tuple(Table), *, strict: bool = True, gotos: bool = True) -> tuple[Point, ...]:
    """Figure 8's points, for 1 to 8 priorities.

    Parameters
    ----------
    tables
        Tables that count; default: all. TE_TRANSIT alone is what all but the ingress switches hold.
    strict, gotos
        As `shapes.decompose` and `count.count_fields` take them.
    """
    wanted = frozenset(tables)
    points = []
    for n_priorities in range(1, MAX_PRIORITIES + 1):
        counted = [rows for (_, table_id), rows in example_tables(n_priorities).items() if table_id in wanted]
        sums = [
            sum(count_fields(_in_shape(rows, shape, strict=strict), gotos=gotos) for rows in counted)
            for shape in SHAPES
        ]
        points.append(Point(n_priorities, *sums))
    return tuple(points)


def _in_shape(rows: Sequence[FlowRow], shape: str, *, strict: bool) -> tuple[FlowRow, ...]:
    return decompose(rows, shape, SPARE_TABLES, strict=strict, parts=CLASS_PARTS)


def slope(values: Sequence[int]) -> float:
    """Least-squares slope of values for 1, 2, 3, ... priorities (fields for each priority)."""
    middle, mean = (len(values) + 1) / 2, sum(values) / len(values)
    spread = sum((number - middle) ** 2 for number in range(1, len(values) + 1))
    return sum((number - middle) * (value - mean) for number, value in enumerate(values, 1)) / spread
