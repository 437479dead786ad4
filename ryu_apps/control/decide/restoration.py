"""Which links a restoring controller keeps routes away from, and what that asks of one switch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from mininet_topos.topology import LinkId
from ryu_apps.control.decide.returning import ReturnState
from ryu_apps.plan.diff import Command, Operation
from ryu_apps.plan.rows import FlowRow, Match

RowKey = tuple[int, int, Match]


@dataclass(frozen=True, slots=True)
class Avoidance:
    """Links that no route uses.

    Attributes
    ----------
    avoided
        A link from its failure until it has been returned to (wait-to-restore).
    proven
        Links that have been up once since the controller started. The first time is no return from a failure: when a
        network starts, BFD reports every link down before it reports it live.
    """

    avoided: frozenset[LinkId] = frozenset()
    proven: frozenset[LinkId] = frozenset()


def observed(avoidance: Avoidance, ports: ReturnState) -> Avoidance:
    """What to avoid once the ports are as they are now."""
    up = frozenset(link for link in ports.ends if ports.is_up(link))
    first_time = up - avoidance.proven
    return Avoidance((avoidance.avoided | ports.failed_links()) - first_time, avoidance.proven | up)


def returned(avoidance: Avoidance, links: Iterable[LinkId]) -> Avoidance:
    """Routes may use these links again."""
    return replace(avoidance, avoided=avoidance.avoided - frozenset(links))


def switch_commands(
    planned: Mapping[RowKey, FlowRow], held: Mapping[RowKey, FlowRow], wanted: Mapping[RowKey, FlowRow]
) -> tuple[Command, ...]:
    """Changes of a switch's rows from one restoration to another; rows that stay are left out.

    Parameters
    ----------
    planned
        Rows of the plan, by key.
    held, wanted
        Rows in place of planned ones: those that the switch has, and those that it has to have.
    """
    return tuple(_changes(planned, held, wanted))


def _changes(
    planned: Mapping[RowKey, FlowRow], held: Mapping[RowKey, FlowRow], wanted: Mapping[RowKey, FlowRow]
) -> Iterator[Command]:
    for key, row in wanted.items():
        if held.get(key, planned.get(key)) != row:
            yield Command(Operation.MODIFY if key in planned or key in held else Operation.ADD, row)
    for key, row in held.items():
        if key not in wanted and planned.get(key) != row:
            yield Command(Operation.MODIFY, planned[key]) if key in planned else Command(Operation.DELETE, row)
