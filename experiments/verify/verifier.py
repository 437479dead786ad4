"""One batch of failed sets: every case that they hit, walked; counting.py counts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.verify.behaviour import Behaviour
from experiments.verify.cases import Residual
from experiments.verify.compiled.matches import NotCompilableError
from experiments.verify.compiled.switches import CompiledSwitches
from experiments.verify.counting import Cases, Findings, Updates, count
from experiments.verify.growable_arrays import Ints, concatenated
from experiments.verify.result import Rewriting, Tally
from experiments.verify.streams.packet_stream import PacketStream, put_all
from experiments.verify.streams.sharing import agents_notify, packets_notify, settle_together
from experiments.verify.walk.dynamics import AgentDynamics, dynamics_of
from experiments.verify.walk.heard import HeardRows
from experiments.verify.walk.interpreted import InterpretedSwitches
from experiments.verify.walk.possibilities import Possibilities
from experiments.verify.walk.rewritten import Rewritten, amount_of, rewritten_rows
from experiments.verify.walk.transitions import LOST, Switches, Transitions
from experiments.verify.wiring import Wiring, bits
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.choices import uses_agent
from ryu_apps.plan.guarantees import Promise
from ryu_apps.plan.rows import RulePlan

_MOST_STORED = 2_000_000  # states, or transitions between them: then they are dropped, so that memory stays bounded


class Verifier:
    """Walks and counts the cases of one batch of failed sets at a time.

    Parameters
    ----------
    plans
        Rule plans by datapath id.
    behaviour
        How rows come after a failure, and what the scheme promises.
    nodes
        Switches without any link have failed: pairs of their hosts are no cases.
    """

    def __init__(
        self, topology: Topology, plans: dict[int, RulePlan], behaviour: Behaviour, *, nodes: bool = False
    ) -> None:
        self.topology, self.behaviour, self._nodes = topology, behaviour, nodes
        self.wiring = Wiring(topology)
        self._plans = [plans[dpid_of(topology, node)] for node in topology.node_names]
        self._dynamics = dynamics_of(behaviour.mode, plans)
        order = topology.index_of
        self._residual = Residual([(order[link.a], order[link.b]) for link in topology.link_ids], len(order))
        try:
            self._use(CompiledSwitches(self.wiring, self._plans, self._dynamics))
            self._crossing = self._primary_pairs()
        except NotCompilableError:
            self.interpret_instead()
            self._crossing = self._primary_pairs()

    def _use(self, switches: Switches) -> None:
        self.switches = switches
        self.transitions = Transitions(switches, self.wiring)
        dynamics = self._dynamics
        self._heard = HeardRows(self.wiring, switches, dynamics) if isinstance(dynamics, AgentDynamics) else None

    def interpret_instead(self) -> None:
        """From now on the interpreter walks, packet by packet: the plans use what cannot be compiled."""
        self._use(InterpretedSwitches(self.wiring, self._plans, self._dynamics))

    def batches(self, failed_masks: list[int], n_cases: int) -> list[list[int]]:
        """The failed sets in order, cut into batches of about `n_cases` cases."""
        per_link = np.array([len(pairs) for pairs in self._crossing])
        batches: list[list[int]] = []
        room = 0
        for mask in failed_masks:
            if room <= 0:
                batches.append([])
                room = n_cases
            batches[-1].append(mask)
            room -= int(per_link[bits(mask)].sum())
        return batches

    def tally(self, failed_masks: list[int]) -> Tally:
        """Count all cases of these failed sets."""
        if max(len(self.transitions.node_of), len(self.transitions.link)) > _MOST_STORED:
            self._use(self.switches)
        failed = [bits(mask) for mask in failed_masks]
        cases = self._cases(failed_masks, failed)
        try:
            found = self._findings(cases, failed)
        except NotCompilableError:
            self.interpret_instead()
            found = self._findings(cases, failed)
        return count(self.topology, cases, found, failed_masks, behaviour=self.behaviour)

    def _findings(self, cases: Cases, failed: list[list[int]]) -> Findings:
        """What happened in each case."""
        start, contexts = self._start(cases.source, cases.target), self.wiring.contexts(failed)
        heard = self._heard.of_any_subset(contexts, failed) if self._heard is not None else None
        worst = Possibilities(self.transitions, contexts, heard).worst(cases.failed_set, start)
        stream = PacketStream(self.transitions, contexts, cases.failed_set)
        everyone = np.arange(len(start))
        first = stream.send(everyone, start)
        reply = updates = None
        if uses_agent(self.behaviour.mode):
            reply = stream.copy().send(everyone, self._start(cases.target, cases.source))
        rewriting, rounds = Rewriting(), np.zeros(len(failed), dtype=np.int64)
        if self.behaviour.restoration is None:
            if self._heard is not None:
                heard = self._heard.of_all(contexts, failed)
                first.changed |= put_all(stream, self.transitions, heard, cases.failed_set, start)
            settled, rounds = settle_together(stream, first, start, cases.failed_set, len(failed))
        else:
            rewritten = rewritten_rows(self.topology, self.transitions, self.behaviour.restoration, failed)
            put_all(stream, self.transitions, rewritten, cases.failed_set, start)
            settled = stream.settle(stream.send(everyone, start), start)
            updates, rewriting = self._updates(cases, start, contexts, rewritten), amount_of(rewritten)
        notified = None
        if len(stream.notified):
            notified = packets_notify(stream, rounds, contexts, self.wiring)
        elif isinstance(self._dynamics, AgentDynamics) and self._dynamics.notifies:
            notified = agents_notify(self._plans[0].tag_space[1], rounds, contexts, self.wiring)
        simple, tagged = stream.is_simple(settled), stream.is_tagged(settled)
        return Findings(worst, first, settled, simple, tagged, reply, updates, rewriting, notified)

    def _updates(self, cases: Cases, start: Ints, contexts: Ints, rewritten: Rewritten) -> Updates:
        """The worst while the controller writes: after the failure, and when its links are back."""
        healthy = np.broadcast_to(np.arange(self.wiring.n_nodes), contexts.shape)
        failing, returning = (
            Possibilities(self.transitions, each, rewritten).worst(cases.failed_set, start)
            for each in (contexts, healthy)
        )
        return Updates(failing, returning)

    def _start(self, source: Ints, target: Ints) -> Ints:
        return self.transitions.states(self.switches.start(source, target))

    def _primary_pairs(self) -> list[Ints]:
        """For every link the pairs (source times nodes plus target) whose packets cross it while nothing has failed."""
        n_nodes = self.wiring.n_nodes
        pair = np.flatnonzero(~np.eye(n_nodes, dtype=bool))
        state = self._start(*np.divmod(pair, n_nodes))
        links, pairs = [], []
        for _ in range(n_nodes):  # a longer path loops, and crosses no further links
            visit = self.transitions.visit(state, self.transitions.node_of[state])
            goes_on = self.transitions.following[visit, 0] > LOST
            pair, visit = pair[goes_on], visit[goes_on]
            state = self.transitions.following[visit, 0]
            links.append(self.transitions.link[visit])
            pairs.append(pair)
            if not len(pair):
                break
        link, pair = concatenated(links), concatenated(pairs)
        n_links = len(self.topology.link_ids)
        order = np.argsort(link, kind="stable")
        return np.split(pair[order], np.searchsorted(link[order], np.arange(1, n_links)))

    def _cases(self, masks: list[int], failed: list[list[int]]) -> Cases:
        """Every (failed set, pair) whose primary path crosses a failed link."""
        found = [np.unique(concatenated(self._crossing[link] for link in links)) for links in failed]
        if self._nodes:
            has_link = self.wiring.has_link(self.wiring.contexts(failed))
            ends = [np.divmod(pairs, self.wiring.n_nodes) for pairs in found]
            found = [pairs[up[a] & up[b]] for pairs, up, (a, b) in zip(found, has_link, ends, strict=True)]
        failed_set = np.repeat(np.arange(len(failed)), [len(pairs) for pairs in found])
        source, target = np.divmod(concatenated(found), self.wiring.n_nodes)
        fewest = [self._residual.distances(links).flat[pairs] for links, pairs in zip(failed, found, strict=True)]
        fewest_hops = np.concatenate(fewest)
        columns = failed_set, source, target, fewest_hops
        promised, restored = (
            np.fromiter(_promised(promise, masks, *columns), bool, len(source))
            for promise in (self.behaviour.promise, self.behaviour.restored)
        )
        return Cases(*columns, promised, restored)


def _promised(promise: Promise | None, masks: list[int], *columns: np.ndarray) -> Iterator[bool]:
    """Whether each case is promised; None promises nothing."""
    for failed_set, source, target, fewest_hops in zip(*(each.tolist() for each in columns), strict=True):
        yield promise is not None and fewest_hops != np.inf and promise(source, target, masks[failed_set])
