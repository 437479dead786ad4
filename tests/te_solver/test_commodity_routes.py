"""The tree planner and the pair planner of SD-FAST."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from mininet_topos.toy import figure2
from te_solver.commodity import Commodity
from te_solver.commodity_routes import PairRouter, TreeRouter
from te_solver.routers import make_router
from te_solver.routes import NO_LINK, ResidualRoutes
from tests.examples import examples
from tests.verify.networks import connected

ROUTES = st.sampled_from(["spt", "mst"])


def follow(router, commodity, failed, node):
    """Nodes and link numbers from a node to the destination, or to where no row leads on."""
    nodes, links = [node], []
    while node != commodity.destination:
        link = router.next_link(commodity, failed, node)
        if link == NO_LINK or len(nodes) > 99:
            break
        links.append(int(router.residual.link_number[link]))
        node = router.residual.topology.index_of[router.residual.links[link].dst]
        nodes.append(node)
    return nodes, links


def residual_graph(router, failed, passed=()):
    """The graph without a set of links and nodes, hop by hop."""
    topology = router.residual.topology
    graph = nx.Graph()
    graph.add_nodes_from(range(len(topology.nodes)))
    for number, link in enumerate(topology.link_ids):
        if not failed >> number & 1:
            graph.add_edge(topology.index_of[link.a], topology.index_of[link.b])
    graph.remove_nodes_from(passed)
    return graph


@examples(60)
@given(connected(), ROUTES, st.data())
def test_both_planners_reach_the_destination_whenever_the_residual_graph_does(topology, routes, data):
    failed = data.draw(st.integers(0, (1 << len(topology.link_ids)) - 1))
    residual = ResidualRoutes(topology, routes)
    for router in (TreeRouter(residual), PairRouter(residual)):
        graph = residual_graph(router, failed)
        for commodity in router.commodities:
            for start in router.start_nodes(commodity):
                nodes, links = follow(router, commodity, failed, start)
                if nx.has_path(graph, start, commodity.destination):
                    assert nodes[-1] == commodity.destination
                    assert not any(failed >> number & 1 for number in links)
                    continue
                # The pair planner may have no row at all; what it has must not lead anywhere round for ever.
                assert len(nodes) <= len(topology.nodes)


@examples(60)
@given(connected(), ROUTES)
def test_every_destination_has_a_tree_commodity_and_every_ordered_pair_its_own(topology, routes):
    residual, nodes = ResidualRoutes(topology, routes), range(len(topology.nodes))
    assert TreeRouter(residual).commodities == tuple(Commodity(node) for node in nodes)
    pairs = {(commodity.source, commodity.destination) for commodity in PairRouter(residual).commodities}
    assert pairs == set(permutations(nodes, 2))
    assert len(PairRouter(residual).commodities) == len(pairs)


@examples(60)
@given(connected(), ROUTES)
def test_primary_paths_of_pairs_are_those_of_the_trees(topology, routes):
    residual = ResidualRoutes(topology, routes)
    trees, pairs = TreeRouter(residual), PairRouter(residual)
    for commodity in pairs.commodities:
        start = commodity.source
        assert follow(pairs, commodity, 0, start) == follow(trees, Commodity(commodity.destination), 0, start)


@examples(80)
@given(connected(max_nodes=7, max_extra=5), ROUTES)
def test_a_bypass_backtracks_exactly_as_far_as_it_must_and_avoids_what_was_passed(topology, routes):
    router = PairRouter(ResidualRoutes(topology, routes))
    for commodity in router.commodities:
        nodes, links = follow(router, commodity, 0, commodity.source)
        for broken, number in enumerate(links):
            if links.index(number) != broken:
                continue
            failed = 1 << number
            turn = last_turn(router, commodity, nodes, broken, failed)
            path, _ = follow(router, commodity, failed, nodes[broken])
            if turn is None:
                assert path == [nodes[broken]]
                continue
            back = nodes[turn : broken + 1][::-1]
            assert path[: len(back)] == back
            onward = path[len(back) - 1 :]
            assert len(set(onward)) == len(onward)
            assert not set(onward) & set(nodes[:turn])
            if routes == "spt":
                graph = residual_graph(router, failed, nodes[:turn])
                assert len(onward) - 1 == nx.shortest_path_length(graph, nodes[turn], commodity.destination)


def last_turn(router, commodity, nodes, broken, failed):
    """Last switch of the primary, up to the failure, with a way on that avoids the switches before it."""
    for turn in range(broken, -1, -1):
        graph = residual_graph(router, failed, nodes[:turn])
        if nx.has_path(graph, nodes[turn], commodity.destination):
            return turn
    return None


@examples(40)
@given(connected(), ROUTES, st.data())
def test_with_several_failed_links_pairs_take_the_tree(topology, routes, data):
    assume(len(topology.link_ids) > 1)
    chosen = data.draw(st.sets(st.integers(0, len(topology.link_ids) - 1), min_size=2))
    failed = sum(1 << number for number in chosen)
    residual = ResidualRoutes(topology, routes)
    trees, pairs = TreeRouter(residual), PairRouter(residual)
    for commodity in pairs.commodities:
        for node in range(len(topology.nodes)):
            tree = trees.next_link(Commodity(commodity.destination), failed, node)
            assert pairs.next_link(commodity, failed, node) == tree


def test_figure_2_of_the_paper_turns_at_d_and_goes_on_from_b():
    topology = figure2()
    router = PairRouter(ResidualRoutes(topology))
    d_to_e = 1 << topology.link_ids.index(topology.parse_link("s4-s5"))
    nodes, _ = follow(router, Commodity(4, 0), d_to_e, 3)
    assert [topology.node_names[node] for node in nodes] == ["s4", "s3", "s2", "s6", "s7", "s8", "s5"]


def test_planners_are_found_by_name():
    residual = ResidualRoutes(figure2())
    assert isinstance(make_router("tree", residual), TreeRouter)
    assert isinstance(make_router("pair", residual), PairRouter)
    with pytest.raises(BadInputError, match="unknown planner 'trees'; use one of tree, pair"):
        make_router("trees", residual)
