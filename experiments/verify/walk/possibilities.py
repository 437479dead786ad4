"""Everything that can happen to packets while a network is only partly updated.

All possibilities of all cases are followed at once, as a graph: a *place* is (failed set, state),
and an edge leads to what may follow. At each switch any one of the rows that the failure can bring
there may or may not be in place yet (a subset of switches has learned, a tagged packet was lost, an
agent is late, a controller has not written to it yet). A packet meets one such row in a visit, so
"none or any single one" covers every subset; tests hold that to a brute force over all subsets.
"""

from __future__ import annotations

import numpy as np

from experiments.verify.growable_arrays import GrowableArray, Interner, Ints, concatenated, join, ranges
from experiments.verify.walk.rewritten import Rewritten
from experiments.verify.walk.transitions import LOST, Transitions

ALWAYS_DELIVERED, SOMETIMES_DROPPED, SOMETIMES_LOOPED = 0, 1, 2
"""The worst that can happen, in rising order."""
_STATE_BITS, _ROW_BITS, _GROUP_BITS = 32, 28, 20


class Possibilities:
    """Places that packets can reach under some failed sets, and what can follow each.

    Parameters
    ----------
    contexts : int array, shape (failed sets, nodes)
        Context of every switch under every failed set.
    rewritten
        Rows that a controller is putting in, switch by switch: any of them may or may not be in place.
    """

    def __init__(self, transitions: Transitions, contexts: Ints, rewritten: Rewritten | None = None) -> None:
        self._transitions, self._contexts = transitions, contexts
        self._places = Interner()
        self._edge_from, self._edge_to = GrowableArray(np.int64), GrowableArray(np.int64)
        self._worst = GrowableArray(np.int64)
        self._rows = Interner()  # (failed set, switch, row)
        self._notified = Interner()  # (failed set, set that a notification names)
        self._joined_places = self._joined_rows = 0
        if rewritten is not None:
            self._intern_rows(*rewritten)

    def worst(self, failed_set: Ints, state: Ints) -> Ints:
        """The worst that can happen to packets that start in these states: 0 delivered, 1 dropped, 2 looped."""
        keys = failed_set << _STATE_BITS | state
        frontier = self._admit(keys)
        while len(frontier):
            while len(frontier):
                frontier = self._expand(frontier, None)
            places, rows = self._new_pairs()
            frontier = self._expand(places, rows) if len(places) else places
        return self._decide()[self._places.find(keys)]

    def _admit(self, keys: Ints) -> Ints:
        """Add places; returns the numbers of those that are new."""
        known = len(self._places)
        self._places.intern(keys)
        added = np.arange(known, len(self._places))
        self._worst.extend(np.zeros(len(added), dtype=np.int64))
        return added

    def _expand(self, places: Ints, rows: Ints | None) -> Ints:
        """Follow each place (with the row beside it in place); returns the places that are new."""
        keys = self._places.codes[places]
        failed_set, state = keys >> _STATE_BITS, keys & (1 << _STATE_BITS) - 1
        node = self._transitions.node_of[state]
        visit = self._transitions.visit(state, self._contexts[failed_set, node], None if rows is None else [rows])
        self._note_rows(failed_set, node, visit)
        reached = []
        for following in self._transitions.following[visit].T:
            self._worst.values[places[following == LOST]] = SOMETIMES_DROPPED
            goes_on = following > LOST
            reached.append((places[goes_on], failed_set[goes_on] << _STATE_BITS | following[goes_on]))
        added = self._admit(concatenated(keys for _, keys in reached))
        for origin, keys in reached:
            self._edge_from.extend(origin)
            self._edge_to.extend(self._places.find(keys))
        return added

    def _note_rows(self, failed_set: Ints, node: Ints, visit: Ints) -> None:
        for row in self._transitions.rows[visit].T:
            there = row >= 0
            if there.any():
                self._intern_rows(failed_set[there], node[there], row[there])
        for tag_id in self._transitions.notified[visit].T:
            there = tag_id >= 0
            if there.any():
                self._note_notifications(failed_set[there], tag_id[there])

    def _note_notifications(self, failed_set: Ints, tag_id: Ints) -> None:
        """Any switch may have been notified of a set of which any packet can notify the network."""
        known = len(self._notified)
        self._notified.intern(failed_set << _ROW_BITS | tag_id)
        for code in self._notified.codes[known:].tolist():
            taught = self._transitions.taught_by(code & (1 << _ROW_BITS) - 1)
            self._intern_rows(np.full_like(taught.node, code >> _ROW_BITS), taught.node, taught.row)

    def _intern_rows(self, failed_set: Ints, node: Ints, row: Ints) -> None:
        place = failed_set * self._contexts.shape[1] + node
        self._rows.intern(place << _ROW_BITS | row)

    def _new_pairs(self) -> tuple[Ints, Ints]:
        """(place, row) that can meet and have not been tried."""
        places, rows = self._places.codes, self._rows.codes
        old_places, old_rows = self._joined_places, self._joined_rows
        self._joined_places, self._joined_rows = len(places), len(rows)
        place_keys, row_keys = self._place_keys(places), self._row_keys(rows)
        first = join(place_keys[old_places:], row_keys)
        second = join(place_keys[:old_places], row_keys[old_rows:])
        place = np.concatenate([first[0] + old_places, second[0]])
        row = rows[np.concatenate([first[1], second[1] + old_rows])] & (1 << _ROW_BITS) - 1
        state = places[place] & (1 << _STATE_BITS) - 1
        met = (
            self._transitions.switches.meets(self._transitions.codes(state), row)
            if len(row)
            else np.empty(0, dtype=bool)
        )
        return place[met], row[met]

    def _place_keys(self, places: Ints) -> Ints:
        state = places & (1 << _STATE_BITS) - 1
        switch = (places >> _STATE_BITS) * self._contexts.shape[1] + self._transitions.node_of[state]
        keys: Ints = switch << _GROUP_BITS | self._transitions.group_of[state]
        return keys

    def _row_keys(self, rows: Ints) -> Ints:
        if not len(rows):
            return rows
        row = rows & (1 << _ROW_BITS) - 1
        return rows >> _ROW_BITS << _GROUP_BITS | self._transitions.switches.group_of_rows(row)

    def _decide(self) -> Ints:
        """Peel off places whose every future is known; what is left can loop for ever."""
        worst: Ints = self._worst.values.copy()
        came_from, leads_to = self._edge_from.values, self._edge_to.values
        open_edges = np.bincount(came_from, minlength=len(worst))
        order = np.argsort(leads_to, kind="stable")
        came_from = came_from[order]
        n_into = np.bincount(leads_to, minlength=len(worst))
        first_into = np.cumsum(n_into) - n_into
        decided = np.flatnonzero(open_edges == 0)
        done = np.zeros(len(worst), dtype=bool)
        while len(decided):
            done[decided] = True
            before = came_from[ranges(first_into[decided], n_into[decided])]
            np.maximum.at(worst, before, np.repeat(worst[decided], n_into[decided]))
            np.subtract.at(open_edges, before, 1)
            before = np.unique(before)
            decided = before[open_edges[before] == 0]
        worst[~done] = SOMETIMES_LOOPED
        return worst
