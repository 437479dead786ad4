"""How much memory a plan takes, known before it is made, and a bound that holds where the forecast was too low.

The scheme first plans small reference networks. Rows and bytes of a pair of hosts are fitted there as a sum, with
weights of at least 0, of a constant, of the mean distance, of the mean way round a failed link, and of the product of
both. The sum is then taken for the network that is asked for. What planning holds only meanwhile grows with pairs times
links, as one more reference shows. So every scheme is forecast alike (docs/decisions/memory-before-planning.md).
"""

from __future__ import annotations

import math
import resource
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.topology import Topology
from ryu_apps.plan.rows import RulePlan

Planner = Callable[[Topology], Mapping[int, RulePlan]]
GIB = 1 << 30
SMALLEST_NODES = 100  # smaller networks are planned without a forecast
FREE_SHARE = 0.8
REFERENCES = ("ring:12", "ring:20", "grid:5x5", "random:24:72:1", "random:24:32:1")
MANY_LINKS = "random:24:200:1"
_DESTINATIONS, _SOURCES = 8, 24
# Measured (docs/decisions/memory-before-planning.md): the program itself, and what walks the rows of a plan.
_PROGRAM_BYTES, _WALK_BYTES, _WALK_BYTES_A_ROW = 150 << 20, 300 << 20, 300
_FRAGMENTED = 1.25  # what the process takes over what its values count


class Forecast(NamedTuple):
    """What a plan will hold: rows of all switches, and bytes while it is made and walked."""

    rows: int
    n_bytes: int


class _Shape(NamedTuple):
    """Numbers of a network on which the size of its plan depends; `hops` and `bypass` are means over pairs."""

    nodes: int
    links: int
    hops: float
    bypass: float

    @property
    def terms(self) -> tuple[float, float, float, float]:
        pairs = float(self.nodes * self.nodes)
        return pairs, pairs * self.hops, pairs * self.bypass, pairs * self.hops * self.bypass

    @property
    def entries(self) -> float:
        """Of the next hops of all pairs under every single failure."""
        return float(self.links * self.nodes * self.nodes)


def forecast(topology: Topology, plan: Planner) -> Forecast:
    """Rows and bytes of a plan that has not been made.

    Parameters
    ----------
    plan : callable
        Makes the plans of any network, as it will make those of this one.
    """
    rows, kept, passing = np.array([_planned(plan, name) for name in (*REFERENCES, MANY_LINKS)], dtype=float).T
    wanted = shape_of(topology)
    terms = np.array([_reference(name)[1].terms for name in REFERENCES])
    scale = terms.max(axis=0)

    def fitted(of_references: np.ndarray) -> float:
        weights, _residual = nnls(terms / scale, of_references)
        return float(np.dot(weights / scale, wanted.terms))

    n_rows, held = fitted(rows[:-1]), fitted(kept[:-1])
    meanwhile = passing[-1] * wanted.entries / _reference(MANY_LINKS)[1].entries
    walk = _WALK_BYTES + _WALK_BYTES_A_ROW * n_rows
    return Forecast(round(n_rows), round(_PROGRAM_BYTES + _FRAGMENTED * (held + max(meanwhile, walk))))


def shape_of(topology: Topology) -> _Shape:
    """Nodes and links, and over a sample of pairs the mean distance and the mean distance without its first link."""
    order, n_nodes = topology.index_of, len(topology.nodes)
    ends = np.array([(order[link.src], order[link.dst]) for link in topology.links]).reshape(-1, 2)

    def distances(kept: np.ndarray, target: int) -> np.ndarray:
        graph = csr_matrix((np.ones(len(kept)), (kept[:, 0], kept[:, 1])), shape=(n_nodes, n_nodes))
        found: np.ndarray = dijkstra(graph, unweighted=True, indices=[target])[0]
        return found

    hops, bypasses = [], []
    for target in _spread(n_nodes, _DESTINATIONS):
        usual = distances(ends, target)
        for source in _spread(n_nodes, _SOURCES):
            if source == target or not math.isfinite(usual[source]):
                continue
            hops.append(usual[source])
            onward = next(dst for src, dst in ends if src == source and usual[dst] < usual[source])
            without = ends[~((ends == (source, onward)).all(axis=1) | (ends == (onward, source)).all(axis=1))]
            bypasses.append(distances(without, target)[source])
    round_ways = [each for each in bypasses if math.isfinite(each)]
    share = len(round_ways) / max(1, len(bypasses))
    return _Shape(
        n_nodes,
        len(topology.link_ids),
        float(np.mean(hops)) if hops else 0.0,
        share * float(np.mean(round_ways)) if round_ways else 0.0,
    )


def _spread(n_nodes: int, at_most: int) -> list[int]:
    return sorted({int(each) for each in np.linspace(0, n_nodes - 1, min(n_nodes, at_most))})


@cache
def _reference(name: str) -> tuple[Topology, _Shape]:
    topology = load_topology(name)
    return topology, shape_of(topology)


@cache
def _planned(plan: Planner, name: str) -> tuple[int, int, int]:
    """Rows of the plan of a reference, its bytes, and the bytes that its making holds beside it."""
    topology, _shape = _reference(name)
    tracemalloc.start()
    try:
        plans = plan(topology)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    rows = sum(len(each.flows) + len(each.groups) + len(each.backups) for each in plans.values())
    return rows, kept, peak - kept


def refuse_too_large(topology: Topology, plan: Planner, allowed: int, instead: str = "") -> None:
    """Refuse a network whose plan would take more than the allowed bytes, before it is made.

    Parameters
    ----------
    instead
        What else would make the plan smaller, as an order: "write --notification off".

    Raises
    ------
    BadInputError
        It would.
    """
    if len(topology.nodes) < SMALLEST_NODES:
        return
    try:
        rows, needed = forecast(topology, plan)
    except ArmorError:
        return  # it cannot plan every network; what is wrong with this one, planning it says
    if needed > allowed:
        fitting = len(topology.nodes) * (max(0, allowed - _PROGRAM_BYTES) / needed) ** (1 / 3)
        raise BadInputError(
            f"the plans for {topology.name!r} would have about {rows:,} rows and take {needed / GIB:.2g} GB of memory, "
            f"and {allowed / GIB:.2g} GB may be used; take a network of about {10 * int(fitting / 10)} nodes, "
            f"{_before(instead)}or raise --max-memory"
        )


@contextmanager
def bounded(allowed: int, instead: str = "") -> Iterator[None]:
    """Let this process, and those that it starts, take so many bytes more each; the system would kill them otherwise.

    Parameters
    ----------
    instead
        As for `refuse_too_large`.

    Raises
    ------
    BadInputError
        It was not enough.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [each for each in (soft, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([allowed + _data_bytes(), *limits]), hard))
    try:
        yield
    except MemoryError:
        raise BadInputError(
            f"{allowed / GIB:.2g} GB of memory were not enough; take a smaller network or fewer failures, "
            f"{_before(instead)}or raise --max-memory"
        ) from None
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _before(instead: str) -> str:
    return f"{instead}, " if instead else ""


def _data_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmData:"))


def free_bytes() -> int:
    """Memory that the machine, and the control group of this process where it has a limit, can still give."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    free = int(fields["MemAvailable"].split()[0]) * 1024
    with suppress(OSError, ValueError):  # no such group, or "max": no limit
        group = Path("/sys/fs/cgroup")
        limit, used = (int((group / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current"))
        free = min(free, max(0, limit - used))
    return free
