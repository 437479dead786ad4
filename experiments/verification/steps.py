"""The fast walker: switch visits are interpreted once and kept; packets then move over integers.

What a switch does depends only on (switch, in-port, packet, its dead ports, the rows that came to
it since), so walks of thousands of failure cases share a few thousand interpretations. A state is
an integer: a packet with its place. Held to `ryu_apps.plan.walk` by property tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch, packet_meets
from ryu_apps.plan.rows import FlowRow, RulePlan
from ryu_apps.plan.walk import Dynamics, is_delivery

DELIVERED, LOST = 0, 1
_FIRST_STATE = 2
RowIds = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Visit:
    """What follows from one visit.

    Attributes
    ----------
    following : tuple of int
        States after it; `DELIVERED` and `LOST` are states too. Never empty.
    rows : tuple of int
        Ids of the rows that come to the switch.
    """

    following: tuple[int, ...]
    rows: RowIds


class Wiring:
    """Ports, far ends and dead ports as plain look-ups over node positions and link numbers."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        order, ports = topology.index_of, assign_ports(topology)
        numbers = {link_id: number for number, link_id in enumerate(topology.link_ids)}
        self.far_end: dict[tuple[int, int], tuple[int, int, int]] = {}
        self.ends: list[list[tuple[int, int]]] = [[] for _ in numbers]
        for (node, port), direction in ports.direction_at.items():
            back = Direction(direction.dst, direction.src, direction.key)
            number = numbers[topology.link_id(direction)]
            self.far_end[order[node], port] = (order[direction.dst], ports.port_of[back], number)
            self.ends[number].append((order[node], port))
        self.link_ports = [
            frozenset(port for (node, port) in self.far_end if node == position) for position in range(len(order))
        ]

    def dead_ports(self, failed: int) -> dict[int, frozenset[int]]:
        """Dead ports of the switches next to a failed link, by node position."""
        dead: dict[int, frozenset[int]] = {}
        for number in bits(failed):
            for node, port in self.ends[number]:
                dead[node] = dead.get(node, frozenset()) | {port}
        return dead


class StepTable:
    """Visits of the packets of one network, interpreted on demand and kept.

    Parameters
    ----------
    wiring : Wiring
    models : list of SwitchModel
        By node position.
    dynamics : Dynamics
    """

    def __init__(self, wiring: Wiring, models: list[SwitchModel], dynamics: Dynamics) -> None:
        self.wiring, self.models, self.dynamics = wiring, models, dynamics
        self.places: list[tuple[int, int, Packet]] = [(-1, 0, Packet())] * _FIRST_STATE
        self.rows: list[FlowRow] = []
        self._state_ids: dict[tuple[int, int, Packet], int] = {}
        self._row_ids: dict[FlowRow, int] = {}
        self._visits: dict[tuple[int, frozenset[int], RowIds], Visit] = {}
        self._standing: dict[tuple[int, frozenset[int]], RowIds] = {}
        self._applies: dict[tuple[int, int], bool] = {}

    def state(self, node: int, in_port: int, packet: Packet) -> int:
        """Number of a place."""
        key = node, in_port, packet
        found = self._state_ids.get(key)
        if found is None:
            found = self._state_ids[key] = len(self.places)
            self.places.append(key)
        return found

    def row_id(self, row: FlowRow) -> int:
        """Number of a row."""
        found = self._row_ids.get(row)
        if found is None:
            found = self._row_ids[row] = len(self.rows)
            self.rows.append(row)
        return found

    def standing(self, node: int, dead: frozenset[int]) -> RowIds:
        """Rows that a switch has once it knows its dead ports."""
        key = node, dead
        if key not in self._standing:
            rows = self.dynamics.standing_rows(self.models[node].plan.dpid, dead)
            self._standing[key] = tuple(self.row_id(row) for row in rows)
        return self._standing[key]

    def applying(self, state: int, row_ids: Iterable[int]) -> RowIds:
        """Those rows that the packet of this state can meet."""
        return tuple(row_id for row_id in row_ids if self._row_applies(state, row_id))

    def _row_applies(self, state: int, row_id: int) -> bool:
        key = state, row_id
        found = self._applies.get(key)
        if found is None:
            found = self._applies[key] = packet_meets(self.places[state][2], self.rows[row_id].match)
        return found

    def visit(self, state: int, dead: frozenset[int], row_ids: RowIds) -> Visit:
        """What follows when the packet of `state` meets a switch with these dead ports and extra rows."""
        key = state, dead, row_ids
        found = self._visits.get(key)
        if found is None:
            found = self._visits[key] = self._interpret(state, dead, row_ids)
        return found

    def _interpret(self, state: int, dead: frozenset[int], row_ids: RowIds) -> Visit:
        node, in_port, packet = self.places[state]
        model = self.models[node]
        live = self.wiring.link_ports[node] - dead | {HOST_PORT}
        result = interpret_switch(model, packet, in_port, live, tuple(self.rows[row_id] for row_id in row_ids))
        rows, released = self.dynamics.react(model.plan.dpid, dead, in_port, result)
        leaving = [(port, out) for port, out, _ in result.outputs] + list(released)
        following = tuple(self._arrival(model.plan, node, port, out, dead) for port, out in leaving)
        return Visit(following or (LOST,), tuple(self.row_id(row) for row in rows))

    def _arrival(self, plan: RulePlan, node: int, port: int, packet: Packet, dead: frozenset[int]) -> int:
        if port == HOST_PORT and is_delivery(plan, packet):
            return DELIVERED
        far = self.wiring.far_end.get((node, port))
        if far is None or port in dead:
            return LOST
        return self.state(far[0], far[1], packet)


def bits(mask: int) -> list[int]:
    """Positions of the set bits of a mask, ascending."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found
