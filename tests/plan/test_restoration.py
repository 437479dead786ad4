"""What a controller rewrites: restored networks walked by the readable walker, held to shortest residual paths."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.toy import TOYS
from ryu_apps.plan.check import violations
from ryu_apps.plan.ids import Table, split_cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.restoration import replanned, with_rows
from ryu_apps.plan.walk import Learning, Network
from ryu_apps.schemes import find_scheme, route_schemes
from te_solver.routes import ResidualRoutes
from tests.examples import examples
from tests.plan.test_schemes_are_sound import ports_of
from tests.schemes import number_of
from tests.verify.networks import connected, send

RESTORING = [name for name, scheme in route_schemes().items() if scheme.restoration is not None]
CASES = [(name, planner) for name in RESTORING for planner in (("tree", "pair") if name == "cbc" else ("tree",))]
OWNER = {name: number_of(name) for name in RESTORING}


def restored(scheme, topology, options, failed):
    """Plans, the rows that the controller sends, and the plans with those rows."""
    plans = find_scheme(scheme).plan(topology, options)
    rows = find_scheme(scheme).restoration(topology, options).rows(frozenset(failed))
    return plans, rows, replanned(plans, rows)


def assert_all_joined_pairs_go_shortest(topology, options, plans, failed):
    network = Network(topology, plans, Learning(), frozenset(failed))
    fewest = ResidualRoutes(topology).distances(frozenset(failed))
    parts = topology.components(frozenset(failed))
    names = topology.node_names
    for source, target in permutations(range(len(names)), 2):
        walk = send(network, source, target)
        assert not any(hop.packet.vlan_tci for hop in walk.hops)
        if parts[names[source]] == parts[names[target]]:
            assert walk.outcome == "delivered"
            assert options.routes == "mst" or len(walk.hops) - 1 == fewest[source, target]
        else:
            assert walk.outcome == "dropped"


@pytest.mark.parametrize(("scheme", "planner"), CASES)
@examples(25)
@given(data=st.data(), topology=connected(), routes=st.sampled_from(["spt", "mst"]))
def test_a_restored_network_delivers_every_joined_pair_untagged_by_a_shortest_path(
    scheme, planner, data, topology, routes
):
    failed = data.draw(st.sets(st.sampled_from(topology.link_ids), max_size=4))
    options = PlanOptions(planner=planner, routes=routes, max_failures=1)
    _, rows, plans = restored(scheme, topology, options, failed)
    assert_all_joined_pairs_go_shortest(topology, options, plans, failed)
    assert all(type(dpid) is int and rows[dpid] for dpid in rows)


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "planner"), CASES)
def test_four_failed_links_of_a_real_network_are_restored_around(scheme, planner):
    topology = load_topology("darkstrand")
    options = PlanOptions(planner=planner, max_failures=1)
    for first in (0, 9, 21):
        failed = topology.link_ids[first : first + 12 : 3]
        assert_all_joined_pairs_go_shortest(topology, options, restored(scheme, topology, options, failed)[2], failed)


@pytest.mark.parametrize(("scheme", "planner"), CASES)
@examples(25)
@given(data=st.data(), topology=connected())
def test_only_rows_that_differ_from_the_plan_are_sent_and_what_they_replace_is_a_regular_route(
    scheme, planner, data, topology
):
    failed = data.draw(st.sets(st.sampled_from(topology.link_ids), min_size=1, max_size=4))
    options = PlanOptions(planner=planner, max_failures=1)
    plans, rows, after = restored(scheme, topology, options, failed)
    for dpid, plan in plans.items():
        before = {row.key: row for row in plan.flows}
        for row in rows.get(dpid, ()):
            assert before.get(row.key) != row
            assert row.key in before or planner == "pair"
            assert {"ipv4_dst"} <= {name for name, _, _ in row.match}
            assert row.table_id == (Table.ROUTE if scheme == "cbc" else Table.CLASSIFY)
            assert (split_cookie(row.cookie).scheme, split_cookie(row.cookie).tag_id) == (OWNER[scheme], 0)
            assert ("vlan_vid", 0, None) in row.match or scheme != "cbc"
        assert violations(after[dpid], ports_of(topology)[plan.node]) == ()
        assert replace(after[dpid], flows=()) == replace(plan, flows=())


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "planner"), CASES)
def test_nothing_is_sent_while_nothing_has_failed(scheme, planner):
    topology = TOYS["theta"]()
    plans, rows, after = restored(scheme, topology, PlanOptions(planner=planner), ())
    assert rows == {}
    assert after == plans


@pytest.mark.parametrize("scheme", RESTORING)
def test_switches_whose_routes_stay_get_nothing(scheme):
    """A square: when one side fails, the two switches of the opposite side change the routes over it only."""
    topology = TOYS["square"]()
    failed = topology.link_ids[:1]
    base = ResidualRoutes(topology).next_links()
    now = ResidualRoutes(topology).next_links(frozenset(failed))
    _, rows, _ = restored(scheme, topology, PlanOptions(), failed)
    assert {dpid: len(rows[dpid]) for dpid in sorted(rows)} == {
        node + 1: count for node, count in enumerate((base != now).sum(axis=1).tolist()) if count
    }


def test_rows_of_a_restoration_that_the_plan_lacks_are_added():
    plan = find_scheme("cbc").plan(TOYS["square"](), PlanOptions())[1]
    extra = replace(plan.flows[-1], priority=7)
    assert set(with_rows(plan, (extra,)).flows) == {*plan.flows, extra}


def test_a_restored_network_promises_every_joined_pair_and_switches_alone_what_they_did():
    square, all_failed = TOYS["square"](), 0b1111
    for name, scheme in route_schemes().items():
        promised = scheme.restored_guarantee(square, PlanOptions())(0, 1, all_failed)
        assert promised == (name in RESTORING)
        assert not scheme.guarantee(square, PlanOptions())(0, 1, all_failed)
