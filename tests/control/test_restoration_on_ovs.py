"""Controllers that rewrite routes, against Open vSwitch in dummy mode: what switches hold is the pure plan."""

from __future__ import annotations

import pytest

from mininet_topos.catalogue import load_topology
from ryu_apps.plan.edge_rows import with_edge_rows
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.restoration import replanned
from ryu_apps.schemes import find_scheme, route_schemes
from tests.control.running import DummyNetwork, RunningApp
from tests.control.test_app_on_ovs import delivers
from tests.dummy_ovs import DummyOvs
from tests.patience import wait_until

pytestmark = [pytest.mark.ovs, pytest.mark.ryu]

FIGURE2 = load_topology("figure2")
RESTORING = [name for name, scheme in route_schemes().items() if scheme.restoration is not None]


@pytest.fixture
def network():
    with DummyOvs() as ovs:
        yield DummyNetwork(ovs, FIGURE2)


def restored_rows(scheme, links, planner="tree"):
    """Rows that lead around failed links, by switch."""
    failed = frozenset(FIGURE2.parse_link(link) for link in links)
    return find_scheme(scheme).restoration(FIGURE2, PlanOptions(planner=planner)).rows(failed)


def expected(scheme, links, planner="tree"):
    """Rows of every switch while these links are failed."""
    plans = replanned(
        find_scheme(scheme).plan(FIGURE2, PlanOptions(planner=planner)), restored_rows(scheme, links, planner)
    )
    return {plan.node: (set(with_edge_rows(plan).flows), set(plan.groups)) for plan in plans.values()}


def held(network):
    """Rows of every switch."""
    return {node: network.held(node) for node in FIGURE2.node_names}


def wait_held(network, scheme, links, planner="tree"):
    """Wait until the switches hold what the pure plan says."""
    wanted = expected(scheme, links, planner)
    wait_until(lambda: held(network) == wanted, f"the routes avoid {links}")


@pytest.mark.parametrize(
    ("scheme", "planner"), [*((name, "tree") for name in RESTORING), ("cbc", "pair")], ids=lambda one: one
)
def test_routes_lead_around_a_failure_and_back_when_the_link_has_stayed_up(network, tmp_path, scheme, planner):
    with RunningApp(scheme, "figure2", tmp_path, planner=planner) as app:
        network.connect(app.target)
        app.wait_ready()
        assert held(network) == expected(scheme, [], planner)
        network.set_link("s4-s5", up=False)
        wait_held(network, scheme, ["s4-s5"], planner)
        assert network.differing(app) == []
        assert delivers(network, "s1", "s5")
        network.set_link("s4-s5", up=True)
        assert app.wait_event("return_done")["links"] == ["s4-s5"]
        wait_held(network, scheme, [], planner)
        assert network.differing(app) == []
        assert delivers(network, "s1", "s5")
        around, back = app.wait_event("restoration_done", 2), app.events("restoration_done")
        assert [one["links"] for one in back] == [["s4-s5"], []]
        assert all(one["rows"] == around["rows"] > 0 and one["switches"] > 0 and one["seconds"] > 0 for one in back)
        # Only switches with changed routes are written to.
        rows = restored_rows(scheme, ["s4-s5"], planner)
        assert (back[0]["switches"], back[0]["rows"]) == (len(rows), sum(map(len, rows.values())))
        assert back[0]["switches"] < len(FIGURE2.nodes)
        assert [one["links"] for one in app.events("restoration_begin")] == [["s4-s5"], []]
        assert app.get("/armor/state")["errors"] == 0


def test_failures_add_up_and_links_return_one_by_one(network, tmp_path):
    with RunningApp("cbc", "figure2", tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        network.set_link("s4-s5", up=False)
        network.set_link("s1-s2", up=False)
        wait_held(network, "cbc", ["s4-s5", "s1-s2"])
        network.set_link("s4-s5", up=True)
        wait_held(network, "cbc", ["s1-s2"])
        network.set_link("s1-s2", up=True)
        wait_held(network, "cbc", [])
        assert app.get("/armor/state")["errors"] == 0


def test_a_switch_that_connects_during_a_failure_gets_its_plan_with_the_restored_routes(network, tmp_path):
    with RunningApp("cbc", "figure2", tmp_path, wait_to_restore_s="1000") as app:
        network.connect(app.target)
        app.wait_ready()
        network.set_link("s4-s5", up=False)
        wait_held(network, "cbc", ["s4-s5"])
        network.ovs.ofctl("del-flows", "s3")
        network.ovs.run("ovs-vsctl", "del-controller", "s3")
        wait_until(lambda: app.get("/armor/state")["switches_installed"] == 7, "s3 is gone")
        in_absence = app.wanted(3)
        network.ovs.set_controller(app.target, "s3")
        app.wait_ready()
        wait_held(network, "cbc", ["s4-s5"])
        assert in_absence == app.wanted(3) == expected("cbc", ["s4-s5"])["s3"]


def test_a_new_controller_keeps_the_routes_around_a_failure_and_leads_back(network, tmp_path):
    with RunningApp("restoration", "figure2", tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        network.set_link("s4-s5", up=False)
        wait_held(network, "restoration", ["s4-s5"])
        app.kill()
        app.start()
        app.wait_ready()
        wait_held(network, "restoration", ["s4-s5"])
        network.set_link("s4-s5", up=True)
        wait_held(network, "restoration", [])
