"""CB's plans: SD-FAST's ways without its memory, so that every packet of an affected flow backtracks anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from ryu_apps.plan.ids import Table, split_cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import Learn
from ryu_apps.schemes import find_scheme
from tests import schemes
from tests.examples import examples
from tests.verify.networks import case_of, connected, send

PLANNERS = st.sampled_from(["tree", "pair", "tunnels"])


@examples(20)
@given(connected(), PLANNERS, st.data())
def test_every_packet_goes_the_way_of_the_first_one_of_sdfast(topology, planner, data):
    failed = data.draw(st.sets(st.sampled_from(topology.link_ids), max_size=2))
    options = PlanOptions(planner=planner)
    crankback = case_of("cb", topology, options, failed)
    network = crankback.network()
    for source, target in crankback.pairs:
        first = send(case_of("sdfast", topology, options, failed).network(), source, target)
        again = [send(network, source, target) for _ in range(3)]
        assert [(walk.path, walk.outcome) for walk in again] == 3 * [(first.path, first.outcome)]
    assert not any(network.rows.values())


def test_packets_of_the_papers_figure_2_backtrack_for_ever():
    topology = load_topology("figure2")
    case = case_of("cb", topology, PlanOptions(), [topology.parse_link("s4-s5")])
    network = case.network()
    paths = {send(network, 0, 4).path for _ in range(10)}
    assert len(paths) == 1
    path = paths.pop()
    assert len(set(path)) < len(path)
    assert path[-1] == "s5"


@pytest.mark.parametrize("planner", ["tree", "pair"])
def test_regular_packets_cross_the_state_table_the_route_table_and_a_group_and_nothing_is_learned(planner):
    topology = load_topology("figure2")
    for plan in find_scheme("cb").plan(topology, PlanOptions(planner=planner)).values():
        assert {row.table_id for row in plan.flows} <= {Table.CLASSIFY, Table.ROUTE, Table.EXTEND}
        assert not any(isinstance(action, Learn) for row in plan.flows for action in row.apply_actions)
        assert plan.groups
        assert plan.backups == plan.extensions == ()


def test_cbc_has_the_rows_of_cb_under_its_own_name_whatever_the_mode():
    topology = load_topology("figure2")
    names = [{"cb": schemes.CB, "cbc": schemes.CBC}[name] for name in ("cb", "cbc")]
    both = [
        find_scheme(name).plan(topology, PlanOptions(mode=mode)) for name, mode in (("cb", "learned"), ("cbc", "agent"))
    ]
    for dpid, plan in both[0].items():
        other = both[1][dpid]
        assert [row.key for row in plan.flows] == [row.key for row in other.flows]
        assert [row.apply_actions for row in plan.flows] == [row.apply_actions for row in other.flows]
        assert [{split_cookie(row.cookie).scheme for row in one.flows} for one in (plan, other)] == [{n} for n in names]
