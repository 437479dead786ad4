"""Failed switches: which cases they make, what is delivered, and the frames that notify of them."""

from __future__ import annotations

from collections import deque
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.verify import Request, verify_scheme
from experiments.verify.cases import node_masks
from experiments.verify.streams.sharing import agents_notify
from experiments.verify.wiring import Wiring, bits
from mininet_topos.errors import BadInputError
from mininet_topos.toy import TOYS
from ryu_apps.plan.options import PlanOptions
from tests.examples import examples
from tests.verify.brute_force import BruteForce
from tests.verify.networks import case_of, connected
from tests.verify.test_possibilities import possible


def graph_without(topology, failed):
    """The network without some links, by name."""
    graph = nx.Graph()
    graph.add_nodes_from(topology.node_names)
    graph.add_edges_from((link.a, link.b) for link in topology.link_ids if link not in failed)
    return graph


def of_node(topology, node):
    """Links of a switch."""
    return {link for link in topology.link_ids if node in (link.a, link.b)}


@given(connected(), st.integers(1, 2))
def test_the_links_that_fail_are_those_of_the_failed_switches(topology, failures):
    links = topology.link_ids
    found = {frozenset(links[number] for number in bits(mask)) for mask in node_masks(topology, failures, None, 1)}
    assert found == {
        frozenset().union(*(of_node(topology, node) for node in nodes))
        for nodes in combinations(topology.node_names, failures)
    }


def test_more_switches_cannot_fail_than_there_are():
    with pytest.raises(BadInputError, match="4 switches"):
        node_masks(TOYS["square"](), 5, None, 1)


@examples(60)
@given(connected(), st.sampled_from(["learned", "agent"]), st.sampled_from(["tree", "pair"]), st.integers(1, 2))
def test_failed_switches_part_only_whom_they_must_and_nothing_loops(topology, mode, planner, most):
    options = PlanOptions(mode=mode, planner=planner, max_failures=most)
    found = verify_scheme(Request(topology, "sdfast", options, nodes=True), 1)
    parted = 0
    for mask in node_masks(topology, 1, None, 1):
        graph = graph_without(topology, {topology.link_ids[number] for number in bits(mask)})
        up = [node for node in topology.node_names if graph.degree[node]]
        parted += sum(not nx.has_path(graph, *pair) for pair in permutations(up, 2))
    assert found.holds
    assert (found.tally.disconnected, found.tally.looped) == (parted, 0)
    if all(len(of_node(topology, node)) <= most for node in topology.node_names):
        assert found.tally.dropped == 0


@examples(30)
@given(connected(max_nodes=5, max_extra=3), st.sampled_from(["learned", "agent"]), st.data())
def test_every_subset_of_rows_delivers_beside_a_failed_switch_of_at_most_k_links(topology, mode, data):
    node = data.draw(st.sampled_from(topology.node_names))
    failed = of_node(topology, node)
    case = case_of("sdfast", topology, PlanOptions(mode=mode, max_failures=2), failed)
    brute, graph = BruteForce(case.network()), graph_without(topology, failed)
    brute.close(case.pairs)
    found = possible(case)
    for pair in case.pairs:
        worst = brute.worst(*pair)
        assert found[pair] == worst != "looped"
        joined = nx.has_path(graph, *(topology.node_names[end] for end in pair))
        assert worst == "delivered" or not joined or len(failed) > 2


def flooded(graph, senders):
    """Frames of one notification that all senders start before they hear another's: every switch sends once."""
    sent, frames = set(senders), 0
    waiting = deque((node, None) for node in senders)
    while waiting:
        node, came_from = waiting.popleft()
        for edge in graph.edges(node, keys=True):
            if came_from is None or frozenset(edge[:2]) | {edge[2]} != came_from:
                frames += 1
                if edge[1] not in sent:
                    sent.add(edge[1])
                    waiting.append((edge[1], frozenset(edge[:2]) | {edge[2]}))
    return frames


@given(connected(), st.integers(1, 3), st.data())
def test_agents_need_no_more_frames_than_a_flood_of_all_that_they_name(topology, most, data):
    links = topology.link_ids
    failed = sorted(data.draw(st.sets(st.integers(0, len(links) - 1), min_size=1)))
    graph = nx.MultiGraph()
    graph.add_nodes_from(topology.node_names)
    graph.add_edges_from((link.a, link.b, number) for number, link in enumerate(links) if number not in failed)
    named = {}
    for node in topology.node_names:
        own = [number for number in failed if node in (links[number].a, links[number].b)]
        heard = [(number,) for number in own] + [tuple(own[:size]) for size in range(2, min(len(own), most) + 1)]
        for name in heard:
            named.setdefault(name, []).append(node)
    frames = sum(flooded(graph, senders) for senders in named.values())
    wiring = Wiring(topology)
    found = agents_notify(most, np.array([1]), wiring.contexts([failed]), wiring)
    assert frames <= found.frames
    if nx.is_connected(graph) and not any(len(senders) > 1 for name, senders in named.items() if len(name) > 1):
        assert (frames, len(named)) == (found.frames, found.sets)


@pytest.mark.parametrize("mode", ["learned", "agent"])
def test_rounds_and_frames_of_a_ring_are_those_of_its_one_failed_link(mode):
    options = PlanOptions(mode=mode, max_failures=1)
    notifying = verify_scheme(Request(TOYS["square"](), "sdfast", options), 1).tally.notifying
    assert (notifying.most_rounds, notifying.most_sets) == (1, 1)
    assert notifying.most_frames == 2 * 3 - 4 + (2 if mode == "agent" else 1)
    assert (
        verify_scheme(
            Request(TOYS["square"](), "sdfast", PlanOptions(mode=mode, notification="off")), 1
        ).tally.notifying
        is None
    )
