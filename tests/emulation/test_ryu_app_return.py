"""Failure and return in a real network, with traffic on the failed link all the time, in both modes of SD-FAST."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.emulation import Cuts, EmulatedNetwork, EmulationOptions
from ovsdb_backup.schema import DATABASE, SCHEMA_PATH
from tests.dummy_ovs import wait_until

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]
pytest.importorskip("ovs")

FIGURE2 = load_topology("figure2")
LINK = FIGURE2.parse_link("s4-s5")
READ = "import json, urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/armor/state').read().decode())"


def agent(site):
    sockets = ["--database", f"unix:{site.db_socket}", "--management", f"unix:{site.mgmt_socket}"]
    names = ["--bridge", site.name, "--node", site.name, "--wait-to-restore-s", "1"]
    return [sys.executable, "-m", "ovsdb_backup.agent", *names, *sockets]


@pytest.fixture(params=["learned", "agent"])
def network(request):
    settings = {"TOPOLOGY": "figure2", "MODE": request.param, "WAIT_TO_RESTORE_S": "1"}
    extras = {}
    if request.param == "agent":
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
        wait_until(lambda: state(running).get("ready"), "every switch is ready", 60)
        yield running, Path(folder) / "events.jsonl"


def state(network):
    """What the controller says of itself; nothing while it does not answer."""
    said = network.run("controller", [sys.executable, "-c", READ])
    return json.loads(said.stdout) if said.returncode == 0 else {}


def recovery_rows(network):
    """How many rows each switch holds about failures."""
    return {
        node: sum(line.strip().startswith(RECOVERY) for line in network.dump_flows(node).splitlines())
        for node in FIGURE2.node_names
    }


RECOVERY = ("cookie=0x201", "cookie=0x202")  # scheme SD-FAST, kinds learned and agent (ids.py)


def returns_since(stamp, path):
    """Returns of the controller after a repair. (There are some before: BFD starts with every link down.)"""
    events = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        one
        for one in events
        if one["event"] == "return_done" and one["t_monotonic_s"] > stamp.after_s and "links" in one
    ]


def test_the_network_returns_in_a_few_rounds_under_traffic_and_forgets_the_failure(network):
    running, events = network
    target = running.hosts["s5"].address
    ping = running.popen("h1", ["ping", "-q", "-i", "0.005", target], stdout=subprocess.PIPE, text=True)
    with Cuts(running) as cuts:
        cuts.silent(LINK)
        wait_until(lambda: state(running)["failed_links"] == ["s4-s5"], "the failure is known")
        wait_until(lambda: any(recovery_rows(running).values()), "a switch has changed its rows")
        assert running.ping("h2", "h5", count=5, interval_s=0.05) == 5
        restored = cuts.restore(LINK)
        wait_until(lambda: returns_since(restored, events), "the controller has returned to the link", 60)
    assert not any(recovery_rows(running).values())
    assert running.ping("h1", "h5", count=5, interval_s=0.05) == 5
    assert not any(recovery_rows(running).values())
    (done,) = returns_since(restored, events)
    assert 1 <= done["rounds"] <= 3
    assert state(running)["errors"] == 0
    ping.terminate()
    ping.wait()
