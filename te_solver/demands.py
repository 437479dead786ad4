"""Demand matrices: the rules they keep, and generators by seed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from mininet_topos.errors import BadInputError
from mininet_topos.topology import MAX_MBPS, Topology
from te_solver.values import DEFAULT_PRIORITY, DEMAND_PRIORITIES, Demand

# Share of the pairs that are large in a bimodal matrix, and how much larger their mean is.
BIMODAL_LARGE_SHARE = 0.2
BIMODAL_RATIO = 4.0
# Spread of the two modes, relative to their mean.
BIMODAL_SPREAD = 0.2
# Log-normal spread of node masses in a gravity matrix (Roughan, "Simplifying the synthesis of Internet traffic
# matrices", CCR 2005, draws them from a heavy-tailed law).
GRAVITY_SIGMA = 1.0

USAGE = "random:PAIRS:MBPS, uniform:MBPS, gravity:TOTAL_MBPS or bimodal:MBPS"


def check_demand(demand: Demand, topology: Topology) -> None:
    """Refuse a demand that means nothing.

    Raises
    ------
    BadInputError
        Unknown node, demand to itself, a volume that is no number of at least 0, or an unknown priority.
    """
    for node in (demand.src, demand.dst):
        if node not in topology.index_of:
            names = topology.node_names
            known = ", ".join(names if len(names) <= 6 else (*names[:3], "...", names[-1]))
            raise BadInputError(f"{node!r} is no node of {topology.name!r}; its nodes are {known}")
    if demand.src == demand.dst:
        raise BadInputError(f"the demand goes from {demand.src!r} to itself; remove it or change one end")
    if not 0 <= demand.demand_mbps <= MAX_MBPS:
        raise BadInputError(f"demand_mbps is {demand.demand_mbps:g}; give a number of at least 0, at most {MAX_MBPS:g}")
    if demand.priority not in DEMAND_PRIORITIES:
        known = ", ".join(map(str, DEMAND_PRIORITIES))
        raise BadInputError(
            f"priority is {demand.priority}; use one of {known} (5 and 7 are for victims, 0 for control)"
        )


def random_pairs(topology: Topology, count: int, demand_mbps: float, seed: int) -> tuple[Demand, ...]:
    """`count` different ordered pairs drawn at random, each with the same volume (Kuijia sections 4.2 and 5.1).

    Raises
    ------
    BadInputError
        More pairs than the topology has, or fewer than 1.
    """
    nodes = topology.node_names
    total = len(nodes) * (len(nodes) - 1)
    if not 1 <= count <= total:
        raise BadInputError(f"{count} random pairs were asked for; {topology.name!r} has {total}, so give 1 to {total}")
    chosen = np.random.default_rng(seed).choice(total, count, replace=False)
    return tuple(
        Demand(nodes[a], nodes[b], demand_mbps) for a, b in (_pair(int(p), len(nodes)) for p in sorted(chosen))
    )


def uniform(topology: Topology, demand_mbps: float, _seed: int = 0) -> tuple[Demand, ...]:
    """All ordered pairs with the same volume."""
    return _all_pairs(topology, np.full(_pair_count(topology), demand_mbps))


def gravity(topology: Topology, total_mbps: float, seed: int) -> tuple[Demand, ...]:
    """All ordered pairs, volume by the product of two node masses; volumes add up to `total_mbps`."""
    nodes = len(topology.nodes)
    mass = np.random.default_rng(seed).lognormal(0.0, GRAVITY_SIGMA, nodes)
    product = np.array([mass[a] * mass[b] for a, b in (_pair(p, nodes) for p in range(_pair_count(topology)))])
    return _all_pairs(topology, total_mbps * product / product.sum() if len(product) else product)


def bimodal(topology: Topology, mean_mbps: float, seed: int) -> tuple[Demand, ...]:
    """All ordered pairs, a fifth of them four times as large as the rest; the mean volume is about `mean_mbps`."""
    rng = np.random.default_rng(seed)
    count = _pair_count(topology)
    small = 1.0 / (1 - BIMODAL_LARGE_SHARE + BIMODAL_LARGE_SHARE * BIMODAL_RATIO)
    mode = np.where(rng.random(count) < BIMODAL_LARGE_SHARE, BIMODAL_RATIO * small, small)
    return _all_pairs(topology, mean_mbps * mode * np.maximum(0.0, rng.normal(1.0, BIMODAL_SPREAD, count)))


GENERATORS: dict[str, Callable[[Topology, float, int], tuple[Demand, ...]]] = {
    "uniform": uniform,
    "gravity": gravity,
    "bimodal": bimodal,
}


def is_demand_spec(text: str) -> bool:
    """Whether a text names a generator rather than a file."""
    return text.partition(":")[0] in (*GENERATORS, "random")


def generate_demands(spec: str, topology: Topology, seed: int) -> tuple[Demand, ...]:
    """Demands of a specification.

    Parameters
    ----------
    spec
        `random:PAIRS:MBPS`, `uniform:MBPS`, `gravity:TOTAL_MBPS` or `bimodal:MBPS`.

    Raises
    ------
    BadInputError
        A specification that is none, or numbers that it cannot use.
    """
    family, *numbers = spec.split(":")
    wanted = 2 if family == "random" else 1
    if not is_demand_spec(spec) or len(numbers) != wanted:
        raise BadInputError(f"{spec!r} describes no demands; write {USAGE}, or name a CSV or JSON file")
    volume_mbps = _volume(spec, numbers[-1])
    if family != "random":
        return GENERATORS[family](topology, volume_mbps, seed)
    if not re.fullmatch(r"[0-9]{1,19}", numbers[0]):
        raise BadInputError(f"{spec!r} asks for {numbers[0]!r} pairs; give a whole number above 0")
    return random_pairs(topology, int(numbers[0]), volume_mbps, seed)


def with_classes(demands: Sequence[Demand], low_to_high: float) -> tuple[Demand, ...]:
    """Every demand split into a high and a low class, low:high = `low_to_high` (10 in Kuijia section 5.4)."""
    high_share = 1.0 / (1.0 + low_to_high)
    parts = ((DEFAULT_PRIORITY, high_share), (DEMAND_PRIORITIES[-1], 1.0 - high_share))
    return tuple(
        Demand(demand.src, demand.dst, demand.demand_mbps * share, priority)
        for demand in demands
        for priority, share in parts
    )


def _volume(spec: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= MAX_MBPS:
        raise BadInputError(
            f"{spec!r} gives the volume {text!r}; give a number of at least 0 (Mbit/s), at most {MAX_MBPS:g}"
        )
    return value


def _pair_count(topology: Topology) -> int:
    return len(topology.nodes) * (len(topology.nodes) - 1)


def _pair(number: int, nodes: int) -> tuple[int, int]:
    """The `number`-th ordered pair of different nodes."""
    a, b = divmod(number, nodes - 1)
    return a, b + (b >= a)


def _all_pairs(topology: Topology, volumes_mbps: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[Demand, ...]:
    names = topology.node_names
    pairs = (_pair(number, len(names)) for number in range(_pair_count(topology)))
    return tuple(Demand(names[a], names[b], float(mbps)) for (a, b), mbps in zip(pairs, volumes_mbps, strict=True))
