"""FFG's loop-free alternates against their definition (RFC 5286), tried one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.ports import assign_ports
from mininet_topos.toy import TOYS
from ryu_apps.plan.ffg import find_alternates, plan_ffg
from ryu_apps.plan.guarantees import alternate_at_the_failure
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.options import PlanOptions
from te_solver.routes import NO_LINK, ResidualRoutes
from tests.examples import examples
from tests.verify.networks import case_of, connected, send

ROUTES = st.sampled_from(["spt", "mst"])


def nodes_on_path(residual, node, target):
    """Nodes of the primary path, or None when there is none."""
    table, found = residual.next_links(), [node]
    while node != target:
        link = table[node, target]
        if link == NO_LINK:
            return None
        node = residual.topology.index_of[residual.links[link].dst]
        found.append(node)
    return found


@examples(80)
@given(connected(max_nodes=7), ROUTES)
def test_an_alternate_is_the_cheapest_neighbour_whose_own_path_avoids_the_switch(topology, routes):
    residual = ResidualRoutes(topology, routes)
    alternates, table, distance = find_alternates(residual), residual.next_links(), residual.distances()
    for node in range(len(topology.nodes)):
        for target in range(len(topology.nodes)):
            offers = []
            for number, link in enumerate(residual.links):
                far = topology.index_of[link.dst]
                if topology.index_of[link.src] != node or node == target or table[node, target] in (NO_LINK, number):
                    continue
                path = nodes_on_path(residual, far, target)
                if path is not None and node not in path:
                    offers.append((residual.cost(number) + distance[far, target], number))
            assert alternates.get((node, target)) == (min(offers)[1] if offers else None)


@examples(40)
@given(connected(), ROUTES)
def test_ffg_delivers_exactly_where_the_switch_at_the_failure_has_an_alternate(topology, routes):
    options = PlanOptions(routes=routes)
    residual = ResidualRoutes(topology, routes)
    promised = alternate_at_the_failure(topology, options)
    for number, failed in enumerate(topology.link_ids):
        case = case_of("ffg", topology, options, [failed])
        for source, target in case.pairs:
            if failed not in links_of(residual, nodes_on_path(residual, source, target), target):
                continue
            outcome = send(case.network(), source, target).outcome
            assert (outcome == "delivered") == promised(source, target, 1 << number)


def links_of(residual, nodes, target):
    table = residual.next_links()
    return [residual.topology.link_id(residual.links[table[node, target]].direction) for node in nodes[:-1]]


def test_nothing_is_promised_for_two_failures_at_once():
    topology = TOYS["theta"]()
    promised = alternate_at_the_failure(topology, PlanOptions())
    both = (1 << len(topology.link_ids)) - 1
    assert not any(promised(source, target, both) for source in range(8) for target in range(8) if source != target)


@pytest.mark.parametrize("name", ["square", "parallel", "ladder"])
def test_a_group_uses_its_alternate_exactly_while_the_primary_port_is_down(name):
    topology = TOYS[name]()
    for plan in plan_ffg(topology, PlanOptions(), owner=3).values():
        ports = {port for (node, port) in assign_ports(topology).direction_at if node == plan.node}
        groups = {group.group_id: [bucket.watch_port for bucket in group.buckets] for group in plan.groups}
        for row in plan.flows:
            destination = {field: value for field, value, _ in row.match}["ipv4_dst"]
            if destination in plan.local_ipv4:
                continue
            chain = groups[row.apply_actions[0].group_id]
            for down in (set(), {chain[0]}, set(chain)):
                result = interpret_switch(SwitchModel(plan), Packet(1, destination), 1, frozenset(ports - down))
                live = [port for port in chain if port not in down]
                assert [port for port, _, _ in result.outputs] == live[:1]
