"""Queues of a plan in OVSDB: what the database is asked to hold, on a real ovsdb-server, and what is missed there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from machine.json_rpc import JsonRpcClient, transact
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.queues import (
    DATABASE,
    PortQueues,
    queue_mismatches,
    read_ports,
    removal_operations,
    select_operations,
    write_operations,
)
from ryu_apps.plan.rows import QueueRow
from tests.control.running import DummyNetwork, RunningApp
from tests.dummy_ovs import DummyOvs

ROWS = (
    QueueRow(1, 0, 0, None, None),
    QueueRow(1, 1, 1, 0.0, None),
    QueueRow(2, 0, 0, None, 10.0),
    QueueRow(2, 1, 1, 0.5, 8.0),
)


@pytest.fixture
def ovs() -> Iterator[DummyOvs]:
    with DummyOvs() as found:
        found.add_bridge("s1", 1, (1, 2))
        found.add_bridge("s2", 2, (1,))
        found.vsctl("--id=@q", "create", "qos", "type=linux-noop", "--", "set", "port", "s1-p2", "qos=@q")
        yield found


def held(client: JsonRpcClient, dpid: int = 1) -> dict[int, PortQueues]:
    return read_ports(transact(client, DATABASE, select_operations()), dpid)


def count(client: JsonRpcClient, table: str) -> int:
    select: dict[str, Any] = {"op": "select", "table": table, "where": [], "columns": ["_uuid"]}
    return len(transact(client, DATABASE, [select])[0]["rows"])


@pytest.mark.ovs
def test_ports_get_their_queues_once_and_only_what_is_ours_is_replaced(ovs: DummyOvs) -> None:
    client = JsonRpcClient(ovs.database)
    assert len(queue_mismatches("s1", held(client), ROWS)) == len(ROWS)
    transact(client, DATABASE, write_operations(held(client), ROWS))
    ports = held(client)
    assert queue_mismatches("s1", ports, ROWS) == ()
    assert write_operations(ports, ROWS) == []
    # Who shapes a port by himself goes on doing so; Open vSwitch shapes the others.
    assert [ports[port_no].qos_type for port_no in (1, 2)] == ["linux-htb", "linux-noop"]
    assert dict(ports[2].queues[1]) == {"priority": "1", "min-rate": "500000", "max-rate": "8000000"}
    assert (count(client, "QoS"), count(client, "Queue")) == (3, 4)
    transact(client, DATABASE, write_operations(ports, ROWS[:3]))
    assert queue_mismatches("s1", held(client), ROWS[:3]) == ()
    assert (count(client, "QoS"), count(client, "Queue")) == (3, 3)
    assert held(client, 2)[1].queues == {}
    client.close()


@pytest.mark.ovs
def test_only_our_rows_that_no_port_reaches_are_removed(ovs: DummyOvs) -> None:
    client = JsonRpcClient(ovs.database)
    transact(client, DATABASE, write_operations(held(client), ROWS))
    ovs.vsctl("--id=@mine", "create", "qos", "type=linux-htb", "--", "set", "port", "s1-p1", "qos=@mine")
    before = count(client, "QoS"), count(client, "Queue")
    transact(client, DATABASE, removal_operations(transact(client, DATABASE, select_operations())))
    # The QoS of port 1 and its two queues had lost their port; those of port 2 and the unknown_groups' stay.
    assert (count(client, "QoS"), count(client, "Queue")) == (before[0] - 1, before[1] - 2)
    assert queue_mismatches("s1", held(client), ROWS[2:]) == ()
    assert removal_operations(transact(client, DATABASE, select_operations())) == []


@pytest.mark.ovs
def test_a_queue_that_was_removed_or_changed_by_hand_is_named(ovs: DummyOvs) -> None:
    client = JsonRpcClient(ovs.database)
    transact(client, DATABASE, write_operations(held(client), ROWS))
    qos = ovs.vsctl("get", "port", "s1-p2", "qos").strip()
    ovs.vsctl("remove", "qos", qos, "queues", "0")
    queue = ovs.vsctl("get", "qos", qos, "queues:1").strip()
    ovs.vsctl("set", "queue", queue, "other_config:max-rate=1")
    assert [str(mismatch.text) for mismatch in queue_mismatches("s1", held(client), ROWS)] == [
        "s1: port 2 has no queue 0, which the plan needs",
        "s1: queue 1 of port 2 is max-rate 1, min-rate 500000, priority 1, "
        "not max-rate 8000000, min-rate 500000, priority 1",
    ]
    client.close()


@pytest.mark.ovs
def test_a_database_of_another_switch_is_named(ovs: DummyOvs) -> None:
    client = JsonRpcClient(ovs.database)
    with pytest.raises(BadInputError, match=r"no bridge with datapath id 0+9.*queue_db"):
        held(client, 9)
    client.close()


def test_a_port_that_the_database_does_not_have_lacks_all_its_queues() -> None:
    assert len(queue_mismatches("s1", {}, ROWS)) == len(ROWS)
    assert write_operations({}, ROWS) == []


@pytest.mark.ovs
@pytest.mark.ryu
def test_the_app_gives_ports_their_queues_and_names_one_that_goes(tmp_path: Path) -> None:
    with DummyOvs() as ovs:
        network = DummyNetwork(ovs, load_topology("pair"))
        with RunningApp("kuijia", "pair", tmp_path, queue_db=ovs.database, default_capacity_mbps="10") as app:
            network.connect(app.target)
            app.wait_event("queues_written", len(network.topology.node_names))
            app.wait_ready()
            assert missing(app) == []
            qos = ovs.vsctl("get", "port", "s1-p2", "qos").strip()
            assert ovs.vsctl("get", "qos", qos, "queues").count("=") == 3
            ovs.vsctl("remove", "qos", qos, "queues", "2")
            app.wait_event("mismatch")
            assert missing(app) == ["s1: port 2 has no queue 2, which the plan needs"]


def missing(app: RunningApp) -> list[str]:
    return [one["text"] for one in app.get("/armor/mismatches")["mismatches"] if one["kind"] == "queue"]
