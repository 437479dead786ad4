"""Repairs of TI-LFA against their definition: as few segments as can be, which avoid the link."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from ryu_apps.plan.ti_lfa.repairs import MOST_LABELS, Repairs
from te_solver.routes import NO_LINK, ResidualRoutes
from tests.examples import examples
from tests.verify.networks import connected, topology_of

ROUTES = st.sampled_from(["spt", "mst"])


def route(residual, table, node, target):
    """Links of a route; None where there is none."""
    links = []
    while node != target:
        if table[node, target] == NO_LINK:
            return None
        links.append(int(table[node, target]))
        node = residual.topology.index_of[residual.links[links[-1]].dst]
    return links


def avoids(residual, links, failed):
    return links is not None and all(
        residual.topology.link_id(residual.links[link].direction) != failed for link in links
    )


def end_of(residual, link):
    return residual.topology.index_of[residual.links[link].dst]


def links_of(residual, repair, node, destination):
    """Every link that a repaired packet takes, by the definition of its segments."""
    table = residual.next_links()
    links, at = [repair.link], end_of(residual, repair.link)
    for segment in repair.segments:
        if segment.link is not None:
            assert end_of(residual, segment.link) == segment.node
            assert residual.topology.index_of[residual.links[segment.link].src] == at
            links.append(segment.link)
        else:
            links += route(residual, table, at, segment.node)
        at = segment.node
    return [*links, *route(residual, table, at, destination)]


def fewest_labels(residual, path, node, destination, failed):
    """The fewest labels by trying all: a step along the path, or a route that ends on it; the first hop is free."""
    table = residual.next_links()
    nodes = [node, *(end_of(residual, link) for link in path)]
    fewest = {0: 0}
    for start, end in combinations(range(len(nodes)), 2):
        way = route(residual, table, nodes[start], nodes[end])
        if end == start + 1 or avoids(residual, way, failed):
            is_free = start == 0 and (end == 1 or (avoids(residual, way, failed) and len(way) == 1))
            fewest[end] = min(fewest.get(end, 99), fewest.get(start, 99) + (not is_free))
    done = [
        at for at in range(1, len(nodes)) if avoids(residual, route(residual, table, nodes[at], destination), failed)
    ]
    return min(fewest[at] for at in done)


@st.composite
def networks(draw):
    """Networks whose links may cost more one way than the other."""
    drawn = draw(connected(max_nodes=8, max_extra=6))
    links = (replace(link, delay_ms=draw(st.sampled_from([1.0, 2.0, 5.0, 50.0]))) for link in drawn.links)
    return replace(drawn, links=tuple(links))


@examples(80)
@given(networks(), ROUTES, st.sampled_from(["hops", "delay"]))
def test_a_repair_avoids_the_failed_link_with_the_fewest_labels_along_the_path_to_come(topology, routes, metric):
    residual = ResidualRoutes(topology, routes, metric)
    table, repairs = residual.next_links(), Repairs(residual).all()
    for node in range(len(topology.nodes)):
        for destination in range(len(topology.nodes)):
            if table[node, destination] == NO_LINK:
                continue
            failed = topology.link_id(residual.links[table[node, destination]].direction)
            path = route(residual, residual.next_links(frozenset([failed])), node, destination)
            repair = repairs.get((node, destination))
            if path is None:
                assert repair is None
                continue
            fewest = fewest_labels(residual, path, node, destination, failed)
            assert (repair is not None) == (fewest <= MOST_LABELS)
            if repair is not None:
                assert len(repair.segments) == fewest
                assert avoids(residual, links_of(residual, repair, node, destination), failed)
                on_path = {end_of(residual, link) for link in path}
                assert {segment.node for segment in repair.segments} <= on_path


@pytest.mark.parametrize(("routes", "most"), [("spt", 1), ("mst", 2)])
@pytest.mark.parametrize("name", ["darkstrand", "usnet", "gscale"])
def test_known_networks_are_covered_with_few_labels(name, routes, most):
    residual = ResidualRoutes(load_topology(name), routes)
    repairs = Repairs(residual).all()
    nodes = len(residual.topology.nodes)
    assert len(repairs) == nodes * (nodes - 1)
    assert max(len(repair.segments) for repair in repairs.values()) == most


def test_what_needs_more_labels_than_the_datapath_holds_has_no_repair():
    topology = expensive_ladder(MOST_LABELS)
    assert len(Repairs(ResidualRoutes(topology, metric="delay")).all()[0, 1].segments) == MOST_LABELS
    assert (0, 1) not in Repairs(ResidualRoutes(expensive_ladder(MOST_LABELS + 1), metric="delay")).all()


def expensive_ladder(labels):
    """A way from s1 to s2 of expensive links that only adjacency segments follow, beside a cheap link."""
    way = [1, *range(3, 3 + labels), 2]
    drawn = topology_of([(1, 2), *pairwise(way)])
    onward = {(f"s{a}", f"s{b}") for a, b in pairwise(way)}
    delays = {True: 100.0, False: 1.0}
    return replace(
        drawn, links=tuple(replace(link, delay_ms=delays[(link.src, link.dst) in onward]) for link in drawn.links)
    )


def test_a_bridge_has_no_repair():
    residual = ResidualRoutes(topology_of([(1, 2), (2, 3), (3, 1), (3, 4)]))
    assert set(pairwise((0, 1, 2, 3))) - Repairs(residual).all().keys() == {(2, 3)}
