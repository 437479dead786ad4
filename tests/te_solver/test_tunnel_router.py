"""Routes from tunnels: the first tunnel while nothing has failed, the next whole one from where the two meet."""

from __future__ import annotations

import numpy as np
import pytest

from mininet_topos.catalogue import load_topology
from te_solver.commodity import Commodity
from te_solver.network import Network
from te_solver.routers import make_router
from te_solver.routes import NO_LINK, ResidualRoutes
from te_solver.tunnel_router import TunnelRouter
from te_solver.tunnels import find_tunnels


def walk(router, commodity, failed, node):
    """Nodes that a packet passes that knows of these failed links, from a node to the end of its way."""
    order, passed = router.residual.topology.index_of, [node]
    while (link := router.next_link(commodity, failed, node)) != NO_LINK:
        node = order[router.residual.links[link].dst]
        passed.append(node)
        assert len(passed) <= len(order), "it loops"
    return passed


@pytest.mark.parametrize("name", ["gscale", "darkstrand", "theta", "parallel"])
def test_primary_routes_are_first_tunnels_and_bypasses_end_on_whole_ones(name):
    topology = load_topology(name)
    residual = ResidualRoutes(topology)
    router = make_router("tunnels", residual)
    assert isinstance(router, TunnelRouter)
    numbers = {link: number for number, link in enumerate(topology.link_ids)}
    ends = (0, len(topology.nodes) - 1)
    tunnels = find_tunnels(Network(topology, np.ones(len(topology.links))), np.array([ends]), 3, "disjoint", "hops")
    first, *others = [tunnel.links for tunnel in tunnels]
    commodity, order = Commodity(*reversed(ends)), topology.index_of
    assert walk(router, commodity, 0, ends[0]) == [ends[0], *(order[hop.dst] for hop in first)]
    for place, hop in enumerate(first):
        failed = topology.link_id(hop)
        passed = walk(router, commodity, 1 << numbers[failed], order[hop.src])
        assert passed[-1] == ends[1]
        whole = [links for links in others if failed not in {topology.link_id(each) for each in links}]
        if whole:
            on_tunnel = [ends[0], *(order[each.dst] for each in whole[0])]
            met = next(node for node in reversed([order[each.src] for each in first[: place + 1]]) if node in on_tunnel)
            assert passed[passed.index(met) :] == on_tunnel[on_tunnel.index(met) :]


def test_pairs_that_nothing_joins_have_no_route():
    topology = load_topology("pair")
    alone = make_router("tunnels", ResidualRoutes(type(topology)(topology.name, topology.nodes, ())))
    assert alone.next_link(Commodity(1, 0), 0, 0) == NO_LINK
