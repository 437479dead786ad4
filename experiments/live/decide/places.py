"""The map: where nodes stand, and what joins them."""

from __future__ import annotations

from experiments.live.decide.document import LinkView, NodeView, TopologyView
from mininet_topos.layout import positions
from mininet_topos.topology import Direction, Topology
from ryu_apps.plan.addressing import hosts_of

SIDE = 1000.0


def topology_view(topology: Topology) -> TopologyView:
    """The topology on its map, as usually drawn, or placed by hops (`mininet_topos.layout.positions`)."""
    points = positions(topology)
    lowest, extent = points.min(axis=0), (points.max(axis=0) - points.min(axis=0)).max() or 1.0
    scaled = (points - lowest) / extent * SIDE
    height = scaled[:, 1].max()
    hosts = hosts_of(topology)
    nodes = tuple(
        NodeView(node.name, node.label, hosts[node.name].name, float(x), float(height - y))
        for node, (x, y) in zip(topology.nodes, scaled, strict=True)
    )
    return TopologyView(topology.name, nodes, tuple(_links(topology)))


def _links(topology: Topology) -> list[LinkView]:
    views = []
    for link in topology.link_ids:
        one = topology.link_at[Direction(*link)]
        views.append(LinkView(str(link), link.a, link.b, one.capacity_mbps, one.delay_ms))
    return views
