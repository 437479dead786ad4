"""What follows when a packet enters a switch, interpreted once and stored.

What a switch does depends only on the packet, its in-port, the switch's failed ports and the rows
that came to it since, so the walks of thousands of failure cases share a few thousand transitions. A
*state* is the number of (switch, in-port, packet); a *transition* is the number of (state, context,
rows). Both are rows of arrays, so that all packets of all cases move in lockstep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from experiments.verify.growable_arrays import Bools, GrowableArray, Interner, Ints, join, padded
from experiments.verify.wiring import Wiring
from ryu_apps.plan.rows import FlowRow

DELIVERED_CODE, LOST_CODE = -2, -1
DELIVERED, LOST = 0, 1
"""States that packets end in."""
NO_ROW = -1
_UNKNOWN = -1
_HALF_BITS = 31


class Followed(NamedTuple):
    """What interpreted requests lead to, ordered by request.

    Attributes
    ----------
    request, code, link
        A packet that leaves: which request, the code of where it arrives, the link that it takes (-1: none).
        Every request has at least one.
    row_request, row
        A row that comes to the switch.
    notified_request, notified
        A failed set of which the transition notifies the network.
    """

    request: Ints
    code: Ints
    link: Ints
    row_request: Ints
    row: Ints
    notified_request: Ints
    notified: Ints


class Taught(NamedTuple):
    """Rows that a notification brings: switch, number, and the group that they share with packets."""

    node: Ints
    row: Ints
    group: Ints


class Switches(Protocol):
    """The rules of all switches, over integer codes of (switch, in-port, packet)."""

    has_standing_rows: bool

    def start(self, sources: Ints, targets: Ints) -> Ints:
        """Codes of untagged packets as they enter at their sources."""

    def node_of(self, codes: Ints) -> Ints:
        """Switch of every code."""

    def group_of(self, codes: Ints) -> Ints:
        """Number that a packet shares with the rows that it may meet (its destination)."""

    def group_of_rows(self, rows: Ints) -> Ints:
        """The same number, for rows."""

    def key_of_rows(self, rows: Ints) -> Ints:
        """Number of what makes a row unique in a switch: a row replaces that of the same key."""

    def knowledge_of_rows(self, rows: Ints) -> Ints:
        """How much each row knows: none replaces one of the same key that knows more."""

    def meets(self, codes: Ints, rows: Ints) -> Bools:
        """Whether the packet's header meets the row's match."""

    def is_tagged(self, codes: Ints) -> Bools:
        """Whether each packet carries a tag."""

    def numbers_of(self, rows: Sequence[FlowRow]) -> Ints:
        """Numbers of rows that somebody may put into a switch."""

    def standing_rows(self, context: int) -> Ints:
        """Rows that a switch has once it knows its failed ports."""

    def taught_by(self, tag_id: int) -> tuple[Ints, Ints]:
        """Switch and number of every row that a notification of a failed set brings."""

    def interpret(self, codes: Ints, contexts: Ints, extras: list[Ints]) -> Followed:
        """Let packets visit their switches; `extras` are columns of rows beside the plan's, earlier ones win ties."""


class Transitions:
    """Transitions by number, interpreted on demand.

    Attributes
    ----------
    node_of, group_of : arrays by state
    following : int array, shape (transitions, most copies)
        States after a transition, -1 for none.
    link
        Link that the first of them took.
    rows : int array, shape (transitions, most rows)
        Rows that the transition brings to the switch, -1 for none.
    notified : int array, shape (transitions, most notifications)
        Failed sets of which the transition notifies the network, -1 for none.
    """

    def __init__(self, switches: Switches, wiring: Wiring) -> None:
        self.switches, self.wiring = switches, wiring
        self._states, self._row_sets, self._conditions, self._special = (Interner() for _ in range(4))
        self._node, self._group, self._healthy = (GrowableArray(np.int64) for _ in range(3))
        self._following, self._rows = GrowableArray(np.int64, 1, fill=_UNKNOWN), GrowableArray(np.int64, 1, fill=NO_ROW)
        self._notified = GrowableArray(np.int64, 1, fill=NO_ROW)
        self._link, self._visit_of_special = GrowableArray(np.int64), GrowableArray(np.int64)
        self._standing: dict[int, Ints] = {}
        self._taught: dict[int, Taught] = {}
        self.states(np.array([DELIVERED_CODE, LOST_CODE]))

    @property
    def node_of(self) -> Ints:
        """Switch of every state."""
        return self._node.values

    @property
    def group_of(self) -> Ints:
        """Destination group of every state."""
        return self._group.values

    @property
    def following(self) -> Ints:
        """States after every transition."""
        return self._following.values

    @property
    def link(self) -> Ints:
        """Link that the first packet after every transition took."""
        return self._link.values

    @property
    def rows(self) -> Ints:
        """Rows that every transition brings."""
        return self._rows.values

    @property
    def notified(self) -> Ints:
        """Failed sets of which every transition notifies the network."""
        return self._notified.values

    def taught_by(self, tag_id: int) -> Taught:
        """What a notification of a failed set brings to all switches."""
        if tag_id not in self._taught:
            node, row = self.switches.taught_by(tag_id)
            self._taught[tag_id] = Taught(node, row, self.switches.group_of_rows(row))
        return self._taught[tag_id]

    def states(self, codes: Ints) -> Ints:
        """States of codes."""
        known = len(self._states)
        numbers = self._states.intern(codes)
        added = self._states.codes[known:]
        if len(added):
            self._node.extend(np.where(added < 0, 0, self.switches.node_of(added)))
            self._group.extend(np.where(added < 0, -1, self.switches.group_of(added)))
            self._healthy.extend(np.full(len(added), _UNKNOWN))
        return numbers

    def codes(self, states: Ints) -> Ints:
        """Codes of states."""
        return self._states.codes[states]

    def visit(self, states: Ints, contexts: Ints, extras: list[Ints] | None = None) -> Ints:
        """Numbers of transitions.

        Parameters
        ----------
        extras
            Rows beside the plan's, -1 for none. Standing rows are added here.
        """
        columns = [each for each in [*(extras or ()), *self._standing_columns(states, contexts)] if (each >= 0).any()]
        special = contexts >= self.wiring.n_nodes
        for column in columns:
            special = special | (column >= 0)
        transitions = self._healthy.values[states]
        at = np.flatnonzero(special)
        if len(at):
            transitions[at] = self._visit_special(states[at], contexts[at], [column[at] for column in columns])
        unknown = np.flatnonzero((transitions == _UNKNOWN) & ~special)
        if len(unknown):
            fresh = np.unique(states[unknown])
            self._healthy.values[fresh] = self._interpret(fresh, self.node_of[fresh], [])
            transitions[unknown] = self._healthy.values[states[unknown]]
        return transitions

    def _visit_special(self, states: Ints, contexts: Ints, columns: list[Ints]) -> Ints:
        row_set = np.zeros(len(states), dtype=np.int64)
        for column in columns:
            there = column >= 0
            row_set[there] = 1 + self._row_sets.intern(row_set[there] << _HALF_BITS | column[there])
        condition = self._conditions.intern(contexts << _HALF_BITS | row_set)
        known = len(self._special)
        numbers = self._special.intern(states << _HALF_BITS | condition)
        if len(self._special) > known:
            new, first_at = np.unique(numbers, return_index=True)
            fresh = first_at[new >= known]  # in the order of their numbers
            self._visit_of_special.extend(
                self._interpret(states[fresh], contexts[fresh], [column[fresh] for column in columns])
            )
        return self._visit_of_special.values[numbers]

    def _interpret(self, states: Ints, contexts: Ints, columns: list[Ints]) -> Ints:
        first = len(self._link)
        found = self.switches.interpret(self.codes(states), contexts, columns)
        self._following.extend(padded(found.request, self.states(found.code), len(states)))
        self._link.extend(found.link[np.unique(found.request, return_index=True)[1]])
        self._rows.extend(padded(found.row_request, found.row, len(states)))
        self._notified.extend(padded(found.notified_request, found.notified, len(states)))
        return np.arange(first, first + len(states))

    def _standing_columns(self, states: Ints, contexts: Ints) -> list[Ints]:
        """Standing rows that the packets can meet."""
        at = np.flatnonzero(contexts >= self.wiring.n_nodes)
        if not self.switches.has_standing_rows or not len(at):
            return []
        present = np.unique(contexts[at])
        held = [self._standing_of(context) for context in present.tolist()]
        rows = np.concatenate(held)
        place = np.repeat(present, [len(each) for each in held]) << _HALF_BITS | self.switches.group_of_rows(rows)
        packet, row = join(contexts[at] << _HALF_BITS | self.group_of[states[at]], place)
        met = self.switches.meets(self.codes(states[at[packet]]), rows[row])
        return list(padded(at[packet[met]], rows[row[met]], len(states)).T)

    def _standing_of(self, context: int) -> Ints:
        if context not in self._standing:
            self._standing[context] = self.switches.standing_rows(context)
        return self._standing[context]
