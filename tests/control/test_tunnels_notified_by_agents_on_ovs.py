"""A controller that leaves failed tunnels to the agents of the switches: it plans, configures them, and keeps out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mininet_topos.catalogue import load_topology
from ovsdb_backup.tunnel_agent import read_configuration
from ryu_apps.plan.edge_rows import with_edge_rows
from ryu_apps.plan.kuijia.agent_configuration import configuration_of
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.schemes import find_tunnel_scheme
from tests.control.running import DummyNetwork, RunningApp
from tests.control.test_app_on_ovs import delivers
from tests.dummy_ovs import DummyOvs
from tests.patience import wait_until

pytestmark = [pytest.mark.ovs, pytest.mark.ryu]
pytest.importorskip("ovs")

SQUARE = load_topology("square")
LINK = "s2-s3"


@pytest.fixture
def network() -> Iterator[DummyNetwork]:
    with DummyOvs() as ovs:
        yield DummyNetwork(ovs, SQUARE)


def planner(scheme: str) -> TunnelPlanner:
    """What the app should plan."""
    return TunnelPlanner(
        find_tunnel_scheme(scheme), SQUARE, equal_commodities(SQUARE), TunnelOptions(notified_by="agent")
    )


@contextmanager
def agents(network: DummyNetwork, agent_configurations: Path) -> Iterator[None]:
    """An agent for every switch, as a person would start them."""
    with ExitStack() as stack:
        for node in SQUARE.node_names:
            words = [
                "--configuration",
                str(agent_configurations / f"{node}.json"),
                "--management",
                network.ovs.management(node),
            ]
            argv = [sys.executable, "-m", "ovsdb_backup.tunnel_agent", *words, "--wait-to-restore-s", "0.2"]
            process = stack.enter_context(subprocess.Popen(argv))
            stack.callback(process.kill)
        yield


def wait_held(network: DummyNetwork, plans: TunnelPlanner, shape: str, *links: str) -> None:
    """Wait until every switch holds its plan, and the failover rows of its agent."""
    history = [frozenset({SQUARE.parse_link(link)}) for link in links]
    held = installed_plans(plans.plans(history), shape)
    wanted = {plan.node: set(with_edge_rows(plan).flows) for plan in held.values()}
    what = f"plans, and the agents' rows about {links}"
    wait_until(lambda: {node: network.held(node)[0] for node in SQUARE.node_names} == wanted, what, 60)


@pytest.mark.parametrize(("scheme", "shape"), [("kuijia", "decomposed"), ("rescaling_victims", "replicated")])
def test_agents_answer_by_the_agent_configurations_of_the_app_which_spares_their_rows(network, tmp_path, scheme, shape):
    plans, agent_configurations = planner(scheme), tmp_path / "agent_configurations"
    with RunningApp(
        scheme, "square", tmp_path, notified_by="agent", agent_configurations=str(agent_configurations), shape=shape
    ) as app:
        network.connect(app.target)
        app.wait_ready()
        assert {node: read_configuration(agent_configurations / f"{node}.json") for node in SQUARE.node_names} == {
            # What the base rows say is not in the file.
            node: replace(
                configuration_of(plans, node),
                ingress_entries=tuple(
                    replace(each, prefixes=(), takes_rest=False, rebased=each.base)
                    for each in plans.ingress_entries[node]
                ),
            )
            for node in SQUARE.node_names
        }
        with agents(network, agent_configurations):
            wait_held(network, plans, shape)
            network.set_link(LINK, up=False)
            wait_held(network, plans, shape, LINK)
            assert delivers(network, "s2", "s3")
            app.kill()
            app.start()
            app.wait_ready()
            wait_held(network, plans, shape, LINK)
            state = app.get("/armor/state")
            assert state["switches"]["s2"]["recovery_rows"] > 0
            wait_until(lambda: app.get("/armor/tunnels")["failures"] == [[LINK]], "the app knows of the failure", 30)
            network.set_link(LINK, up=True)
            wait_held(network, plans, shape)
            wait_until(lambda: app.get("/armor/tunnels")["failures"] == [], "the app knows of the repair", 30)
            assert app.get("/armor/tunnels")["traffic_engineering"] is None
            assert app.request_status("/armor/te", "POST") == 400
            assert app.events("restoration_begin") == []
            assert app.get("/armor/state")["errors"] == 0
