"""What can happen to the packets of one commodity under one failure, at every moment of an update.

`worst_outcomes` follows all possibilities at once: at each switch, any one of the rows that the
failure can bring there may or may not be in place yet (a subset of switches has learned, a tagged
packet was lost, an agent is late). A row met by a packet is one row, so "none or any single one"
covers every subset. `FirstPackets` then follows real sequences: first packet, second, until the
path settles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from experiments.verification.steps import DELIVERED, LOST, RowIds, StepTable

DROPPED, LOOPED = "dropped", "looped"
_MAX_PACKETS = 32
_MAX_HOPS = 4096
_NOBODY: frozenset[int] = frozenset()


class Possibilities:
    """Every state that packets can reach under one failure, and what can follow each.

    Parameters
    ----------
    steps : StepTable
    dead : dict
        Dead ports by node position.
    """

    def __init__(self, steps: StepTable, dead: dict[int, frozenset[int]]) -> None:
        self._steps, self._dead = steps, dead
        self._following: dict[int, set[int]] = {DELIVERED: set(), LOST: set()}
        self._rows_at: dict[int, list[int]] = {}
        self._states_at: dict[int, list[int]] = {}
        self._outcomes: dict[int, str] = {DELIVERED: "delivered", LOST: DROPPED}

    def worst_outcome(self, start: int) -> str:
        """`looped` if any possibility never ends, else `dropped` if any loses the packet, else `delivered`."""
        if start not in self._outcomes:
            self._explore(start)
            self._decide(start)
        return self._outcomes[start]

    def _explore(self, start: int) -> None:
        waiting = [start]
        while waiting:
            state = waiting.pop()
            if state in self._following:
                continue
            node = self._steps.places[state][0]
            self._following[state] = set()
            self._states_at.setdefault(node, []).append(state)
            waiting.extend(self._follow(state, ()))
            for row_id in self._rows_at.get(node, ()):
                waiting.extend(self._follow_with(state, row_id))

    def _follow(self, state: int, chosen: RowIds) -> list[int]:
        """Add what follows a visit with the standing rows and `chosen`; returns states to explore."""
        node = self._steps.places[state][0]
        dead = self._dead.get(node, _NOBODY)
        standing = self._steps.applying(state, self._steps.standing(node, dead)) if dead else ()
        visit = self._steps.visit(state, dead, chosen + standing)
        self._following[state].update(visit.following)
        waiting = [each for each in visit.following if each not in self._following]
        for row_id in visit.rows:
            waiting.extend(self._new_row(node, row_id))
        return waiting

    def _follow_with(self, state: int, row_id: int) -> list[int]:
        return self._follow(state, (row_id,)) if self._steps.applying(state, (row_id,)) else []

    def _new_row(self, node: int, row_id: int) -> list[int]:
        known = self._rows_at.setdefault(node, [])
        if row_id in known:
            return []
        known.append(row_id)
        self._outcomes = {DELIVERED: "delivered", LOST: DROPPED}  # what was decided may not hold any more
        return [found for state in self._states_at.get(node, ()) for found in self._follow_with(state, row_id)]

    def _decide(self, start: int) -> None:
        """Depth-first: a state on the current path met again is a loop."""
        open_states: set[int] = set()
        stack: list[tuple[int, list[int]]] = [(start, list(self._following[start]))]
        open_states.add(start)
        worst = {start: "delivered"}
        while stack:
            state, left = stack[-1]
            if not left:
                stack.pop()
                open_states.discard(state)
                self._outcomes[state] = worst[state]
                if stack:
                    worst[stack[-1][0]] = _worse(worst[stack[-1][0]], worst[state])
                continue
            following = left.pop()
            if following in open_states:
                worst[state] = LOOPED
            elif following in self._outcomes:
                worst[state] = _worse(worst[state], self._outcomes[following])
            else:
                open_states.add(following)
                worst[following] = "delivered"
                stack.append((following, list(self._following[following])))


def _worse(first: str, second: str) -> str:
    order = ("delivered", DROPPED, LOOPED)
    return max(first, second, key=order.index)


@dataclass(slots=True)
class Walk:
    """One packet's way: outcome, hops, hops that went back over its own path, and whether it met a switch twice."""

    outcome: str
    hops: int
    back_hops: int
    is_simple: bool
    states: tuple[int, ...]


@dataclass(slots=True)
class Sequence:
    """Packets sent one after another through the same failure, rows staying where they came."""

    steps: StepTable
    dead: dict[int, frozenset[int]]
    rows_at: dict[int, dict[tuple[object, ...], int]] = field(default_factory=dict)

    def send(self, start: int) -> Walk:
        """Walk one packet; the rows that it causes stay."""
        state, states, trail, back = start, [start], [], 0
        seen = {start}
        while True:
            node, in_port, _ = self.steps.places[state]
            following = self._visit(state, node)
            if following in (DELIVERED, LOST):
                outcome = "delivered" if following == DELIVERED else DROPPED
                break
            if following in seen or len(states) > _MAX_HOPS:
                outcome = LOOPED
                break
            if trail and trail[-1] == self.steps.places[following][0]:
                trail.pop()
                back += 1
            else:
                trail.append(node)
            state = following
            seen.add(state)
            states.append(state)
        nodes = [self.steps.places[each][0] for each in states]
        return Walk(outcome, len(states) - 1, back, len(set(nodes)) == len(nodes), tuple(states))

    def settle(self, start: int) -> tuple[Walk, Walk]:
        """First packet, and the packet whose path the next one repeats."""
        first = last = self.send(start)
        for _ in range(_MAX_PACKETS):
            again = self.send(start)
            if again.states == last.states:
                return first, again
            last = again
        return first, last

    def _visit(self, state: int, node: int) -> int:
        dead = self.dead.get(node, _NOBODY)
        held = self.rows_at.get(node)
        rows: RowIds = self.steps.applying(state, held.values()) if held else ()
        if dead:
            rows += self.steps.applying(state, self.steps.standing(node, dead))
        visit = self.steps.visit(state, dead, rows)
        if visit.rows:
            held = self.rows_at.setdefault(node, {})
            for row_id in visit.rows:
                held[self.steps.rows[row_id].key] = row_id
        return visit.following[0] if len(visit.following) == 1 else self._best(visit.following)

    def _best(self, following: tuple[int, ...]) -> int:
        """Copies: a packet that is delivered and also punted or copied counts as delivered."""
        return DELIVERED if DELIVERED in following else following[0]
