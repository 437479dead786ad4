"""The two disjoint tunnels of a connection. Apart, because finding tunnels brings a compiler with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mininet_topos.errors import BadInputError
from mininet_topos.topology import Direction, Topology
from te_solver.network import Network
from te_solver.tunnels import find_tunnels

Path = tuple[Direction, ...]
PATHS = 2


def find_pairs_of_paths(
    topology: Topology, pairs: Sequence[tuple[str, str]], metric: str = "hops"
) -> dict[tuple[str, str], tuple[Path, Path] | None]:
    """Two link-disjoint paths of least total cost for each pair of nodes; None where there are no two.

    Bhandari's algorithm (te_solver.disjoint); no physical link is on both.

    Parameters
    ----------
    pairs : sequence of (str, str)
        Source and destination by name.
    metric : {"hops", "delay"}
    """
    order = topology.index_of
    network = Network(topology, np.ones(len(topology.links)))  # capacities do not matter
    positions = np.array([(order[src], order[dst]) for src, dst in pairs], dtype=np.int64).reshape(-1, 2)
    tunnels = find_tunnels(network, positions, PATHS, "disjoint", metric)
    starts, disjoint = tunnels.pair_starts.tolist(), tunnels.disjoint.tolist()
    return {
        pair: (tunnels[starts[number]].links, tunnels[starts[number] + 1].links) if disjoint[number] >= PATHS else None
        for number, pair in enumerate(pairs)
    }


def require_pairs_of_paths(
    topology: Topology, pairs: Sequence[tuple[str, str]], metric: str = "hops"
) -> dict[tuple[str, str], tuple[Path, Path]]:
    """As `find_pairs_of_paths`, for pairs that must have two.

    Raises
    ------
    BadInputError
        A pair has no two disjoint paths.
    """
    found = {}
    for (src, dst), paths in find_pairs_of_paths(topology, pairs, metric).items():
        if paths is None:
            raise BadInputError(
                f"no two disjoint paths lead from {src} to {dst} in {topology.name!r}: one link carries all between "
                "them; protect a part of the way (via), or another flow"
            )
        found[src, dst] = paths
    return found
