"""The app's own rows: they stand beside a plan, and a host with a foreign MAC address is delivered to."""

from __future__ import annotations

import pytest

from mininet_topos.catalogue import load_topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.check import violations
from ryu_apps.plan.edge_rows import foreign_rows, punt_rows, rewritten_mac, with_edge_rows
from ryu_apps.plan.ids import Kind, Owner, Priority, split_cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import Output, SetField
from ryu_apps.schemes import plan_network

SQUARE = load_topology("square")
MAC = 0x0A1122334455
CASES = [("sdfast", "learned"), ("sdfast", "agent"), ("ffg", "learned"), ("shortest", "learned")]


@pytest.fixture(params=CASES, ids="-".join)
def plan(request):
    scheme, mode = request.param
    return plan_network(scheme, SQUARE, PlanOptions(mode=mode))[2]


def test_edge_rows_fit_every_plan(plan):
    """Rows of the kind FOREIGN are not planned rows, which the plan check refuses by their cookie."""
    assert violations(with_edge_rows(plan)) == ()
    joined = with_edge_rows(plan, {plan.local_ipv4[0]: MAC})
    assert all("cookie" in fault for fault in violations(joined))


def test_every_row_that_delivers_gets_a_companion_that_rewrites_the_mac_and_outranks_it(plan):
    (local,) = plan.local_ipv4
    made = foreign_rows(plan, {local: MAC})
    delivering = {
        row.key: row for row in plan.flows if Output(1) in row.apply_actions and ("ipv4_dst", local, None) in row.match
    }
    assert made
    assert len(made) == len(delivering)
    for row in made:
        original = delivering[row.table_id, Priority.DELIVER, row.match]
        assert Priority.DELIVER < row.priority < Priority.DELIVER_SEEN
        assert rewritten_mac(row) == MAC
        at = row.apply_actions.index(SetField("eth_dst", MAC))
        assert row.apply_actions[at + 1] == Output(1)
        assert row.apply_actions[:at] + row.apply_actions[at + 1 :] == original.apply_actions
        parts = split_cookie(row.cookie)
        assert (parts.scheme, parts.kind, parts.destination) == (Owner.EDGE, Kind.FOREIGN, local)


def test_hosts_elsewhere_are_ignored(plan):
    elsewhere = hosts_of(SQUARE)["s1"].ipv4
    assert foreign_rows(plan, {elsewhere: MAC}) == ()


@pytest.mark.parametrize(("edge", "discovery", "count"), [(True, True, 2), (True, False, 1), (False, False, 0)])
def test_frames_are_punted_as_asked(edge, discovery, count):
    assert len(punt_rows(edge, discovery)) == count


def test_a_row_that_rewrites_nothing_names_no_mac(plan):
    assert {rewritten_mac(row) for row in plan.flows} == {None}
