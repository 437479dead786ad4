"""Random small traffic engineering problems."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from mininet_topos.build import from_edges, numbered_nodes, two_way
from mininet_topos.topology import Link, Topology
from te_solver.network import Network, to_network
from te_solver.tunnels import to_problem
from te_solver.values import Demand, Problem

rates_mbps = st.floats(1.0, 100.0).map(lambda value: round(value, 2))


@st.composite
def networks(draw, max_nodes=7, max_links=12, capacities=rates_mbps):
    """Draw networks, often disconnected, with parallel links and capacities by direction."""
    count = draw(st.integers(2, max_nodes))
    ends = st.tuples(st.integers(1, count), st.integers(1, count)).filter(lambda edge: edge[0] != edge[1])
    links: list[Link] = []
    seen: dict[frozenset[int], int] = {}
    for a, b in draw(st.lists(ends, min_size=1, max_size=max_links)):
        key = seen[frozenset((a, b))] = seen.get(frozenset((a, b)), -1) + 1
        names = f"s{a}", f"s{b}"
        links += (Link(*names, key, draw(capacities)), Link(*names[::-1], key, draw(capacities)))
    return to_network(Topology("drawn", numbered_nodes([f"s{k}" for k in range(1, count + 1)]), tuple(links)))


@st.composite
def problems(draw, priorities=(1,), max_demands=6):
    """Draw problems whose demands differ in volume and priority; some may have no tunnel."""
    network = draw(networks())
    names = network.node_names
    pairs = [(a, b) for a in names for b in names if a != b]
    keys = st.tuples(st.sampled_from(pairs), st.sampled_from(priorities))
    chosen = draw(st.lists(keys, min_size=1, max_size=max_demands, unique=True))
    demands = [Demand(src, dst, draw(rates_mbps | st.just(0.0)), priority) for (src, dst), priority in chosen]
    return to_problem(network, demands)


def gnm_problem(seed: int, nodes: int = 12, links: int = 20, pairs: int = 8, high_mbps: float = 2000.0) -> Problem:
    """A problem on a random graph, the same for the same seed, congested about half the time."""
    from mininet_topos.catalogue import load_topology

    rng = np.random.default_rng(seed)
    network = to_network(load_topology(f"random:{nodes}:{links}:{seed}"), 1000.0)
    names = network.node_names
    chosen = rng.choice(nodes * nodes, 4 * pairs, replace=False)
    ends = [(names[k // nodes], names[k % nodes]) for k in chosen.tolist() if k // nodes != k % nodes][:pairs]
    return to_problem(network, [Demand(a, b, float(rng.uniform(0, high_mbps))) for a, b in ends])


def with_capacity(network: Network, capacity_mbps: list[float]) -> Network:
    """The network with other capacities."""
    return Network(network.topology, np.array(capacity_mbps, dtype=np.float64))


def chain(*capacity_mbps: float) -> Network:
    """s1 - s2 - ..., one capacity a link."""
    links: list[Link] = []
    for number, mbps in enumerate(capacity_mbps, start=1):
        links += two_way(f"s{number}", f"s{number + 1}", capacity_mbps=mbps)
    return to_network(Topology("chain", numbered_nodes([""] * (len(capacity_mbps) + 1)), tuple(links)))


def two_diamonds() -> Network:
    r"""Two diamonds in a row: four paths from s1 to s7, two of them disjoint.

    ::

           s2      s5
          /  \    /  \
        s1    s4      s7
          \  /    \  /
           s3      s6
    """
    edges = ((1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6), (5, 7), (6, 7))
    return to_network(from_edges("two-diamonds", numbered_nodes([""] * 7), edges, capacity_mbps=100.0))
