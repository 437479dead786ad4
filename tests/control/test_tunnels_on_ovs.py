"""Controllers of tunnels against Open vSwitch in dummy mode: what switches hold is the pure plan, at every step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mininet_topos.catalogue import load_topology
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.backup_database.store import BackupStore
from ryu_apps.control.decide.traffic import TrafficSettings, question_of, with_failures
from ryu_apps.control.engineer import answer
from ryu_apps.plan.decompose.count import count_fields
from ryu_apps.plan.edge_rows import with_edge_rows
from ryu_apps.plan.ids import SPARE_TABLES, Owner, Table, split_cookie
from ryu_apps.plan.kuijia.installed import installed_plan, installed_plans
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import Held, TunnelPlanner
from ryu_apps.plan.rows import FlowRow, GroupRow
from ryu_apps.schemes import find_tunnel_scheme
from tests.control.running import ANSWER_S, DummyNetwork, RunningApp
from tests.control.test_app_on_ovs import delivers
from tests.dummy_ovs import DummyOvs
from tests.ovsdb_backup.server import ovsdb_server
from tests.patience import wait_until

pytestmark = [pytest.mark.ovs, pytest.mark.ryu]

SQUARE = load_topology("square")
Rows = dict[str, tuple[set[FlowRow], set[GroupRow]]]
MORE = [{"src": "s1", "dst": "s3", "demand_mbps": 700}, {"src": "s2", "dst": "s4", "demand_mbps": 100}]


@pytest.fixture
def network() -> Iterator[DummyNetwork]:
    with DummyOvs() as ovs:
        yield DummyNetwork(ovs, SQUARE)


@pytest.fixture(scope="module")
def keeping(request, tmp_path_factory) -> Iterator[tuple[DummyNetwork, RunningApp, str]]:
    """A scheme and its network; tests leave every link up, and the tunnels as they are."""
    with DummyOvs() as ovs, running(request.param, tmp_path_factory.mktemp(request.param)) as app:
        network = DummyNetwork(ovs, SQUARE)
        network.connect(app.target)
        app.wait_ready()
        yield network, app, request.param


def planner(
    scheme: str, given: object = None, avoided: Sequence[str] = (), held: Held | None = None, field: str = "mpls"
) -> TunnelPlanner:
    """What the app should plan."""
    settings = TrafficSettings(default_capacity_mbps=1000.0)
    question = question_of("square", "hops", settings, find_tunnel_scheme(scheme).tunnels)
    text = "" if given is None else json.dumps(given)
    commodities = answer(with_failures(question, avoided, text)).commodities
    return TunnelPlanner(find_tunnel_scheme(scheme), SQUARE, commodities, TunnelOptions(tunnel_field=field), held)


def expected(plans: TunnelPlanner, *events: str, shape: str = "replicated") -> Rows:
    """Rows of every switch after links have failed, one after another."""
    history = [frozenset({SQUARE.parse_link(link)}) for link in events]
    held = installed_plans(plans.plans(tuple(history)), shape)
    return {plan.node: (set(with_edge_rows(plan).flows), set(plan.groups)) for plan in held.values()}


def wait_held(network: DummyNetwork, rows: Rows) -> None:
    wait_until(lambda: {node: network.held(node) for node in SQUARE.node_names} == rows, "the switches hold the plan")


def running(scheme: str, folder: Path, **settings: str) -> RunningApp:
    return RunningApp(scheme, "square", folder, default_capacity_mbps="1000", **settings)


def dumped_fields(network: DummyNetwork) -> int:
    """Match fields and actions of the rows that switches hold, those of the app's own business apart."""
    rows = (row for node in SQUARE.node_names for row in network.held(node)[0])
    return count_fields(row for row in rows if split_cookie(row.cookie).scheme != Owner.EDGE)


def counted_fields(plans: TunnelPlanner, shape: str) -> int:
    """The same as `armor plan --count` counts them, before any failure."""
    return sum(each.fields for plan in plans.plans().values() for each in installed_plan(plan, shape)[1])


def stored(remote: str) -> Rows:
    """What the backup databases hold."""
    found = {node: BackupStore(remote).read_plan(node) for node in SQUARE.node_names}
    return {node: (set(one.plan.flows), set(one.plan.groups)) for node, one in found.items() if one is not None}


def post(app: RunningApp, body: object = None) -> tuple[int, dict[str, object]]:
    """Ask for a run of traffic engineering."""
    content = b"" if body is None else json.dumps(body).encode()
    address, headers = f"http://127.0.0.1:{app.rest_port}/armor/te", {"Content-Type": "application/json"}
    request = urllib.request.Request(address, content, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_S) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives real-time priority")
def test_the_solver_does_not_inherit_the_real_time_priority_of_a_controller():
    child = (
        "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)); "
        "from ryu_apps.control.engineer_process import take_ordinary_turns; take_ordinary_turns(); "
        "print(os.sched_getscheduler(0) == os.SCHED_OTHER)"
    )
    assert subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout == "True\n"


@pytest.mark.parametrize(("shape", "field"), [("two-table", "mpls"), ("decomposed", "mpls"), ("decomposed", "dscp")])
def test_a_shape_is_installed_and_kept_through_failures_and_new_tunnels(network, tmp_path, shape, field):
    first = planner("kuijia", field=field)
    hashed = {row for rows, _ in expected(first, shape=shape).values() for row in rows if row.table_id == Table.TE_HASH}
    assert any(row.goto_table in SPARE_TABLES for row in hashed)
    with running("kuijia", tmp_path, shape=shape, tunnel_field=field) as app:
        network.connect(app.target)
        app.wait_ready()
        wait_held(network, expected(first, shape=shape))
        assert dumped_fields(network) == counted_fields(first, shape) < counted_fields(first, "replicated")
        network.set_link("s1-s2", up=False)
        wait_held(network, expected(first, "s1-s2", shape=shape))
        assert dumped_fields(network) > counted_fields(first, shape)
        assert delivers(network, "s1", "s2")
        network.set_link("s1-s2", up=True)
        wait_held(network, expected(first, shape=shape))
        assert post(app, MORE) == (202, {"run": 1})
        app.wait_event("te_done")
        wait_held(network, expected(planner("kuijia", MORE, held=first.held(), field=field), shape=shape))
        assert delivers(network, "s1", "s3")
        assert network.differing(app) == []
        assert app.get("/armor/state")["errors"] == 0


@pytest.mark.parametrize("scheme", ["precomputed", "ffc1"])
def test_schemes_that_solve_for_failures_install_what_they_solved(network, tmp_path, scheme):
    plans = planner(scheme, MORE)
    path = tmp_path / "demands.json"
    path.write_text(json.dumps(MORE), encoding="utf-8")
    with running(scheme, tmp_path, demands=str(path)) as app:
        network.connect(app.target)
        app.wait_ready()
        assert app.wait_event("te_solved")["solver"] == "cvxpy"
        wait_held(network, expected(plans))
        for link in ("s1-s2", "s2-s3"):
            network.set_link(link, up=False)
            wait_held(network, expected(plans, link))
            assert delivers(network, "s1", "s3")
            network.set_link(link, up=True)
            wait_held(network, expected(plans))
        network.set_link("s1-s2", up=False)
        wait_held(network, expected(plans, "s1-s2"))
        network.set_link("s3-s4", up=False)
        wait_held(network, expected(plans, "s1-s2", "s3-s4"))
        assert app.get("/armor/state")["errors"] == 0


@pytest.mark.parametrize("keeping", ["kuijia", "rescaling", "te"], indirect=True)
def test_rows_are_those_of_the_plan_after_failures_and_repairs(keeping):
    network, app, scheme = keeping
    plans = planner(scheme)
    wait_held(network, expected(plans))
    network.set_link("s1-s2", up=False)
    wait_held(network, expected(plans, "s1-s2"))
    assert scheme == "te" or delivers(network, "s1", "s2")
    network.set_link("s3-s4", up=False)
    wait_held(network, expected(plans, "s1-s2", "s3-s4"))
    # Under te no row changes, so that the rows do not say when the app has heard of the failures.
    wait_until(lambda: app.get("/armor/tunnels")["failures"] == [["s1-s2"], ["s3-s4"]], "both failures are known")
    assert network.differing(app) == []
    network.set_link("s1-s2", up=True)
    wait_held(network, expected(plans, "s3-s4"))
    network.set_link("s3-s4", up=True)
    wait_held(network, expected(plans))
    assert network.differing(app) == []
    assert app.get("/armor/state")["errors"] == 0


def test_rows_of_failures_outlast_the_controller_and_a_switch_that_connects_gets_them_over_its_plan(network, tmp_path):
    plans = planner("kuijia")
    with running("kuijia", tmp_path, wait_to_restore_s="1000") as app:
        network.connect(app.target)
        app.wait_ready()
        network.set_link("s1-s2", up=False)
        wait_held(network, expected(plans, "s1-s2"))
        app.kill()
        app.start()
        app.wait_ready()
        wait_held(network, expected(plans, "s1-s2"))
        network.ovs.ofctl("del-flows", "s4")
        network.ovs.vsctl("del-controller", "s4")
        wait_until(lambda: app.get("/armor/state")["switches_installed"] == 3, "s4 is gone")
        network.set_link("s2-s3", up=False)
        wait_until(lambda: len(app.get("/armor/tunnels")["failures"]) == 2, "the second failure is heard")
        network.ovs.set_controller(app.target, "s4")
        app.wait_ready()
        wait_held(network, expected(plans, "s1-s2", "s2-s3"))
        assert network.differing(app) == []


def test_traffic_engineering_replaces_the_tunnels_and_failures_are_answered_by_the_new_ones(network, tmp_path):
    first = planner("kuijia")
    second = planner("kuijia", MORE, held=first.held())
    with running("kuijia", tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        assert post(app, MORE) == (202, {"run": 1})
        done = app.wait_event("te_done")
        wait_held(network, expected(second))
        assert network.differing(app) == []
        assert (done["run"], done["switches"]) == (1, 4)
        assert 0 <= done["slots_moved"] < done["slots"]
        network.set_link("s1-s2", up=False)
        wait_held(network, expected(second, "s1-s2"))
        assert post(app) == (202, {"run": 2})
        app.wait_event("te_done", 2)
        history = (frozenset({SQUARE.parse_link("s1-s2")}),)
        third = planner("kuijia", MORE, ["s1-s2"], held=second.held(history))
        wait_held(network, expected(third, "s1-s2"))
        network.set_link("s1-s2", up=True)
        wait_held(network, expected(third))
        assert app.get("/armor/state")["errors"] == 0


@pytest.mark.parametrize("is_away", [False, True])
def test_backup_databases_get_the_tunnels_of_a_new_run_also_once_they_are_back(network, tmp_path, is_away):
    first = planner("kuijia")
    with (
        ovsdb_server({DATABASE: SCHEMA_PATH}) as database,
        running("kuijia", tmp_path, backup_db=database.remote) as app,
    ):
        network.connect(app.target)
        app.wait_ready()
        assert stored(database.remote) == expected(first)
        if is_away:
            database.kill_hard()
        post(app, MORE)
        app.wait_event("te_done")
        if is_away:
            database.start()
        second = expected(planner("kuijia", MORE, held=first.held()))
        wait_until(lambda: stored(database.remote) == second, "the databases hold the new tunnels")
        assert app.wait_ready()["backups_unacknowledged"] == []


@pytest.mark.parametrize("keeping", ["rescaling"], indirect=True)
def test_the_same_decision_again_moves_no_slot_and_writes_no_row(keeping):
    _, app, _ = keeping
    post(app)
    done = app.wait_event("te_done")
    assert (done["slots_moved"], done["rows"], done["switches"]) == (0, 0, 0)


def test_a_switch_that_is_away_is_named_and_the_rest_waits_for_it(network, tmp_path):
    first = planner("kuijia")
    second = planner("kuijia", MORE, held=first.held())
    with running("kuijia", tmp_path) as app:
        network.connect(app.target)
        app.wait_ready()
        network.ovs.vsctl("del-controller", "s4")
        wait_until(lambda: app.get("/armor/state")["switches_installed"] == 3, "s4 is gone")
        post(app, MORE)
        waiting = app.wait_event("te_waiting")
        assert (waiting["nodes"], waiting["step"]) == (["s4"], 1)
        assert app.get("/armor/tunnels")["traffic_engineering"]["waiting_for"] == ["s4"]
        status, value = post(app)
        assert status == 409
        assert "s4" in value["error"]
        network.ovs.set_controller(app.target, "s4")
        app.wait_event("te_done")
        wait_held(network, expected(second))


def test_failures_are_answered_while_a_run_waits_and_a_switch_without_links_is_not_waited_for(network, tmp_path):
    first = planner("kuijia")
    with running("kuijia", tmp_path, wait_to_restore_s="1000") as app:
        network.connect(app.target)
        app.wait_ready()
        network.ovs.vsctl("del-controller", "s4")
        wait_until(lambda: app.get("/armor/state")["switches_installed"] == 3, "s4 is gone")
        post(app, MORE)
        app.wait_event("te_waiting")
        for count, link in enumerate(("s1-s4", "s3-s4"), 1):  # in this order, on which rows depend
            network.set_link(link, up=False)
            wait_until(lambda count=count: len(app.get("/armor/tunnels")["failures"]) == count, f"{link} is heard")
        app.wait_event("te_done")
        second = planner("kuijia", MORE, held=first.held())
        history = expected(second, "s1-s4", "s3-s4")
        wait_until(
            lambda: all(network.held(node) == history[node] for node in ("s1", "s2", "s3")), "the others hold the plan"
        )
        network.ovs.set_controller(app.target, "s4")
        app.wait_ready()
        wait_held(network, history)


@pytest.mark.parametrize("keeping", ["kuijia"], indirect=True)
def test_demands_that_cannot_be_used_are_refused_and_the_plan_stays(keeping):
    network, app, scheme = keeping
    status, value = post(app, [{"src": "s1", "dst": "s9", "demand_mbps": 5}])
    assert status == 400
    assert "s9" in value["error"]
    wait_held(network, expected(planner(scheme)))
    assert app.events("te_begin") == []


def test_a_demand_file_is_read_again_at_every_interval(network, tmp_path):
    path = tmp_path / "demands.json"
    path.write_text(json.dumps(MORE[:1]), encoding="utf-8")
    with running("kuijia", tmp_path, demands=str(path), te_interval_s="1") as app:
        network.connect(app.target)
        app.wait_ready()
        path.write_text(json.dumps(MORE), encoding="utf-8")
        second = planner("kuijia", MORE, held=planner("kuijia", MORE[:1]).held())
        wait_held(network, expected(second))
        path.write_text("[{]", encoding="utf-8")
        assert str(path) in app.wait_event("error")["text"]
        app.wait_event("te_failed")
        wait_held(network, expected(second))
        assert app.get("/armor/tunnels")["commodities"]
