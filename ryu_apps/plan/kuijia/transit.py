"""Rows of tunnels on the way: transit switches hand on, the last switch delivers (Kuijia section 4.2, Figures 2 and 5).

A transit row has the paper's three match fields (in_port, path, priority tag) and two actions (queue, port), and
stands once for every traffic class that may come: normal and, with Kuijia, victim. The tunnel field says how packets
carry path and tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from mininet_topos.ports import HOST_PORT
from mininet_topos.topology import Direction
from ryu_apps.plan.ids import AGENT_CONTROLLER_ID, Kind, Table, cookie
from ryu_apps.plan.kuijia.commodities import Path, label_key, reverse_path
from ryu_apps.plan.kuijia.ingress import Wiring
from ryu_apps.plan.kuijia.priorities import ClassMarking
from ryu_apps.plan.rows import Action, Controller, FlowRow, Output, SetQueue, match


def guard_rows(wiring: Wiring, node: str) -> tuple[FlowRow, ...]:
    """What a switch does first: packets in tunnels to the transit table, untagged IPv4 of hosts to the ingress table.

    All that no row takes is dropped.
    """
    planned = cookie(wiring.owner, Kind.PLANNED)
    return tuple(
        FlowRow(Table.CLASSIFY, guard.priority, guard.match, goto_table=guard.goto_table, cookie=planned)
        for guard in wiring.field.guards(node)
    )


def tunnel_rows(wiring: Wiring, path: Path, markings: Iterable[ClassMarking]) -> Iterator[tuple[str, FlowRow]]:
    """Rows of one tunnel in both directions, each with the switch that holds it.

    Parameters
    ----------
    path
        Either direction.
    markings
        What packets of this tunnel may be; no two with one TC.

    Yields
    ------
    (str, FlowRow)
        The first switch of a direction needs no row: it sends by its hash ranges.
    """
    for way in (path, reverse_path(path)):
        for marking in markings:
            yield from _between(wiring, way, marking)
            # Cleared and sent in one list: a look-up after a pop would send every packet through the switch twice.
            deliver = (*wiring.field.leave(), SetQueue(marking.queue_id), Output(HOST_PORT))
            yield from _rows(wiring, way, way[-1], marking, deliver)


def ldi_rows(wiring: Wiring, path: Path, ldi: ClassMarking) -> Iterator[tuple[str, FlowRow]]:
    """Rows that carry LDIs about one tunnel to the agents at its ends, each with the switch that holds it.

    Parameters
    ----------
    wiring, path
        As `tunnel_rows`; LDIs have labels.
    ldi
        What LDIs are.
    """
    for way in (path, reverse_path(path)):
        yield from _between(wiring, way, ldi)
        yield from _rows(wiring, way, way[-1], ldi, (Controller(AGENT_CONTROLLER_ID),))


def _between(wiring: Wiring, way: Path, marking: ClassMarking) -> Iterator[tuple[str, FlowRow]]:
    """Rows of the switches between both ends."""
    for arriving, leaving in pairwise(way):
        out: tuple[Action, ...] = (SetQueue(marking.queue_id), Output(wiring.ports.port_of[leaving]))
        yield from _rows(wiring, way, arriving, marking, out)


def _rows(
    wiring: Wiring, way: Path, arriving: Direction, marking: ClassMarking, actions: tuple[Action, ...]
) -> Iterator[tuple[str, FlowRow]]:
    """Rows of the switch where a link of the way arrives."""
    in_port = wiring.ports.port_of[Direction(arriving.dst, arriving.src, arriving.key)]
    for found in wiring.field.transit(way, wiring.labels[label_key(way)], marking):
        owner = cookie(wiring.owner, Kind.PLANNED, 0, found.identity)
        fields = match(in_port=in_port, **found.terms)
        yield arriving.dst, FlowRow(Table.TE_TRANSIT, found.priority, fields, actions, cookie=owner)
