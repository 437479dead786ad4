"""Agent mode as the controller sees it: the backup database is filled, and agents' rows go when their link is back."""

from __future__ import annotations

import signal

import pytest

from machine.json_rpc import connected
from mininet_topos.catalogue import load_topology
from mininet_topos.ports import assign_ports
from ryu_apps.backup_database.decide.tables import PLAN_TABLES
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.backup_database.store import BackupStore
from ryu_apps.control.decide.returning import tag_ids_of_links
from ryu_apps.openflow import encode
from ryu_apps.plan.edge_rows import with_edge_rows
from ryu_apps.plan.ids import Kind, split_cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import rows_on_punt
from ryu_apps.schemes import plan_network
from tests.control.running import DummyNetwork, RunningApp
from tests.dummy_ovs import DummyOvs
from tests.openflow.openflow_client import OpenFlowClient
from tests.ovsdb_backup.server import ovsdb_server
from tests.patience import wait_until

pytestmark = [pytest.mark.ovs, pytest.mark.ryu]
pytest.importorskip("ovs")

FIGURE2 = load_topology("figure2")
PLANS = {plan.node: plan for plan in plan_network("sdfast", FIGURE2, PlanOptions(mode="agent")).values()}
LINK = FIGURE2.parse_link("s4-s5")


@pytest.fixture
def network():
    with DummyOvs() as ovs:
        yield DummyNetwork(ovs, FIGURE2)


@pytest.fixture
def database():
    with ovsdb_server({DATABASE: SCHEMA_PATH}) as server:
        yield server


def links_at(node):
    direction_at = assign_ports(FIGURE2).direction_at
    return {port_no: FIGURE2.link_id(direction) for (name, port_no), direction in direction_at.items() if name == node}


def agent_rows(network, node):
    return {row for row in network.held(node)[0] if split_cookie(row.cookie).kind == Kind.AGENT}


def act_as_agent(network, node, link=LINK):
    """Install the rows that an agent keeps about a failed link."""
    plan = PLANS[node]
    tag_ids = tag_ids_of_links(plan.tag_space, FIGURE2, [link])
    rows = {row.key: row for one in plan.backups if one.tag_id in tag_ids for row in rows_on_punt(one)}
    with OpenFlowClient(network.ovs.management(node)) as client:
        client.send(b"".join(map(encode.flow_add, rows.values())))
        assert client.barrier() == []
    return set(rows.values())


def test_every_switch_has_its_whole_plan_in_the_backup_database(network, database, tmp_path):
    with RunningApp("sdfast", "figure2", tmp_path, mode="agent", backup_db=database.remote) as app:
        network.connect(app.target)
        state = app.wait_ready()
        assert set(state["backup_generations"]) == set(FIGURE2.node_names)
        for node, plan in PLANS.items():
            stored = BackupStore(database.remote).read_plan(node)
            assert stored.plan == with_edge_rows(plan)
            assert stored.ports == {port_no: str(link) for port_no, link in links_at(node).items()}


def test_a_backup_database_that_is_away_is_named_and_filled_once_it_is_there(network, database, tmp_path):
    database.kill_hard()
    with RunningApp("sdfast", "figure2", tmp_path, mode="agent", backup_db=database.remote) as app:
        network.connect(app.target)
        state = wait_until(
            lambda: len((state := app.get("/armor/state"))["backups_unacknowledged"]) == 8 and state,
            "all writes have failed",
        )
        assert not state["ready"]
        assert state["errors"] >= 8
        assert state["switches_installed"] == 8
        assert {one["what"] for one in state["recent_errors"]} == {"backup database"}
        database.start()
        assert app.wait_ready()["backups_unacknowledged"] == []


def test_a_backup_database_that_does_not_answer_holds_up_nothing_else(network, database, tmp_path):
    database.send_signal(signal.SIGSTOP)
    with RunningApp("sdfast", "figure2", tmp_path, mode="agent", backup_db=database.remote) as app:
        network.connect(app.target)
        wait_until(lambda: app.get("/armor/state")["switches_installed"] == 8, "all switches are installed", 8)
        assert app.get("/armor/state")["backup_generations"] == {}
        database.send_signal(signal.SIGCONT)
        assert len(app.wait_ready()["backup_generations"]) == 8


def test_a_backup_database_that_was_emptied_is_filled_again(network, database, tmp_path):
    with RunningApp("sdfast", "figure2", tmp_path, mode="agent", backup_db=database.remote) as app:
        network.connect(app.target)
        app.wait_ready()
        with connected(database.remote, 5.0) as client:
            everything = [{"op": "delete", "table": name, "where": []} for name in ("Bridge", *PLAN_TABLES)]
            client.call("transact", [DATABASE, *everything])
        assert BackupStore(database.remote).read_plan("s1") is None
        for node, plan in PLANS.items():
            stored = wait_until(
                lambda node=node: BackupStore(database.remote).read_plan(node), "it is filled again", 30
            )
            assert stored.plan == with_edge_rows(plan)
        assert {one["what"] for one in app.get("/armor/state")["recent_errors"]} == {"backup database"}


def test_rows_of_agents_go_when_their_link_has_been_up_again_for_long_enough(network, tmp_path):
    with RunningApp("sdfast", "figure2", tmp_path, mode="agent") as app:
        network.connect(app.target)
        app.wait_ready()
        for link in ("s2-s3", "s4-s5"):  # both: the controller returns to links that are up when it finds such rows
            network.set_link(link, up=False)
        about_another_link = act_as_agent(network, "s7", FIGURE2.parse_link("s2-s3"))
        for node in ("s3", "s4"):
            assert act_as_agent(network, node) == agent_rows(network, node)
        wait_until(lambda: app.get("/armor/state")["failed_links"] == ["s2-s3", "s4-s5"], "the failures are known")
        network.set_link("s4-s5", up=True)
        app.wait_event("return_done")
        assert agent_rows(network, "s3") == agent_rows(network, "s4") == set()
        assert agent_rows(network, "s7") == about_another_link != set()
        assert network.differing(app) == ["s7"]


def test_a_new_controller_leaves_agents_rows_while_their_link_is_down(network, tmp_path):
    with RunningApp("sdfast", "figure2", tmp_path, mode="agent") as app:
        network.connect(app.target)
        app.wait_ready()
        app.kill()
        network.set_link("s4-s5", up=False)
        rows = act_as_agent(network, "s4")
        app.start()
        state = app.wait_ready()
        assert agent_rows(network, "s4") == rows
        assert state["switches"]["s4"]["recovery_rows"] == len(rows)
        network.set_link("s4-s5", up=True)
        app.wait_event("return_done")
        assert network.differing(app) == []
