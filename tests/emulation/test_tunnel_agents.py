"""Agents alone answer the failure of a tunnel in a real network: no controller, no database."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest

from emulation.decide.options import EmulationOptions
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.testbed.instruments.dump import read_switch
from machine.places import run_program
from ryu_apps.plan.ids import Kind, split_cookie
from ryu_apps.plan.kuijia.agent_configuration import configuration_of
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.row_text import flow_text
from ryu_apps.schemes import tunnel_schemes
from tests.patience import wait_until
from tests.plan.kuijia.networks import figure1, figure1_traffic

pytestmark = pytest.mark.emulation
pytest.importorskip("ovs")

FIGURE1 = figure1()
LINK = FIGURE1.parse_link("s2-s4")


@pytest.fixture
def network():
    planner = TunnelPlanner(
        tunnel_schemes()["kuijia"], FIGURE1, [figure1_traffic()], TunnelOptions(notified_by="agent")
    )
    with tempfile.TemporaryDirectory(prefix="armor-", dir="/tmp") as name:
        folder = Path(name)
        for node in FIGURE1.node_names:
            (folder / f"{node}.json").write_text(
                json.dumps(configuration_of(planner, node).to_json()), encoding="utf-8"
            )

        def agent(site):
            configuration, socket = folder / f"{site.name}.json", f"unix:{site.mgmt_socket}"
            words = ["--configuration", str(configuration), "--management", socket, "--wait-to-restore-s", "0.2"]
            return [sys.executable, "-m", "ovsdb_backup.tunnel_agent", *words]

        options = EmulationOptions(bfd_interval_ms=100, shape=False)
        with EmulatedNetwork(FIGURE1, options, run_dir=folder / "run", agent_command=agent) as running:
            for plan in planner.plans().values():
                give(running, plan)
            running.wait_bfd_up(60)
            wait_until(lambda: not agent_failover_rows(running), "no agent believes in a failed tunnel", 60)
            yield running


def give(network, plan):
    """Install a plan as a person would, without a controller."""
    where = f"unix:{network.sites[plan.node].mgmt_socket}"
    rows = "".join(f"{flow_text(row)}\n" for row in plan.flows)
    run_program(["ovs-ofctl", "-O", "OpenFlow13", "--bundle", "add-flows", where, "-"], stdin=rows)


def agent_failover_rows(network):
    """Switches with rows about failed tunnels."""
    held = {node: read_switch(site.mgmt_socket).flows for node, site in network.sites.items()}
    return {node for node, rows in held.items() if any(split_cookie(row.cookie).kind == Kind.AGENT for row in rows)}


def test_the_far_end_of_a_failed_tunnel_is_notified_and_returns_after_the_repair(network):
    """s1 is not at the link s2-s4: it can only know of it by an LDI."""
    assert network.ping("h1", "h4") == 3
    with FailureInjection(network) as injection:
        injection.silent(LINK)
        wait_until(lambda: agent_failover_rows(network) == {"s1", "s4"}, "both ends repartition their slots", 60)
        assert network.ping("h1", "h4", count=10) == 10
        network.kill("agent", "s1")
        wait_until(
            lambda: agent_failover_rows(network) == {"s1", "s4"} and network.is_running("agent", "s1"),
            "a new agent takes over",
            60,
        )
    wait_until(lambda: not agent_failover_rows(network), "the tunnel is used again", 60)
    assert network.ping("h1", "h4") == 3
