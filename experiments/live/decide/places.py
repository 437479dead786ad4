"""The map: where nodes stand, and what joins them."""

from __future__ import annotations

import math

import numpy as np

from experiments.live.decide.document import LinkView, NodeView, TopologyView
from mininet_topos.drawing_geometry import Points, spread
from mininet_topos.layout import positions
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.addressing import hosts_of

SIDE = 1000.0
# Symbols of neighbours on a small map must not cover one another.
APART = 46.0


def topology_view(topology: Topology) -> TopologyView:
    """The topology on its map, as usually drawn, or placed by hops (`mininet_topos.layout.positions`)."""
    apart = min(APART, SIDE / 2 / math.sqrt(len(topology.nodes)))
    scaled = _scaled(spread(_scaled(positions(topology)), apart))
    height = scaled[:, 1].max()
    hosts = hosts_of(topology)
    nodes = tuple(
        NodeView(node.name, node.label, hosts[node.name].name, float(x), float(height - y))
        for node, (x, y) in zip(topology.nodes, scaled, strict=True)
    )
    return TopologyView(topology.name, nodes, tuple(_links(topology)))


def _scaled(points: Points) -> Points:
    """The same places in 0..`SIDE`."""
    lowest, extent = points.min(axis=0), np.ptp(points, axis=0).max() or 1.0
    scaled: Points = (points - lowest) / extent * SIDE
    return scaled


def _links(topology: Topology) -> list[LinkView]:
    views = []
    for link in topology.link_ids:
        one = topology.link_at[Direction(*link)]
        views.append(LinkView(str(link), link.a, link.b, one.capacity_mbps, one.delay_ms))
    return views
