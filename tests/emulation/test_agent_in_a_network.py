"""Agents in an emulated network, with BFD, real packets and no controller at all."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence

import pytest

from emulation.decide.options import EmulationOptions
from emulation.decide.switch import SwitchSite
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from emulation.runfile import STATE_VARIABLE
from mininet_topos import toy
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.backup_database.store import BackupStore
from ryu_apps.openflow import encode
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.ids import KIND_MASK, SCHEME_MASK, Kind, cookie, split_cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import FlowRow
from ryu_apps.plan.sdfast import plan_sdfast
from tests import schemes
from tests.openflow.openflow_client import OpenFlowClient
from tests.patience import wait_until
from tests.undisturbed import without_flaps

pytestmark = [pytest.mark.emulation, pytest.mark.filterwarnings("ignore:.*Eventlet is deprecated")]
pytest.importorskip("ovs", reason="Python package ovs is not installed")

FIGURE2 = toy.figure2()
D_E = FIGURE2.parse_link("s4-s5")
WAIT_TO_RESTORE_S = 1.0


def agent_command(site: SwitchSite) -> Sequence[str]:
    return (
        *(sys.executable, "-m", "ovsdb_backup.agent", "--bridge", site.bridge, "--node", site.name),
        *("--database", f"unix:{site.db_socket}", "--management", f"unix:{site.mgmt_socket}"),
        *("--wait-to-restore-s", f"{WAIT_TO_RESTORE_S:g}"),
    )


@pytest.fixture
def net(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmulatedNetwork]:
    """Figure 2 with an agent on every switch, filled from the backup databases alone."""
    folder = tmp_path_factory.mktemp("ag")
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    plans = plan_sdfast(FIGURE2, PlanOptions(mode="agent"))
    with EmulatedNetwork(
        FIGURE2,
        EmulationOptions(bfd_interval_ms=100),
        databases={DATABASE: SCHEMA_PATH},
        agent_command=agent_command,
        command="test",
    ) as network:
        for site in network.sites.values():
            BackupStore(f"unix:{site.db_socket}").replace_plan(site.bridge, plans[dpid_of(FIGURE2, site.name)])
        network.wait_bfd_up()
        for site in network.sites.values():
            wanted = len(plans[dpid_of(FIGURE2, site.name)].flows)
            wait_until(lambda site=site, wanted=wanted: len(rows(site)) >= wanted, f"{site.name} is filled")
        wait_until(lambda: network.ping("h1", "h5", count=1) == 1, "h1 reaches h5")
        wait_until(lambda: not remove_agent_rows(network), "no agent row is left")
        yield network


def rows(site: SwitchSite) -> list[FlowRow]:
    try:
        with OpenFlowClient(f"unix:{site.mgmt_socket}") as client:
            return [stat.row for stat in client.flows()]
    except (ConnectionError, FileNotFoundError):
        return []


def agent_rows(network: EmulatedNetwork, node: str) -> list[FlowRow]:
    return [row for row in rows(network.sites[node]) if split_cookie(row.cookie).kind == Kind.AGENT]


def remove_agent_rows(network: EmulatedNetwork) -> list[str]:
    """Remove the rows of agents, as a controller does; the switches that had some.

    A busy machine makes BFD take links as failed, and rows about them at other switches stay until somebody does so.
    """
    found = [node for node in FIGURE2.node_names if agent_rows(network, node)]
    for node in found:
        with OpenFlowClient(f"unix:{network.sites[node].mgmt_socket}") as client:
            client.send(encode.flows_delete_by_cookie(cookie(schemes.SDFAST, Kind.AGENT), SCHEME_MASK | KIND_MASK))
            assert client.barrier() == []
    return found


def wait_path(network: EmulatedNetwork) -> None:
    """Wait until packets between A and E pass again, in both directions."""
    wait_until(lambda: network.ping("h1", "h5", count=3, interval_s=0.05) == 3, "packets pass again")


def test_silent_failure_is_gone_round_and_undone_after_the_return(net: EmulatedNetwork) -> None:
    with FailureInjection(net) as injection:
        injection.silent(D_E)
        wait_path(net)
        wait_until(lambda: agent_rows(net, "s4"), "D has moved its backup rows in")
        wait_until(lambda: agent_rows(net, "s2"), "B has learned where packets turned round")
        wait_until(lambda: agent_rows(net, "s5"), "E has swung the reverse path")
        assert without_flaps(net, lambda: net.ping("h1", "h5", count=20, interval_s=0.02)) == 20
    wait_until(lambda: not agent_rows(net, "s4") and not agent_rows(net, "s5"), "both ends have undone their rows")
    wait_until(lambda: not remove_agent_rows(net), "rows that were removed at the others stay away")
    assert without_flaps(net, lambda: net.ping("h1", "h5", count=5, interval_s=0.05)) == 5


@pytest.mark.parametrize("process", ["agent", "ovs-vswitchd", "ovsdb-server"])
@pytest.mark.parametrize("node", ["s2", "s4"])
def test_traffic_recovers_when_a_process_is_killed_during_the_failure(
    net: EmulatedNetwork, node: str, process: str
) -> None:
    with FailureInjection(net) as injection:
        injection.silent(D_E)
        wait_path(net)
        net.kill(process, node)
        time.sleep(0.2)
        wait_path(net)


@pytest.mark.parametrize("process", ["agent", "ovs-vswitchd", "ovsdb-server"])
def test_traffic_recovers_when_a_process_is_killed_just_before_the_failure(net: EmulatedNetwork, process: str) -> None:
    with FailureInjection(net) as injection:
        injection.prepare([D_E])
        net.kill(process, "s4")
        injection.silent(D_E)
        wait_path(net)
