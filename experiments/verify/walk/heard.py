"""Rows that agents install once notifications have named failed links, numbered for the walkers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from experiments.verify.growable_arrays import Ints, concatenated
from experiments.verify.walk.dynamics import AgentDynamics
from experiments.verify.walk.rewritten import Rewritten
from experiments.verify.walk.transitions import Switches
from experiments.verify.wiring import Wiring
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.recovery_rows import untagged_row
from ryu_apps.plan.rows import BackupRow


class HeardRows:
    """Rows of untagged packets at every switch, by what its agent has heard of a failed set.

    Agents notify of each of their failed links, so any agent may have heard of any subset of the links that failed.
    """

    def __init__(self, wiring: Wiring, switches: Switches, dynamics: AgentDynamics) -> None:
        self._wiring, self._switches, self._dynamics = wiring, switches, dynamics
        self._dpids = [dpid_of(wiring.topology, node) for node in wiring.topology.node_names]
        self._found: dict[tuple[int, int], Ints] = {}
        self._numbers: dict[object, int] = {}

    def of_any_subset(self, contexts: Ints, failed: Sequence[Sequence[int]]) -> Rewritten:
        """Rows of agents that have heard of some of the links.

        Parameters
        ----------
        contexts : int array, shape (failed sets, nodes)
        failed
            Link numbers of every failed set.
        """
        return self._of(contexts, [list(_parts(links)) for links in failed])

    def of_all(self, contexts: Ints, failed: Sequence[Sequence[int]]) -> Rewritten:
        """Rows of agents that have heard of all of them."""
        return self._of(contexts, [[_mask(links)] for links in failed])

    def _of(self, contexts: Ints, masks: list[list[int]]) -> Rewritten:
        columns: tuple[list[Ints], ...] = ([], [], [])
        for failed_set, (held, parts) in enumerate(zip(contexts.tolist(), masks, strict=True)):
            for node, context in enumerate(held):
                found = concatenated(self._rows(context, mask) for mask in parts)
                rows = found if len(parts) == 1 else np.unique(found)
                for column, values in zip(
                    columns, (np.full_like(rows, failed_set), np.full_like(rows, node), rows), strict=True
                ):
                    column.append(values)
        return Rewritten(*(concatenated(column) for column in columns))

    def _rows(self, context: int, mask: int) -> Ints:
        found = self._found.get((context, mask))
        if found is None:
            node, down = self._wiring.context_node[context], self._wiring.context_down[context]
            rows = self._dynamics.heard_rows(self._dpids[node], down, mask)
            numbers = [self._number(node, row) for row in rows]
            found = self._found[context, mask] = np.array(numbers, dtype=np.int64)
        return found

    def _number(self, node: int, row: BackupRow) -> int:
        key = node, row.key
        if key not in self._numbers:
            self._numbers[key] = int(self._switches.numbers_of([untagged_row(row)])[0])
        return self._numbers[key]


def _parts(links: Sequence[int]) -> Iterator[int]:
    for size in range(1, len(links) + 1):
        yield from map(_mask, combinations(links, size))


def _mask(links: Sequence[int]) -> int:
    return sum(1 << number for number in links)
