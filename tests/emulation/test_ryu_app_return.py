"""Failure and return in a real network, with traffic on the failed link all the time, in both modes of SD-FAST."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from emulation.decide.options import EmulationOptions
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.testbed.runs.parts import dump_reports
from mininet_topos.catalogue import load_topology
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.plan.choices import MODES, NOTIFICATIONS
from ryu_apps.plan.notification import is_for_notifications
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import plan_network
from tests.patience import wait_until
from tests.undisturbed import without_flaps

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]
pytest.importorskip("ovs")

FIGURE2 = load_topology("figure2")
LINK = FIGURE2.parse_link("s4-s5")
READ = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/armor/{}').read().decode())"


def agent(site):
    sockets = ["--database", f"unix:{site.db_socket}", "--management", f"unix:{site.mgmt_socket}"]
    names = ["--bridge", site.name, "--node", site.name, "--wait-to-restore-s", "1"]
    return [sys.executable, "-m", "ovsdb_backup.agent", *names, *sockets]


# Every mode and every notification once; tests/emulation/test_run.py has all combinations.
RUNS = tuple(zip(MODES, reversed(NOTIFICATIONS), strict=True))


@pytest.fixture(params=RUNS, ids="-".join)
def network(request):
    mode, notification = request.param
    settings = {"TOPOLOGY": "figure2", "MODE": mode, "NOTIFICATION": notification, "WAIT_TO_RESTORE_S": "1"}
    extras = {}
    if mode == "agent":
        settings["BACKUP_DB"] = "tcp:{control_ip}:6641"
        extras = {"databases": {DATABASE: SCHEMA_PATH}, "agent_command": agent}
    with (
        tempfile.TemporaryDirectory(prefix="armor-", dir="/tmp") as folder,
        EmulatedNetwork(
            FIGURE2,
            EmulationOptions(bfd_interval_ms=100),
            run_dir=Path(folder) / "run",
            events=Path(folder) / "events.jsonl",
            environment={f"ARMOR_{name}": value for name, value in settings.items()},
            controller_command=[sys.executable, "-m", "ryu.cmd.manager", "ryu_apps/sdfast.py"],
            **extras,
        ) as running,
    ):
        running.wait_bfd_up(60)
        wait_until(lambda: is_settled(state(running)), "every switch is ready, every link returned to", 60)
        plans = plan_network("sdfast", FIGURE2, PlanOptions(mode=mode, notification=notification))
        yield running, Path(folder) / "events.jsonl", plans


def state(network, resource="state"):
    """What the controller says of itself; nothing while it does not answer."""
    said = network.run("controller", [sys.executable, "-c", READ.format(resource)])
    return json.loads(said.stdout) if said.returncode == 0 else {}


def knows(network):
    """Source from which each switch knows of the failed link."""
    known = state(network, "knowledge").get("knowledge", ())
    return {one["node"]: one["source"] for one in known if one["link"] == str(LINK)}


def is_settled(said):
    """Whether nothing is failed and nothing is left to return to. (BFD starts with every link down.)"""
    return bool(said.get("ready")) and not said["failed_links"] and not said["returning_links"]


def recovery_rows(network):
    """How many rows each switch holds about failures."""
    return {
        node: sum(line.strip().startswith(RECOVERY) for line in network.dump_flows(node).splitlines())
        for node in FIGURE2.node_names
    }


RECOVERY = ("cookie=0x201", "cookie=0x202")  # scheme SD-FAST, kinds learned and agent (ids.py)


def logged(path):
    """Every event so far."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def failures_seen(path):
    """How often anybody has seen a port fail; a busy machine makes BFD flap, and that is a failure like any other."""
    return sum(one["event"] == "port_status" and not one["live"] for one in logged(path))


def assert_forgotten(network, path, answers_wanted):
    """Hold a network that has settled to its primary rows, for as long as no further failure is seen."""

    def is_forgotten():
        wait_until(lambda: is_settled(state(network)), "every link has been returned to", 120)
        before = failures_seen(path)
        if not is_settled(state(network)):
            return False
        rows, answers = recovery_rows(network), network.ping("h1", "h5", count=5, interval_s=0.05)
        rows_later = recovery_rows(network)
        if failures_seen(path) > before:
            return False  # whatever was seen may come of that failure: wait for its return, and look again
        if any(rows.values()) and network.is_running("agent", "s4"):
            return False  # an agent that hears late of the return puts its rows back, and has to remove them by itself
        assert not any(rows.values()), rows
        assert answers == answers_wanted
        assert not any(rows_later.values()), rows_later
        return True

    wait_until(is_forgotten, "a look at the network without a further failure", 180)


def test_the_network_returns_in_a_few_rounds_under_traffic_and_forgets_the_failure(network):
    running, events, plans = network
    target = running.hosts["s5"].address
    ping = running.popen("h1", ["ping", "-q", "-i", "0.005", target], stdout=subprocess.PIPE, text=True)
    with FailureInjection(running) as injection:
        injection.silent(LINK)
        wait_until(lambda: "s4-s5" in state(running)["failed_links"], "the failure is known", 60)
        wait_until(lambda: any(recovery_rows(running).values()), "a switch has changed its rows", 60)
        assert without_flaps(running, lambda: running.ping("h2", "h5", count=5, interval_s=0.05)) == 5
        if any(is_for_notifications(row) for row in plans[1].flows):
            wait_until(lambda: knows(running).keys() == set(FIGURE2.node_names), "every switch is known to know", 60)
            assert set(knows(running).values()) == {"port", "notification"}
        restored = injection.restore(LINK)
    assert_forgotten(running, events, answers_wanted=5)
    assert [report for report in dump_reports(running, plans, frozenset()) if not report.is_clean] == []
    done = [one for one in logged(events) if one["event"] == "return_done" and "links" in one]
    own = [one for one in done if "s4-s5" in one["links"] and one["t_monotonic_s"] > restored.after_s]
    assert any(one["rounds"] >= 1 for one in own)
    assert all(one["rounds"] <= 3 for one in own)
    assert state(running)["errors"] == 0
    assert knows(running) == {}
    ping.terminate()
    ping.wait()
