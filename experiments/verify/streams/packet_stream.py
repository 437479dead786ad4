"""Packets sent one after another through the same failure, rows staying where they came.

All cases move in lockstep, one switch at a time. Held to `ryu_apps.plan.walk.Network` by property tests.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from experiments.verify.growable_arrays import Bools, Interner, Ints, concatenated, join, ranges
from experiments.verify.walk.rewritten import Rewritten
from experiments.verify.walk.transitions import DELIVERED, LOST, NO_ROW, Transitions

LOOPED = 2
"""Outcome of a walk, beside the states `DELIVERED` and `LOST`."""
MAX_PACKETS = 32
_UNENDED = -1
_TAG_BITS = 12
_GROUP_BITS = 32


@dataclass
class Walks:
    """One packet of each case.

    Attributes
    ----------
    outcome
        `DELIVERED`, `LOST` or `LOOPED`.
    path : int array, shape (cases, most switches)
        States, -1 after the end.
    hops, back_hops
        Links crossed, and how many of them led back over the packet's own way.
    changed
        Whether the packet brought or replaced a row.
    """

    outcome: Ints
    path: Ints
    hops: Ints
    back_hops: Ints
    changed: Bools

    def copy(self) -> Walks:
        """The same values, kept apart from now on."""
        return Walks(*(getattr(self, each.name).copy() for each in fields(self)))

    def update(self, at: Ints, other: Walks) -> None:
        """Overwrite some cases by another's (in its order)."""
        lacking = other.path.shape[1] - self.path.shape[1]
        if lacking > 0:
            self.path = np.pad(self.path, ((0, 0), (0, lacking)), constant_values=_UNENDED)
        self.path[at] = _UNENDED
        self.path[at, : other.path.shape[1]] = other.path
        for name in ("outcome", "hops", "back_hops", "changed"):
            getattr(self, name)[at] = getattr(other, name)


class PacketStream:
    """Rows that packets have brought, case by case, and the packets that bring them.

    Parameters
    ----------
    contexts : int array, shape (failed sets, nodes)
        Context of every switch under every failed set.
    failed_set : int array, shape (cases,)
        Failed set of every case.
    """

    def __init__(self, transitions: Transitions, contexts: Ints, failed_set: Ints) -> None:
        self._transitions, self._contexts, self._failed_set = transitions, contexts, failed_set
        self._held = self._empty_slot()
        self._notified = Interner()

    @property
    def notified(self) -> Ints:
        """Codes of (failed set, set that a notification named), each once: the first shifted by 12 bits, the second."""
        return self._notified.codes

    def _empty_slot(self) -> NDArray[np.int32]:
        """Room for one row per case and switch, with an axis of slots in front."""
        return np.full((1, len(self._failed_set), self._contexts.shape[1]), NO_ROW, dtype=np.int32)

    def copy(self) -> PacketStream:
        """The same rows, kept apart from now on."""
        other = PacketStream(self._transitions, self._contexts, self._failed_set)
        other._held = self._held.copy()
        return other

    def put(self, cases: Ints, node: Ints, rows: Ints) -> Bools:
        """Put rows into switches, each for one case; returns which changed anything."""
        changed = np.zeros(len(rows), dtype=bool)
        for chosen in _in_turns(cases * self._contexts.shape[1] + node):
            changed[chosen] = self._hold(cases[chosen], node[chosen], rows[chosen])
        return changed

    def send(self, cases: Ints, start: Ints) -> Walks:
        """Walk one packet per case; the rows that it brings stay.

        A packet that comes back in a state that it was in before counts as looped.
        """
        count, active = len(cases), np.arange(len(cases))
        state, columns = start.copy(), []
        outcome, changed = np.full(count, _UNENDED), np.zeros(count, dtype=bool)
        trail = _Trail(count)
        while len(active):
            columns.append((active, state[active]))
            node = self._transitions.node_of[state[active]]
            following, brought = self._visit(cases[active], node, state[active])
            changed[active] |= brought
            ended = following <= LOST
            outcome[active[ended]] = following[ended]
            active, following, node = active[~ended], following[~ended], node[~ended]
            trail.step(active, node, self._transitions.node_of[following])
            state[active] = following
            if len(columns) % 32 == 0:
                again = _comes_again(_as_table(columns, count)[active])
                outcome[active[again]] = LOOPED
                active = active[~again]
        path = _as_table(columns, count)
        hops = (path != _UNENDED).sum(axis=1) - 1
        outcome[_comes_again(path)] = LOOPED
        return Walks(outcome, path, hops, trail.back_hops, changed)

    def settle(self, first: Walks, start: Ints) -> Walks:
        """The packets whose way all later ones repeat: those that change no row any more.

        Parameters
        ----------
        first
            What was sent last, one packet per case.
        start
            Where the packets start.

        Returns
        -------
        Still marked `changed` where `MAX_PACKETS` packets were not enough.
        """
        last = first.copy()
        for _ in range(MAX_PACKETS):
            restless = np.flatnonzero(last.changed)
            if not len(restless):
                break
            last.update(restless, self.send(restless, start[restless]))
        return last

    def is_simple(self, walks: Walks) -> Bools:
        """Whether each packet met no switch twice."""
        node = np.where(walks.path == _UNENDED, -1, self._transitions.node_of[walks.path])
        return ~_comes_again(node)

    def is_tagged(self, walks: Walks) -> Bools:
        """Whether each packet arrived at some switch with a tag."""
        there = walks.path != _UNENDED
        tagged = np.zeros(walks.path.shape, dtype=bool)
        tagged[there] = self._transitions.switches.is_tagged(self._transitions.codes(walks.path[there]))
        found: Bools = np.logical_or.reduce(tagged, axis=1)
        return found

    def _visit(self, cases: Ints, node: Ints, state: Ints) -> tuple[Ints, Bools]:
        """State after the visit, and whether the visit changed the rows of the switch."""
        extras = [self._applying(slot[cases, node], state) for slot in self._held]
        visit = self._transitions.visit(state, self._contexts[self._failed_set[cases], node], extras)
        changed = np.zeros(len(cases), dtype=bool)
        for tag_id in self._transitions.notified[visit].T:
            there = np.flatnonzero(tag_id >= 0)
            if len(there):
                changed[there] |= self.notify(cases[there], tag_id[there], state[there])
        for row in self._transitions.rows[visit].T:
            there = np.flatnonzero(row >= 0)
            if len(there):
                changed[there] |= self._hold(cases[there], node[there], row[there])
        following = self._transitions.following[visit]
        # Copies: a packet that is delivered and also punted or copied counts as delivered.
        return np.where((following == DELIVERED).any(axis=1), DELIVERED, following[:, 0]), changed

    def notify(self, cases: Ints, tag_id: Ints, state: Ints) -> Bools:
        """Teach all switches what a notification of a failed set does, as far as packets in these states meet it.

        Returns
        -------
        For which cases anything changed.
        """
        self._notified.intern(self._failed_set[cases] << _TAG_BITS | tag_id)
        tags, tag = np.unique(tag_id, return_inverse=True)
        taught = [self._transitions.taught_by(each) for each in tags.tolist()]
        n_taught = np.array([len(each.row) for each in taught], dtype=np.int64)
        group = np.repeat(np.arange(len(tags)), n_taught) << _GROUP_BITS | concatenated(each.group for each in taught)
        asking = np.argsort(tag, kind="stable")
        case, offered = join((tag << _GROUP_BITS | self._transitions.group_of[state])[asking], group)
        case, nodes = asking[case], concatenated(each.node for each in taught)[offered]
        changed = np.zeros(len(cases), dtype=bool)
        changed[case[self.put(cases[case], nodes, concatenated(each.row for each in taught)[offered])]] = True
        return changed

    def _applying(self, rows: Ints, state: Ints) -> Ints:
        """The rows where the packet can meet them, else -1."""
        found = np.full(len(rows), NO_ROW, dtype=np.int64)
        there = np.flatnonzero(rows >= 0)
        if len(there):
            held = rows[there].astype(np.int64)
            met = self._transitions.switches.meets(self._transitions.codes(state[there]), held)
            found[there[met]] = held[met]
        return found

    def _hold(self, cases: Ints, node: Ints, rows: Ints) -> Bools:
        """Keep rows, each in place of one of the same key that knows no more; returns which changed anything."""
        switches = self._transitions.switches
        key_of, knowledge_of = switches.key_of_rows, switches.knowledge_of_rows
        keys = key_of(rows)
        left, changed = np.arange(len(rows)), np.zeros(len(rows), dtype=bool)
        slot = 0
        while len(left):
            if slot == len(self._held):
                self._held = np.concatenate([self._held, self._empty_slot()])
            held = self._held[slot][cases[left], node[left]].astype(np.int64)
            same = (held < 0) | (key_of(np.maximum(held, 0)) == keys[left])
            present, chosen = held[same], left[same]
            stays = (present >= 0) & (knowledge_of(rows[chosen]) < knowledge_of(np.maximum(present, 0)))
            present, chosen = present[~stays], chosen[~stays]
            self._held[slot][cases[chosen], node[chosen]] = rows[chosen]
            changed[chosen] = present != rows[chosen]
            left, slot = left[~same], slot + 1
        return changed


class _Trail:
    """Where packets came from, to tell a hop back from a hop on."""

    def __init__(self, count: int) -> None:
        self._nodes = np.zeros((count, 64), dtype=np.int32)
        self._depth = np.zeros(count, dtype=np.int64)
        self.back_hops = np.zeros(count, dtype=np.int64)

    def step(self, packets: Ints, node: Ints, following: Ints) -> None:
        """Packets go from `node` to `following`."""
        if not len(packets):
            return
        depth = self._depth[packets]
        if depth.max() == self._nodes.shape[1]:
            self._nodes = np.pad(self._nodes, ((0, 0), (0, self._nodes.shape[1])))
        back = (depth > 0) & (self._nodes[packets, np.maximum(depth, 1) - 1] == following)
        self.back_hops[packets] += back
        onward = packets[~back]
        self._nodes[onward, depth[~back]] = node[~back]
        self._depth[packets] = np.where(back, depth - 1, depth + 1)


def put_all(
    stream: PacketStream, transitions: Transitions, rewritten: Rewritten, failed_set: Ints, start: Ints
) -> Bools:
    """Put in place, for every case, all rewritten rows that its packets can meet; returns which cases that changed.

    Parameters
    ----------
    failed_set, start : int array, shape (cases,)
        Failed set of every case, and the state in which its packets start.
    """
    wanted = failed_set << _GROUP_BITS | transitions.group_of[start]
    offered = rewritten.failed_set << _GROUP_BITS | transitions.switches.group_of_rows(rewritten.row)
    case, row = join(wanted, offered)
    met = transitions.switches.meets(transitions.codes(start[case]), rewritten.row[row])
    case, row = case[met], row[met]
    changed = np.zeros(len(start), dtype=bool)
    np.logical_or.at(changed, case, stream.put(case, rewritten.node[row], rewritten.row[row]))
    return changed


def _in_turns(place: Ints) -> list[Ints]:
    """Indices in turns: each turn has a place at most once, and those of one place keep their order."""
    order = np.argsort(place, kind="stable")
    _, counts = np.unique(place, return_counts=True)
    turn = ranges(np.zeros_like(counts), counts)
    return np.split(order[np.argsort(turn, kind="stable")], np.cumsum(np.bincount(turn))[:-1])


def _as_table(columns: list[tuple[Ints, Ints]], count: int) -> Ints:
    table = np.full((count, len(columns)), _UNENDED, dtype=np.int64)
    for index, (cases, states) in enumerate(columns):
        table[cases, index] = states
    return table


def _comes_again(table: Ints) -> Bools:
    """Whether a row holds a number (other than -1) twice."""
    ordered = np.sort(table, axis=1)
    found: Bools = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != _UNENDED)).any(axis=1)
    return found
