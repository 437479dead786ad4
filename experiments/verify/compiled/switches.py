"""Switches compiled to arrays: codes in, codes out (vector_walk.py does the walking)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.verify.compiled.matches import TCI_BITS, Codes, NotCompilableError
from experiments.verify.compiled.vector_walk import CompiledNetwork, Emitted, VectorWalk
from experiments.verify.growable_arrays import Bools, Ints, join
from experiments.verify.walk.transitions import DELIVERED_CODE, LOST_CODE, Followed
from experiments.verify.wiring import NONE, Wiring
from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.interpret import Packet, SwitchResult
from ryu_apps.plan.notification import taught_by
from ryu_apps.plan.recovery_rows import TAG_ID_BITS
from ryu_apps.plan.rows import FlowRow, Learn, RulePlan
from ryu_apps.plan.walk import Dynamics, Learning

_CODE_BITS = 62
_ANY_LINK_PORT = 0


Answer = tuple[list[tuple[int, int]], list[tuple[int, int]]]


class CompiledSwitches:
    """`transitions.Switches` over compiled plans.

    Parameters
    ----------
    plans
        By node position.

    Raises
    ------
    NotCompilableError
        A plan uses what cannot be compiled.
    """

    def __init__(self, wiring: Wiring, plans: list[RulePlan], dynamics: Dynamics) -> None:
        self.wiring, self.dynamics = wiring, dynamics
        self._addresses = [0] + [host.ipv4 for host in hosts_of(wiring.topology).values()]
        self._codes = Codes(self._addresses)
        self._network = CompiledNetwork(plans, self._codes)
        self._answers: dict[tuple[int, int, int, int, int], Answer] = {}
        self._taught = [taught_by(plan) for plan in plans]
        self._numbers: dict[int, int] = {}  # by the address of an action; `_taught` keeps them
        self._is_local = np.zeros((wiring.n_nodes, len(self._addresses)), dtype=bool)
        for node, plan in enumerate(plans):
            self._is_local[node, [self._codes.of(address) for address in plan.local_ipv4]] = True
        # Where nobody asks for the source, packets carry 0 instead and share their states.
        self._names_source = self._network.tables.reads("ipv4_src") or not isinstance(dynamics, Learning)
        self._forgets_in_port = self._network.forgets_in_port
        self._host_bits = len(self._addresses).bit_length()
        self._port_bits = wiring.n_ports.bit_length()
        if wiring.n_nodes.bit_length() + self._port_bits + 2 * self._host_bits + TCI_BITS > _CODE_BITS:
            raise NotCompilableError(f"{wiring.n_nodes} nodes need codes of more than {_CODE_BITS} bits")
        self.has_standing_rows = not isinstance(dynamics, Learning)

    def start(self, sources: Ints, targets: Ints) -> Ints:
        """Codes of untagged packets as they enter at their sources."""
        src = sources + 1 if self._names_source else np.zeros_like(sources)
        return self._encode(sources, np.full_like(sources, HOST_PORT), src, targets + 1, np.zeros_like(sources))

    def node_of(self, codes: Ints) -> Ints:
        """Switch of every code."""
        return codes >> self._port_bits + 2 * self._host_bits + TCI_BITS

    def group_of(self, codes: Ints) -> Ints:
        """Destination of every code."""
        return codes >> TCI_BITS & (1 << self._host_bits) - 1

    def group_of_rows(self, rows: Ints) -> Ints:
        """Destination of every row."""
        return self._network.extra_rows.column("dst", rows)

    def key_of_rows(self, rows: Ints) -> Ints:
        """What makes each row unique in a switch."""
        return self._network.extra_rows.column("key", rows)

    def knowledge_of_rows(self, rows: Ints) -> Ints:
        """How much each row knows."""
        return self._network.extra_rows.column("knowledge", rows)

    def meets(self, codes: Ints, rows: Ints) -> Bools:
        """Whether each packet's header meets the match of the row beside it."""
        _, _, src, dst, tci = self._decode(codes)
        return self._network.extra_rows.columns(rows).meets(src, dst, tci)

    def is_tagged(self, codes: Ints) -> Bools:
        """Whether each packet carries a tag."""
        tagged: Bools = codes & (1 << TCI_BITS) - 1 != 0
        return tagged

    def numbers_of(self, rows: Sequence[FlowRow]) -> Ints:
        """Numbers of rows that somebody may put into a switch."""
        return np.array([self._network.extra_rows.number(row) for row in rows], dtype=np.int64)

    def standing_rows(self, context: int) -> Ints:
        """Rows that a switch has once it knows its failed ports."""
        node, down = self.wiring.context_node[context], self.wiring.context_down[context]
        return self.numbers_of(self.dynamics.standing_rows(self._network.plans[node].dpid, down))

    def taught_by(self, tag_id: int) -> tuple[Ints, Ints]:
        """Switch and number of every row that a notification of a failed set brings."""
        number_of = self._number_of_learn
        found = [
            (node, number_of(action)) for node, taught in enumerate(self._taught) for action in taught.get(tag_id, ())
        ]
        node, row = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return node, row

    def _number_of_learn(self, action: Learn) -> int:
        """The same action, which many failed sets share, is compiled once."""
        found = self._numbers.get(id(action))
        if found is None:
            found = self._numbers[id(action)] = self._network.extra_rows.learned(action)
        return found

    def interpret(self, codes: Ints, contexts: Ints, extras: list[Ints]) -> Followed:
        """Let packets visit their switches."""
        node, in_port, src, dst, tci = self._decode(codes)
        columns = {"in_port": in_port.copy(), "ipv4_src": src, "ipv4_dst": dst, "vlan_tci": tci}
        packets = VectorWalk(np.arange(len(codes)), node, contexts, in_port, columns, extras)
        outputs, punts, learned, notified = self._network.run(packets, self.wiring.live)
        if len(punts.request):
            released, installed = self._react(contexts, punts)
            outputs, learned = outputs.followed_by(released), learned.followed_by(installed)
        code, link = self._arrivals(contexts, node, outputs)
        lost = np.setdiff1d(np.arange(len(codes)), outputs.request)
        request = np.concatenate([outputs.request, lost])
        order = np.argsort(request, kind="stable")
        code = np.concatenate([code, np.full(len(lost), LOST_CODE)])[order]
        link = np.concatenate([link, np.full(len(lost), NONE)])[order]
        tag_ids = notified.tci & TAG_ID_BITS
        return Followed(request[order], code, link, learned.request, learned.port, notified.request, tag_ids)

    def _react(self, contexts: Ints, punts: Emitted) -> tuple[Emitted, Emitted]:
        """Packets that the agents send on, and rows that they install; what looks alike to them is asked once."""
        context = contexts[punts.request]
        on_main = self._is_local[self.wiring.context_node_of(context), punts.dst]
        source = np.where(on_main | self.dynamics.reads_source, punts.src, 0)
        asked = np.stack([context, punts.port, source, punts.dst, punts.tci], axis=1)
        questions, question_of = np.unique(asked, axis=0, return_inverse=True)
        answers = [self._answer(*question) for question in questions.tolist()]
        return (
            _sent_to([released for released, _ in answers], question_of, punts),
            _sent_to([installed for _, installed in answers], question_of, punts),
        )

    def _answer(self, context: int, controller_id: int, src: int, dst: int, tci: int) -> Answer:
        """What an agent does about one punted packet: (port, TCI) sent on, and (row, 0) installed."""
        key = context, controller_id, src, dst, tci
        if key not in self._answers:
            packet = Packet(self._codes.address(src), self._codes.address(dst), vlan_tci=tci)
            node, down = self.wiring.context_node[context], self.wiring.context_down[context]
            result = SwitchResult((), ((controller_id, packet),), (), ())
            rows, sent = self.dynamics.react(self._network.plans[node].dpid, down, result)
            if any(replace(out, vlan_tci=tci) != packet for _, out in sent):
                raise NotCompilableError(f"no compiled form of a reaction that turns {packet} into {sent}")
            released = [(port, out.vlan_tci) for port, out in sent]
            self._answers[key] = released, [(self._network.extra_rows.number(row), 0) for row in rows]
        return self._answers[key]

    def _arrivals(self, contexts: Ints, nodes: Ints, outputs: Emitted) -> tuple[Ints, Ints]:
        """Codes of where packets arrive, and the links that they take."""
        wiring, node = self.wiring, nodes[outputs.request]
        port = np.where(outputs.port < wiring.n_ports, outputs.port, 0)  # port 0 carries nothing
        link = wiring.link_at[node, port]
        delivered = (port == HOST_PORT) & (outputs.tci == 0) & self._is_local[node, outputs.dst]
        arrives = (link >= 0) & wiring.live[contexts[outputs.request], port]
        far_port = np.full_like(port, _ANY_LINK_PORT) if self._forgets_in_port else wiring.far_port[node, port]
        codes = self._encode(wiring.far_node[node, port], far_port, outputs.src, outputs.dst, outputs.tci)
        return np.where(delivered, DELIVERED_CODE, np.where(arrives, codes, LOST_CODE)), link

    def _encode(self, node: Ints, in_port: Ints, src: Ints, dst: Ints, tci: Ints) -> Ints:
        codes = node << self._port_bits | in_port
        codes = codes << self._host_bits | src
        return (codes << self._host_bits | dst) << TCI_BITS | tci

    def _decode(self, codes: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Switch, in-port, source, destination, TCI."""
        host, port = (1 << self._host_bits) - 1, (1 << self._port_bits) - 1
        rest = codes >> TCI_BITS
        dst, src = rest & host, rest >> self._host_bits & host
        rest = rest >> 2 * self._host_bits
        return rest >> self._port_bits, rest & port, src, dst, codes & (1 << TCI_BITS) - 1


def _sent_to(answers: list[list[tuple[int, int]]], question_of: Ints, punts: Emitted) -> Emitted:
    """Answers by question, as given to every punted packet that asks it."""
    owner = np.repeat(np.arange(len(answers)), [len(each) for each in answers])
    port, tci = np.array([pair for each in answers for pair in each], dtype=np.int64).reshape(-1, 2).T
    punt, answer = join(question_of, owner)
    return Emitted(punts.request[punt], port[answer], punts.src[punt], punts.dst[punt], tci[answer])
