"""1+1 protection in an emulated network: failures, restarts of either end, flows that come and go at run time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dataplane.loader import find_program_object
from emulation.decide.options import EmulationOptions
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.cli import protect
from experiments.testbed.runs.hairpins import NODES_SETTING, PROTECT_SERVICE, hairpins, wait_attached
from experiments.testbed.runs.parts import controller_command
from machine.places import call_inside
from mininet_topos import toy
from mininet_topos.errors import MissingRequirementError
from mininet_topos.importers.json_file import to_json
from tests.emulation.numbered import PORT, received
from tests.patience import wait_until

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]
PACKETS = 400
PORTS = f"{PORT - 3}-{PORT + 10}"
FLOW = {"from": "h1", "to": "h3", "to_prefix": "10.0.0.0/29", "protocol": "udp", "to_port": PORTS}


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    try:
        find_program_object("protect")
    except MissingRequirementError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("run")
    topology = toy.square()
    (folder / "topology.json").write_text(to_json(topology), encoding="utf-8")
    (folder / "flows.json").write_text(json.dumps([FLOW]), encoding="utf-8")
    settings = {
        "ARMOR_TOPOLOGY": str(folder / "topology.json"),
        "ARMOR_PROTECT": str(folder / "flows.json"),
        "ARMOR_PROTECT_NODES": NODES_SETTING,
        "ARMOR_STATS_INTERVAL_S": "0",
        "ARMOR_DISCOVERY_INTERVAL_S": "0",
    }
    network = EmulatedNetwork(
        topology,
        EmulationOptions(bfd_interval_ms=100),
        run_dir=folder / "net",
        environment=settings,
        parts=(hairpins(),),
        controller_command=controller_command("protect"),
        command="test",
    )
    with network as running:
        running.wait_connected()
        wait_attached(running, ["s1", "s3"])
        wait_until(lambda: received(running, 5)[0] == list(range(5)), "packets do not pass at all")
        yield running


def ask(network: EmulatedNetwork, method: str, body: Any = None) -> Any:
    text = "" if body is None else json.dumps(body)
    return call_inside(network.shell_pid("controller"), lambda: protect.request(protect.DEFAULT_URL, method, text, {}))


def attached_times(network: EmulatedNetwork, node: str) -> int:
    log = Path(network.sites[node].folder) / f"{PROTECT_SERVICE}-{network.sites[node].bridge}.log"
    return log.read_text(encoding="utf-8").count('"attached"')


def counters(network: EmulatedNetwork) -> dict[str, Any]:
    (row,) = [each for each in ask(network, "GET")["connections"] if each["from"] == "s1"]
    return row


def test_each_path_failed_in_turn_loses_nothing_and_doubles_nothing(net: EmulatedNetwork) -> None:
    first, second = (net.topology.parse_link(name) for name in ("s1-s2", "s1-s4"))
    before = counters(net)  # of each end since its own start
    with FailureInjection(net) as injection:
        injection.prepare([first, second])
        actions = (
            (0.1, lambda: injection.silent(first)),
            (0.4, lambda: injection.restore(first)),
            (0.6, lambda: injection.silent(second)),
            (0.9, lambda: injection.restore(second)),
        )
        numbers, sent = received(net, PACKETS, actions)
    assert numbers == list(range(sent))
    after = counters(net)
    assert after["sent"] - before["sent"] == sent
    assert after["accepted"] - before["accepted"] == sent


@pytest.mark.parametrize("node", ["s1", "s3"])
def test_a_restart_of_either_end_brings_both_together_again(net: EmulatedNetwork, node: str) -> None:
    times = attached_times(net, node)
    net.kill(PROTECT_SERVICE, node)
    wait_until(lambda: attached_times(net, node) > times, f"the program of {node} does not come back")
    numbers, sent = received(net, 50)
    assert numbers == list(range(sent))


def protecting_rows(network: EmulatedNetwork) -> list[str]:
    """Rows of s1 that hand packets to its program."""
    return [row for row in network.dump_flows("s1").splitlines() if "mod_vlan_vid" in row or "push_vlan" in row]


def test_a_flow_that_is_removed_is_plain_and_one_that_is_added_is_protected(net: EmulatedNetwork) -> None:
    assert ask(net, "POST", {"remove": [FLOW]})["flows"] == []
    wait_until(lambda: not protecting_rows(net), "the rows of the flow stay")
    numbers, sent = received(net, 30)
    assert numbers == list(range(sent))
    value = ask(net, "POST", {"add": [FLOW]})
    assert [flow["text"] for flow in value["flows"]] == [
        f"s1 to s3, to 10.0.0.0/29, udp to port {PORTS}",
        f"s3 to s1, from 10.0.0.0/29, udp from port {PORTS}",
    ]
    wait_until(lambda: protecting_rows(net), "the rows of the flow do not come")
    numbers, sent = received(net, 30)
    assert numbers == list(range(sent))
    assert counters(net)["sent"] == sent
