"""The paper's networks, and what a packet does in a network of tunnels."""

from __future__ import annotations

from itertools import pairwise

from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.topology import Direction, LinkId, Topology
from ryu_apps.plan.kuijia.commodities import Path, TunnelCommodity
from ryu_apps.plan.kuijia.options import TunnelOptions, parse_prefix
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.walk import Learning, Network


def figure1() -> Topology:
    """Kuijia's Figure 1, read as three tunnels from s1 to s4: by s2 (T1), straight (T2), by s3 (T3); s2-s4 fails.

    ::

            s2
          /    \\
        s1 ---- s4        every link 10 Gbit/s
          \\    /
            s3
    """
    edges = ((1, 2), (2, 4), (1, 4), (1, 3), (3, 4))
    names = [f"s{number}" for number in range(1, 5)]
    return from_edges("kuijia-figure1", numbered_nodes(names), edges, capacity_mbps=10_000.0, delay_ms=1.0)


def path(*nodes: str) -> Path:
    return tuple(Direction(src, dst) for src, dst in pairwise(nodes))


def figure1_traffic(weights: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)) -> TunnelCommodity:
    """T1, T2 and T3 of Figure 1."""
    return TunnelCommodity("s1", "s4", (path("s1", "s2", "s4"), path("s1", "s4"), path("s1", "s3", "s4")), weights)


# Figure 2 sends to 10.0.2.0/24.
FIGURE2_OPTIONS = TunnelOptions(
    prefixes=(("s1", (parse_prefix("10.0.1.0/24"),)), ("s4", (parse_prefix("10.0.2.0/24"),)))
)


def running(topology: Topology, plans: dict[int, RulePlan], failed: frozenset[LinkId] = frozenset()) -> Network:
    """The network with these plans and failed links."""
    return Network(topology, plans, Learning(), failed)
