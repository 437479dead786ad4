"""What a controller that restores routes puts into the switches, numbered for the walkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from experiments.verify.growable_arrays import Ints, concatenated
from experiments.verify.result import Rewriting
from experiments.verify.walk.transitions import Transitions
from mininet_topos.errors import PlanError
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.recovery_rows import UNTAGGED
from ryu_apps.plan.rows import FlowRow


class Restoration(Protocol):
    """`ryu_apps.plan.restoration.Restoration`, as far as it is used here."""

    def rows(self, failed: frozenset[LinkId]) -> Mapping[int, tuple[FlowRow, ...]]:
        """Rows by datapath id that replace those of the plan while these links are failed."""


class Rewritten(NamedTuple):
    """Rows that the controller writes, by columns: for which failed set, at which switch, and the row's number."""

    failed_set: Ints
    node: Ints
    row: Ints


def rewritten_rows(
    topology: Topology, transitions: Transitions, restoration: Restoration, failed: Sequence[Sequence[int]]
) -> Rewritten:
    """Rows that the controller writes for each of some failed sets.

    Parameters
    ----------
    failed
        Link numbers of every failed set.

    Raises
    ------
    PlanError
        A row is for tagged packets, or for a switch that is not there.
    """
    node_of = {dpid_of(topology, name): node for node, name in enumerate(topology.node_names)}
    sets: list[Ints] = []
    nodes: list[Ints] = []
    numbers: list[Ints] = []
    for index, links in enumerate(failed):
        for dpid, rows in restoration.rows(frozenset(topology.link_ids[number] for number in links)).items():
            if dpid not in node_of:
                raise PlanError(f"the restoration has rows for switch {dpid}, which is not in {topology.name}")
            _require_untagged(dpid, rows)
            sets.append(np.full(len(rows), index))
            nodes.append(np.full(len(rows), node_of[dpid]))
            numbers.append(transitions.switches.numbers_of(rows))
    return Rewritten(concatenated(sets), concatenated(nodes), concatenated(numbers))


def amount_of(rewritten: Rewritten) -> Rewriting:
    """How many rows, and at how many switches, each failed set rewrites."""
    if not len(rewritten.row):
        return Rewriting()
    rows = np.bincount(rewritten.failed_set)
    switches = np.bincount(np.unique(np.stack([rewritten.failed_set, rewritten.node]), axis=1)[0])
    return Rewriting(int(rows.sum()), int(switches.sum()), int(rows.max()), int(switches.max()))


def _require_untagged(dpid: int, rows: Sequence[FlowRow]) -> None:
    for row in rows:
        if any(name == "vlan_vid" and value != UNTAGGED for name, value, _ in row.match):
            raise PlanError(f"the restoration of switch {dpid} rewrites {row!r}; only regular routes may be rewritten")
