"""--max-memory: what a command may take, and the refusal of plans that would take more."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.cli.parser import positive_number
from experiments.terminal.output import note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mininet_topos.topology import Topology
    from ryu_apps.plan.options import PlanOptions
    from ryu_apps.plan.rows import RulePlan


_PLANNED_A_SECOND = 4_000  # failed sets times switches; Darkstrand and ring:88, two failures, Python 3.11
_LONG_S = 10
LEAST_GB = 0.5  # with less, libraries cannot be loaded, and some end the process instead of saying so


def add_memory_argument(parser: argparse.ArgumentParser) -> None:
    """--max-memory GB."""
    parser.add_argument(
        "--max-memory",
        type=positive_number("--max-memory", highest=1e6, lowest=LEAST_GB),
        metavar="GB",
        help="memory that it may take (default: four fifths of what is free)",
    )


@contextmanager
def memory_for(
    arguments: argparse.Namespace,
    topology: Topology,
    options: PlanOptions,
    plan: Callable[[Topology, PlanOptions], Mapping[int, RulePlan]] | None,
    notifies: bool,
) -> Iterator[None]:
    """Within it, plans are made that fit the memory; `plan` is None for what is not forecast.

    `notifies` says whether plans without notifications would be smaller.

    Raises
    ------
    BadInputError
        They would not fit, or did not.
    """
    from experiments.verify.memory import FREE_SHARE, GIB, bounded, free_bytes, refuse_too_large
    from ryu_apps.plan.failure_sets import default_max_failures

    given = arguments.max_memory
    allowed = int(FREE_SHARE * free_bytes() if given is None else given * GIB)
    instead = "write --notification off" if notifies and options.floods else ""
    if plan is not None:
        most = options.max_failures
        most = default_max_failures(len(topology.link_ids)) if most is None else most
        same = replace(options, max_failures=most, replayed=(), protection=None)
        refuse_too_large(topology, lambda network: plan(network, same), allowed, instead)
        if notifies:
            _announce(topology, most)
    with bounded(allowed, instead):
        yield


def _announce(topology: Topology, max_failures: int) -> None:
    """Say so before the rows of a scheme that knows failed sets take long to plan."""
    from ryu_apps.plan.failure_sets import MAX_TAG_ID, sets_up_to

    n_nodes, n_sets = len(topology.nodes), sets_up_to(len(topology.link_ids), max_failures)
    if n_sets > MAX_TAG_ID:
        return  # refused by the planner
    seconds = n_sets * n_nodes // _PLANNED_A_SECOND
    if seconds > _LONG_S:
        note(f"planning {n_nodes} switches for {n_sets:,} sets of failed links; this takes some {seconds} s")
