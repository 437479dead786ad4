"""Switches that are interpreted packet by packet: the way of plans that cannot be compiled, and the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.verify.growable_arrays import Bools, Ints
from experiments.verify.walk.transitions import DELIVERED_CODE, LOST_CODE, Followed
from experiments.verify.wiring import NONE, Wiring
from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import Table
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch, learned_row, packet_meets
from ryu_apps.plan.notification import is_notification, taught_by
from ryu_apps.plan.recovery_rows import TAG_ID_BITS
from ryu_apps.plan.rows import FlowRow, Match, RulePlan
from ryu_apps.plan.walk import Dynamics, is_delivery, knowledge_of

_PACKET_BITS, _PORT_BITS, _MATCH_BITS = 30, 16, 32


class InterpretedSwitches:
    """`transitions.Switches` by `interpret_switch`.

    Parameters
    ----------
    plans
        By node position.
    """

    has_standing_rows = True

    def __init__(self, wiring: Wiring, plans: list[RulePlan], dynamics: Dynamics) -> None:
        self.wiring, self.dynamics = wiring, dynamics
        self._models = [SwitchModel(plan) for plan in plans]
        self._taught = [taught_by(plan) for plan in plans]
        self._ipv4 = [host.ipv4 for host in hosts_of(wiring.topology).values()]
        self._link_ports = [wiring.link_ports(node) | {HOST_PORT} for node in range(wiring.n_nodes)]
        self._packets: list[Packet] = []
        self._packet_ids: dict[Packet, int] = {}
        self._rows: list[FlowRow] = []
        self._row_ids: dict[FlowRow, int] = {}
        self._keys: dict[object, int] = {}
        self._matches: list[Match] = []
        self._match_ids: dict[Match, int] = {}
        self._match_of: list[int] = []  # by row
        self._met: dict[int, bool] = {}  # by packet and match

    def start(self, sources: Ints, targets: Ints) -> Ints:
        """Codes of untagged packets as they enter at their sources."""
        ends = zip(sources.tolist(), targets.tolist(), strict=True)
        codes = [
            self._code(source, HOST_PORT, Packet(self._ipv4[source], self._ipv4[target])) for source, target in ends
        ]
        return np.array(codes, dtype=np.int64)

    def node_of(self, codes: Ints) -> Ints:
        """Switch of every code."""
        return codes >> _PORT_BITS + _PACKET_BITS

    def group_of(self, codes: Ints) -> Ints:
        """One group: rows may match on anything."""
        return np.zeros_like(codes)

    def group_of_rows(self, rows: Ints) -> Ints:
        """One group: rows may match on anything."""
        return np.zeros_like(rows)

    def key_of_rows(self, rows: Ints) -> Ints:
        """What makes each row unique in a switch."""
        keys = [self._keys.setdefault(self._rows[row].key, len(self._keys)) for row in rows.tolist()]
        return np.array(keys, dtype=np.int64)

    def knowledge_of_rows(self, rows: Ints) -> Ints:
        """How much each row knows."""
        return np.array([knowledge_of(self._rows[row]) for row in rows.tolist()], dtype=np.int64)

    def meets(self, codes: Ints, rows: Ints) -> Bools:
        """Whether each packet's header meets the match of the row beside it."""
        packets = codes & (1 << _PACKET_BITS) - 1
        matches = np.array(self._match_of, dtype=np.int64)[rows]
        asked, answer_of = np.unique(packets << _MATCH_BITS | matches, return_inverse=True)  # the same pairs recur
        return np.array([self._meets(pair) for pair in asked.tolist()], dtype=bool)[answer_of]

    def is_tagged(self, codes: Ints) -> Bools:
        """Whether each packet carries a tag."""
        packets = (codes & (1 << _PACKET_BITS) - 1).tolist()
        return np.array([self._packets[packet].vlan_tci != 0 for packet in packets], dtype=bool)

    def numbers_of(self, rows: Sequence[FlowRow]) -> Ints:
        """Numbers of rows that somebody may put into a switch."""
        return np.array([self._row(row) for row in rows], dtype=np.int64)

    def standing_rows(self, context: int) -> Ints:
        """Rows that a switch has once it knows its failed ports."""
        plan = self._models[self.wiring.context_node[context]].plan
        return self.numbers_of(self.dynamics.standing_rows(plan.dpid, self.wiring.context_down[context]))

    def taught_by(self, tag_id: int) -> tuple[Ints, Ints]:
        """Switch and number of every row that a notification of a failed set brings."""
        found = [
            (node, self._row(learned_row(action)))
            for node, taught in enumerate(self._taught)
            for action in taught.get(tag_id, ())
        ]
        node, row = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return node, row

    def interpret(self, codes: Ints, contexts: Ints, extras: list[Ints]) -> Followed:
        """Let packets visit their switches."""
        columns: tuple[list[int], ...] = ([], [], [], [], [], [], [])
        for request, (code, context) in enumerate(zip(codes.tolist(), contexts.tolist(), strict=True)):
            rows = tuple(self._rows[column[request]] for column in extras if column[request] >= 0)
            followed, brought, notified = self._visit(code, context, rows)
            for code_after, link in followed:
                for column, value in zip(columns[:3], (request, code_after, link), strict=True):
                    column.append(value)
            columns[3].extend([request] * len(brought))
            columns[4].extend(brought)
            columns[5].extend([request] * len(notified))
            columns[6].extend(notified)
        return Followed(*(np.array(column, dtype=np.int64) for column in columns))

    def _visit(
        self, code: int, context: int, extras: tuple[FlowRow, ...]
    ) -> tuple[list[tuple[int, int]], list[int], list[int]]:
        """(code, link) of every packet that leaves, the rows that come, and the failed sets that it notifies of."""
        node, down = self.wiring.context_node[context], self.wiring.context_down[context]
        model, packet = self._models[node], self._packets[code & (1 << _PACKET_BITS) - 1]
        in_port = code >> _PACKET_BITS & (1 << _PORT_BITS) - 1
        result = interpret_switch(model, packet, in_port, self._link_ports[node] - down, extras)
        rows, released = self.dynamics.react(model.plan.dpid, down, result)
        leaving = [(port, out) for port, out, _ in result.outputs] + list(released)
        followed = [self._arrival(node, port, out, down) for port, out in leaving if not is_notification(out.vlan_tci)]
        notified = {out.vlan_tci & TAG_ID_BITS for _, out in leaving if is_notification(out.vlan_tci)}
        brought = [self._row(row) for row in rows if row.table_id != Table.NOTIFY]
        return followed or [(LOST_CODE, NONE)], brought, sorted(notified)

    def _arrival(self, node: int, port: int, packet: Packet, down: frozenset[int]) -> tuple[int, int]:
        if port == HOST_PORT and is_delivery(self._models[node].plan, packet):
            return DELIVERED_CODE, NONE
        link = int(self.wiring.link_at[node, port]) if port < self.wiring.n_ports else NONE
        if link == NONE or port in down:
            return LOST_CODE, link
        far_node, far_port = self.wiring.far_node[node, port], self.wiring.far_port[node, port]
        return self._code(int(far_node), int(far_port), packet), link

    def _code(self, node: int, in_port: int, packet: Packet) -> int:
        number = self._packet_ids.setdefault(packet, len(self._packets))
        if number == len(self._packets):
            self._packets.append(packet)
        return (node << _PORT_BITS | in_port) << _PACKET_BITS | number

    def _row(self, row: FlowRow) -> int:
        number = self._row_ids.setdefault(row, len(self._rows))
        if number == len(self._rows):
            self._rows.append(row)
            self._match_of.append(self._match_ids.setdefault(row.match, len(self._matches)))
            if self._match_of[-1] == len(self._matches):
                self._matches.append(row.match)
        return number

    def _meets(self, pair: int) -> bool:
        """Whether the packet of the first bits meets the match of the last ones."""
        found = self._met.get(pair)
        if found is None:
            packet, match = self._packets[pair >> _MATCH_BITS], self._matches[pair & (1 << _MATCH_BITS) - 1]
            found = self._met[pair] = packet_meets(packet, match)
        return found
