"""Rows by label: transit switches hand on, the last switch pops and delivers (Kuijia section 4.2, Figures 2 and 5).

A transit row has the paper's three match fields (in_port, path, priority tag) and two actions (queue, port), and
stands once for every traffic class that may come: normal and, with Kuijia, victim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from mininet_topos.ports import HOST_PORT, PortMap
from mininet_topos.topology import Direction
from ryu_apps.plan.fields import ETH_IPV4, ETH_MPLS
from ryu_apps.plan.ids import AGENT_CONTROLLER_ID, Kind, Priority, Table, cookie
from ryu_apps.plan.kuijia.commodities import Path, reverse_path
from ryu_apps.plan.kuijia.priorities import ClassMarking
from ryu_apps.plan.rows import Action, Controller, FlowRow, Output, PopMpls, SetQueue, match


def guard_rows(owner: int) -> tuple[FlowRow, ...]:
    """What every switch does first: labels to the label table, untagged IPv4 of hosts to the ingress table.

    Frames that come from a host with a label are dropped; so is all that no row takes.
    """
    planned = cookie(owner, Kind.PLANNED)
    labelled, from_host = match(eth_type=ETH_MPLS, vlan_vid=0), match(eth_type=ETH_IPV4, in_port=HOST_PORT, vlan_vid=0)
    forged = match(eth_type=ETH_MPLS, in_port=HOST_PORT)
    return (
        FlowRow(Table.CLASSIFY, Priority.GUARD, forged, cookie=planned),
        FlowRow(Table.CLASSIFY, Priority.PRIMARY, labelled, goto_table=Table.TE_TRANSIT, cookie=planned),
        FlowRow(Table.CLASSIFY, Priority.PRIMARY, from_host, goto_table=Table.TE_INGRESS, cookie=planned),
    )


def label_rows(
    owner: int, path: Path, label: int, markings: Iterable[ClassMarking], ports: PortMap
) -> Iterator[tuple[str, FlowRow]]:
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
            yield from _between(owner, way, label, marking, ports)
            # Popped and sent in one list: a look-up after the pop would send every packet through the switch twice.
            deliver = (PopMpls(ETH_IPV4), SetQueue(marking.queue_id), Output(HOST_PORT))
            yield way[-1].dst, _row(owner, label, marking, _in_port(ports, way[-1]), deliver)


def ldi_rows(owner: int, path: Path, label: int, ldi: ClassMarking, ports: PortMap) -> Iterator[tuple[str, FlowRow]]:
    """Rows that carry LDIs about one tunnel to the agents at its ends, each with the switch that holds it.

    Parameters
    ----------
    owner, path, label, ports
        As `label_rows`.
    ldi
        What LDIs are.
    """
    for way in (path, reverse_path(path)):
        yield from _between(owner, way, label, ldi, ports)
        to_agent = (Controller(AGENT_CONTROLLER_ID),)
        yield way[-1].dst, _row(owner, label, ldi, _in_port(ports, way[-1]), to_agent)


def _between(owner: int, way: Path, label: int, marking: ClassMarking, ports: PortMap) -> Iterator[tuple[str, FlowRow]]:
    """Rows of the switches between both ends."""
    for arriving, leaving in pairwise(way):
        out: tuple[Action, ...] = (SetQueue(marking.queue_id), Output(ports.port_of[leaving]))
        yield arriving.dst, _row(owner, label, marking, _in_port(ports, arriving), out)


def _in_port(ports: PortMap, arriving: Direction) -> int:
    return ports.port_of[Direction(arriving.dst, arriving.src, arriving.key)]


def _row(owner: int, label: int, marking: ClassMarking, in_port: int, actions: tuple[Action, ...]) -> FlowRow:
    """The cookie carries the label where other rows carry a destination: counters by tunnel."""
    fields = match(in_port=in_port, eth_type=ETH_MPLS, mpls_label=label, mpls_tc=marking.tc)
    return FlowRow(Table.TE_TRANSIT, Priority.PRIMARY, fields, actions, cookie=cookie(owner, Kind.PLANNED, 0, label))
