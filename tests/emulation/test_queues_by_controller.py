"""The app gives an emulated network its queues: from the rows of its plan, through each switch's database, to tc."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.decide.options import EmulationOptions
from emulation.decide.queues import class_of, queue_setup
from emulation.decide.traffic import parse_class_counters
from emulation.network import EmulatedNetwork
from machine.places import run_program
from mininet_topos import toy
from ryu_apps.plan.kuijia.priorities import SINGLE
from tests.patience import wait_until

pytestmark = [pytest.mark.emulation, pytest.mark.ryu, pytest.mark.alone]

SQUARE = toy.square()
QUEUES = {class_of(queue_id) for queue_id in range(SINGLE.n_queues)}
READ = "import json, urllib.request as u; print(u.urlopen('http://127.0.0.1:8080/armor/mismatches').read().decode())"


@pytest.fixture
def network() -> Iterator[EmulatedNetwork]:
    options = EmulationOptions(
        bfd_interval_ms=100,
        capacity_scale=0.05,
        default_capacity_mbps=100,
        queues=queue_setup(SINGLE),
        queues_by_controller=True,
    )
    settings = {"TOPOLOGY": "square", "DEFAULT_CAPACITY_MBPS": "100", "QUEUE_DB": "tcp:{control_ip}:6641"}
    with (
        tempfile.TemporaryDirectory(prefix="armor-", dir="/tmp") as folder,
        EmulatedNetwork(
            SQUARE,
            options,
            run_dir=Path(folder) / "run",
            environment={f"ARMOR_{name}": value for name, value in settings.items()},
        ) as running,
    ):
        yield running


def classes(network: EmulatedNetwork, node: str, port_no: int) -> set[str]:
    return QUEUES & set(parse_class_counters(network.class_counters(node, port_no)))


def missing(network: EmulatedNetwork) -> list[str] | None:
    """Queues that the app misses; None while it does not answer."""
    said = network.run("controller", [sys.executable, "-c", READ])
    if said.returncode:
        return None
    return [one["text"] for one in json.loads(said.stdout)["mismatches"] if one["kind"] == "queue"]


def test_ports_get_the_queues_of_the_plan_and_one_removed_by_hand_is_named(network: EmulatedNetwork) -> None:
    ports = list(network.ports.direction_at)
    assert not any("1:3" in classes(network, *port) for port in ports)
    network.start_controller([sys.executable, "-m", "ryu.cmd.manager", "ryu_apps/kuijia.py"])
    wait_until(lambda: all(classes(network, *port) == QUEUES for port in ports), "every port has its queues", 120)
    wait_until(lambda: missing(network) == [], "the app misses none", 60)
    verdict = network.try_queues()
    assert verdict.ok, verdict.describe()

    node, port_no = ports[0]
    database = ["ovs-vsctl", f"--db=unix:{network.sites[node].db_socket}"]
    qos = run_program([*database, "get", "port", network.interface(node, port_no), "qos"]).strip()
    run_program([*database, "remove", "qos", qos, "queues", "2"])
    named = [f"{node}: port {port_no} has no queue 2, which the plan needs"]
    wait_until(lambda: missing(network) == named, "the app names it", 60)
    wait_until(lambda: classes(network, node, port_no) == QUEUES - {class_of(2)}, "the port has lost it", 60)
    assert all(classes(network, *port) == QUEUES for port in ports[1:])
