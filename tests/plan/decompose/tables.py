"""Random logical tables, with dependencies planted or not, and what a packet meets in a table or a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from hypothesis import strategies as st

from ryu_apps.plan.fields import ETH_IPV4, ETH_MPLS
from ryu_apps.plan.ids import Kind, cookie
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.rows import Action, FlowRow, Load, Output, PopMpls, PushMpls, RulePlan, SetField, SetQueue, match
from tests import schemes

TABLE = 0
LIVE = frozenset(range(1, 16))
PORTS, LABELS, CLASSES = range(1, 4), range(16, 19), range(3)


def transit(in_port: int, label: int, tc: int, *actions: Action) -> FlowRow:
    """A row of a label table."""
    fields = match(in_port=in_port, eth_type=ETH_MPLS, mpls_label=label, mpls_tc=tc)
    return FlowRow(TABLE, 100, fields, tuple(actions), cookie=cookie(schemes.KUIJIA, Kind.PLANNED, 0, label))


def figure6(n_priorities: int = 3) -> list[FlowRow]:
    """Kuijia's Figure 6(a): one label, ports 1 and 2 lead to each other, a queue for every traffic class."""
    return [
        transit(in_port, 1, tc, SetQueue(tc), Output(3 - in_port)) for in_port in (1, 2) for tc in range(n_priorities)
    ]


def meanings(flows: Iterable[FlowRow], packets: Iterable[tuple[int, Packet]]) -> list[object]:
    """What leaves the switch for every (in_port, packet)."""
    model = SwitchModel(RulePlan(1, "s1", tuple(flows)))
    results = (interpret_switch(model, packet, in_port, LIVE) for in_port, packet in packets)
    return [(result.outputs, result.punts, result.learned) for result in results]


def labelled(
    ports: Iterable[int] = (*PORTS, 9), labels: Iterable[int] = (*LABELS, 99), classes: Iterable[int] = (*CLASSES, 7)
) -> Iterator[tuple[int, Packet]]:
    """Packets with a label of every (port, label, class): all that rows know, and one more of each."""
    return ((port, Packet(mpls=((label, tc),))) for port, label, tc in product(ports, labels, classes))


UNLABELLED = [(port, Packet(ipv4_dst=address)) for port in (*PORTS, 9) for address in (0, 10)]


def taken(flows: Sequence[FlowRow], packets: Iterable[tuple[int, Packet]]) -> list[tuple[int, Packet]]:
    """The packets that some row takes: the match space of the table."""
    model = SwitchModel(RulePlan(1, "s1", tuple(flows)))
    return [(port, packet) for port, packet in packets if interpret_switch(model, packet, port, LIVE).rules]


@dataclass(frozen=True)
class Planted:
    """How a random table came about."""

    flows: tuple[FlowRow, ...]
    full: bool


@st.composite
def label_tables(draw: st.DrawFn) -> Planted:
    """A label table: queue by class, port by (in_port, label), delivery by label; each may be broken by noise."""
    pairs = list(product(PORTS, LABELS))
    ports = {pair: draw(st.integers(1, 5)) for pair in pairs}
    queues = {tc: draw(st.integers(0, 3)) for tc in CLASSES}
    popped = draw(st.sets(st.sampled_from(LABELS)))
    full = draw(st.booleans())
    cells = [(*pair, tc) for pair in pairs for tc in CLASSES]
    chosen = cells if full else draw(st.lists(st.sampled_from(cells), min_size=1, unique=True))
    noise = draw(st.dictionaries(st.sampled_from(cells), st.integers(0, 3), max_size=draw(st.sampled_from((0, 0, 4)))))
    flows = []
    for in_port, label, tc in chosen:
        queue = noise.get((in_port, label, tc), queues[tc])
        pop = (PopMpls(ETH_IPV4),) if label in popped else ()
        flows.append(transit(in_port, label, tc, *pop, SetQueue(queue), Output(ports[in_port, label])))
    return Planted(tuple(flows), full)


REGISTER_VALUES = range(8)  # low two bits: a class
MASKED = ((0, 12), (4, 12), (8, 8), (0, 0), (2, 14))


@st.composite
def hash_tables(draw: st.DrawFn) -> tuple[FlowRow, ...]:
    """A hash table: masked slots in layers of priorities, a register of destination and class, labels pushed."""
    targets = [draw(st.sampled_from(REGISTER_VALUES)) for _ in range(draw(st.integers(1, 4)))]
    by_class = draw(st.booleans())
    rows: dict[tuple[int, object], FlowRow] = {}
    for target in dict.fromkeys(targets):
        for layer in range(draw(st.integers(1, 3))):
            for value, mask in draw(
                st.lists(st.sampled_from(MASKED[: 3 if layer == 0 else 5]), max_size=3, unique=True)
            ):
                slots = {"reg0": (value, mask)} if mask else {}
                tc = target & 3 if by_class else draw(st.integers(0, 3))
                push = (PushMpls(), SetField("mpls_label", 16 + value), SetField("mpls_tc", tc))
                actions = (*push, SetQueue(tc), Output(1 + value // 4)) if draw(st.integers(0, 5)) else ()
                # Layers that overlap have priorities of their own; masks of one layer are disjoint or as drawn.
                priority = 100 + 10 * layer + MASKED.index((value, mask))
                row = FlowRow(5, priority, match(reg1=target, **slots), actions)
                rows[priority, row.match] = row
    return tuple(rows.values())


def registers(slots: Iterable[int] = range(16), numbers: Iterable[int] = range(10)) -> list[tuple[int, FlowRow]]:
    """First rows that give every value to the registers, one in_port each, with the in_port."""
    return [
        (
            1000 + 16 * number + slot,
            FlowRow(
                TABLE,
                1,
                match(in_port=1000 + 16 * number + slot),
                (Load("reg0", 0, 32, slot), Load("reg1", 0, 32, number)),
                goto_table=5,
            ),
        )
        for slot, number in product(slots, numbers)
    ]
