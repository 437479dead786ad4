"""TLS between real switches and the apps: plans are installed, and switches that are not let in are named."""

from __future__ import annotations

import socket

import pytest

from experiments.loadgen.ports import free_port
from machine.authority import files_of, make_certificates
from mininet_topos.catalogue import load_topology
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.backup_database.store import BackupStore
from ryu_apps.control.priority.decide.switch_table import PMT_KEY
from tests.control.priority.test_on_ovs import add_class_connections
from tests.control.running import DummyNetwork, RunningApp
from tests.dummy_ovs import DummyOvs
from tests.openflow.openflow_client import OpenFlowClient
from tests.ovsdb_backup.server import ovsdb_server
from tests.patience import patient_s, wait_until

pytestmark = [pytest.mark.ryu, pytest.mark.ovs, pytest.mark.slow]
SQUARE = load_topology("square")


@pytest.fixture
def folder(tmp_path):
    """Certificates of the controller and of the switches' daemon."""
    make_certificates(tmp_path / "tls", ("controller", "switches"), days=1)
    return tmp_path / "tls"


def tls_arguments(folder):
    files = files_of(folder, "controller")
    return ("--ctl-privkey", files.private_key, "--ctl-cert", files.certificate, "--ca-certs", files.ca_certificate)


def use_tls(ovs, folder, name="switches"):
    files = files_of(folder, name)
    ovs.vsctl("set-ssl", files.private_key, files.certificate, files.ca_certificate)


def test_all_switches_of_a_network_get_their_plans_over_tls(tmp_path, folder):
    with (
        DummyOvs() as ovs,
        RunningApp("sdfast", "square", tmp_path, tls_arguments(folder)) as app,
    ):
        network = DummyNetwork(ovs, SQUARE)
        use_tls(ovs, folder)
        network.connect(app.target)
        app.wait_ready()
        assert network.differing(app) == []
        with socket.create_connection(("127.0.0.1", app.openflow_port), timeout=patient_s(20)) as plain:
            plain.sendall(bytes.fromhex("0400000800000001"))
        wait_until(lambda: "does not speak TLS; write ssl:" in app.log, "who speaks in clear is named")
        assert app.get("/armor/state")["ready"]


def test_a_switch_of_another_authority_gets_no_plan_and_is_named(tmp_path, folder):
    make_certificates(tmp_path / "other", ("switches",), days=1)
    with (
        DummyOvs() as ovs,
        RunningApp("sdfast", "square", tmp_path, tls_arguments(folder)) as app,
    ):
        network = DummyNetwork(ovs, SQUARE)
        use_tls(ovs, tmp_path / "other")
        network.connect(app.target)
        wait_until(lambda: "has not got in" in app.log, "the switches are named")
        assert app.events("connect") == []
        assert all(not flows and not groups for flows, groups in map(network.held, SQUARE.node_names))


def test_per_class_connections_use_tls_too(tmp_path, folder):
    settings = {"PSO_PMT": "examples/pmt/out_of_band.yaml", "PSO_METRICS_PORT": "0"}
    with (
        DummyOvs() as ovs,
        RunningApp("sdfast", "square", tmp_path, (*tls_arguments(folder), "ryu_apps/pso.py"), **settings) as app,
    ):
        network = DummyNetwork(ovs, SQUARE)
        use_tls(ovs, folder)
        network.connect(app.target)
        app.wait_ready()
        add_class_connections(ovs, "s1", app.openflow_port, "ssl")
        wait_until(
            lambda: set(ovs.vsctl("--bare", "--columns=is_connected", "list", "controller").split()) == {"true"},
            "all connections are up",
        )
        wait_until(lambda: app.get("/armor/state")["ready"], "every switch is ready again", 60)
        with OpenFlowClient(ovs.management("s1")) as client:
            assert len(client.flows()) > 1


def test_backup_databases_are_filled_over_tls(tmp_path, folder):
    with DummyOvs() as ovs, ovsdb_server({DATABASE: SCHEMA_PATH}) as database:
        remote = database.restart_with_tls(files_of(folder, "switches"))
        with RunningApp("sdfast", "square", tmp_path, tls_arguments(folder), mode="agent", backup_db=remote) as app:
            network = DummyNetwork(ovs, SQUARE)
            use_tls(ovs, folder)
            network.connect(app.target)
            assert set(app.wait_ready()["backup_generations"]) == set(SQUARE.node_names)
            assert all(BackupStore(database.remote).read_plan(node) for node in SQUARE.node_names)


def test_pso_gives_switches_their_table_and_connections_over_tls(tmp_path, folder):
    port = free_port()
    settings = {
        "PSO_PMT": "examples/pmt/out_of_band.yaml",
        "PSO_METRICS_PORT": "0",
        "PSO_SWITCH_DB": f"ssl:{{control_ip}}:{port}",
    }
    with (
        DummyOvs() as ovs,
        RunningApp("sdfast", "square", tmp_path, (*tls_arguments(folder), "ryu_apps/pso.py"), **settings) as app,
    ):
        network = DummyNetwork(ovs, SQUARE)
        use_tls(ovs, folder)
        ovs.vsctl("set-manager", f"pssl:{port}:127.0.0.1")
        network.connect(app.target)

        def connected() -> list[str]:
            return ovs.vsctl("--bare", "--columns=is_connected", "list", "controller").split()

        wait_until(lambda: connected() == 5 * len(SQUARE.node_names) * ["true"], "all class connections are up", 60)
        for node in SQUARE.node_names:
            assert PMT_KEY in ovs.vsctl("get", "bridge", node, "external_ids")
        wait_until(lambda: app.get("/armor/state")["ready"], "every switch is ready", 60)


def test_only_some_files_of_tls_are_refused_before_anything_listens(folder):
    from tests.control.test_starting import ends_with

    arguments = tls_arguments(folder)
    assert "go together" in ends_with({"ARMOR_TOPOLOGY": "square"}, *arguments[:4])
    wrong = (*arguments[:2], "--ctl-cert", files_of(folder, "switches").certificate, *arguments[4:])
    assert "are no pair" in ends_with({"ARMOR_TOPOLOGY": "square"}, *wrong)
