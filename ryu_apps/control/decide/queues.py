"""Queues of a switch's ports in OVSDB: what the rows of a plan make of them, and which of those a port lacks.

A port refers to a QoS row, and that to its Queue rows by number (ovs-vswitchd.conf.db(5)). Both kinds stay when nothing
refers to them any more, so those that Armor wrote bear its mark, and it deletes what it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mininet_topos.errors import BadInputError
from mininet_topos.ovsdb_columns import map_column, optional_column, select, uuids_column
from ryu_apps.control.decide.live_topology import Mismatch
from ryu_apps.plan.rows import QueueRow

DATABASE = "Open_vSwitch"
OWNER_KEY = "armor-queues"  # in external_ids of the rows that Armor wrote
NO_QDISC = "linux-noop"  # Open vSwitch leaves the port's queueing discipline to somebody else
_HTB = "linux-htb"
_BITS = 1e6

Operation = dict[str, Any]
Config = Mapping[str, str]


@dataclass(frozen=True)
class PortQueues:
    """A port as the database has it.

    Attributes
    ----------
    uuid, name
        Of its Port row.
    qos_type
        Type of its QoS row; empty: it has none.
    queues : mapping of int to mapping
        `other_config` of its queues, by number.
    own : tuple of (str, str)
        Table and uuid of the rows behind it that Armor wrote.
    """

    uuid: str
    name: str
    port_no: int
    qos_type: str = ""
    queues: Mapping[int, Config] = field(default_factory=dict)
    own: tuple[tuple[str, str], ...] = ()


def select_operations() -> list[Operation]:
    """Operations that read all ports with their queues; `read_ports` takes their results."""
    return [
        select("Bridge", "datapath_id", "ports"),
        select("Port", "_uuid", "name", "interfaces", "qos"),
        select("Interface", "_uuid", "ofport"),
        select("QoS", "_uuid", "type", "queues", "external_ids"),
        select("Queue", "_uuid", "other_config", "external_ids"),
    ]


def read_ports(results: Sequence[Mapping[str, Any]], dpid: int) -> dict[int, PortQueues]:
    """Ports of a switch by number, from the results of `select_operations`.

    Raises
    ------
    BadInputError
        The database has no bridge with this datapath id.
    """
    bridges, ports, interfaces, qos, queues = ({_key(row): row for row in result["rows"]} for result in results)
    wanted = f"{dpid:016x}"
    bridge = next((row for row in bridges.values() if optional_column(row["datapath_id"]) == wanted), None)
    if bridge is None:
        raise BadInputError(f"the database has no bridge with datapath id {wanted}; correct the setting queue_db")
    found = {}
    for port in (ports[uuid] for uuid in uuids_column(bridge["ports"])):
        number = optional_column(interfaces[uuids_column(port["interfaces"])[0]]["ofport"])
        if number is not None:
            found[number] = _port(port, number, qos, queues)
    return found


def removal_operations(results: Sequence[Mapping[str, Any]]) -> list[Operation]:
    """Operations that delete the rows that Armor wrote and that no port of any bridge reaches any more.

    So it is with rows whose port went, or was given another QoS by hand. `results` are those of `select_operations`.
    """
    _bridges, ports, _interfaces, qos, queues = (result["rows"] for result in results)
    held_qos = {uuid for port in ports for uuid in uuids_column(port["qos"])}
    left = [row for row in qos if row["_uuid"][1] not in held_qos and _is_own(row)]
    left_qos = {row["_uuid"][1] for row in left}
    kept = (row for row in qos if row["_uuid"][1] not in left_qos)
    held_queues = {uuid for row in kept for _, uuid in map_column(row["queues"]).values()}
    left_queues = [row for row in queues if row["_uuid"][1] not in held_queues and _is_own(row)]
    tables = [*(("QoS", row) for row in left), *(("Queue", row) for row in left_queues)]
    return [_operation("delete", table, row["_uuid"][1]) for table, row in tables]


def _is_own(row: Mapping[str, Any]) -> bool:
    return OWNER_KEY in map_column(row["external_ids"])


def _key(row: Mapping[str, Any]) -> str:
    """The row's uuid; a bridge is known by its datapath id alone."""
    return str(row["_uuid"][1]) if "_uuid" in row else str(row["datapath_id"])


def _port(
    port: Mapping[str, Any], number: int, qos: Mapping[str, Mapping[str, Any]], queues: Mapping[str, Mapping[str, Any]]
) -> PortQueues:
    reference = optional_column(port["qos"])
    if reference is None:
        return PortQueues(port["_uuid"][1], port["name"], number)
    row = qos[reference[1]]
    rows = {int(queue_id): queues[uuid] for queue_id, (_, uuid) in map_column(row["queues"]).items()}
    behind = [("QoS", row), *(("Queue", queue) for queue in rows.values())]
    own = tuple((table, each["_uuid"][1]) for table, each in behind if _is_own(each))
    configs = {queue_id: map_column(queue["other_config"]) for queue_id, queue in rows.items()}
    return PortQueues(port["_uuid"][1], port["name"], number, row["type"], configs, own)


def queue_config(row: QueueRow) -> dict[str, str]:
    """`other_config` of a queue: rates in bit/s."""
    rates = {"min-rate": row.min_rate_mbps, "max-rate": row.max_rate_mbps}
    return {"priority": str(row.priority)} | {
        name: str(round(mbps * _BITS)) for name, mbps in rates.items() if mbps is not None
    }


def write_operations(ports: Mapping[int, PortQueues], rows: Iterable[QueueRow]) -> list[Operation]:
    """Operations of one transaction that give ports the queues of a plan; none for ports that have them.

    A port whose queueing discipline is somebody else's (`linux-noop`) keeps that type: its owner reads the rows.
    """
    operations: list[Operation] = []
    for port_no, wanted in _by_port(rows).items():
        port = ports.get(port_no)
        configs = {row.queue_id: queue_config(row) for row in wanted}
        if port is None or dict(port.queues) == configs:
            continue
        operations += _inserts(port, configs)
        operations.append(_operation("update", "Port", port.uuid, row={"qos": ["named-uuid", f"qos{port_no}"]}))
        operations += [_operation("delete", table, uuid) for table, uuid in port.own]
    return operations


def _inserts(port: PortQueues, configs: Mapping[int, Config]) -> list[Operation]:
    mark = ["map", [[OWNER_KEY, "true"]]]
    names = {queue_id: f"queue{port.port_no}_{queue_id}" for queue_id in configs}
    queues = [
        {
            "op": "insert",
            "table": "Queue",
            "uuid-name": names[queue_id],
            "row": {"other_config": ["map", list(map(list, config.items()))], "external_ids": mark},
        }
        for queue_id, config in configs.items()
    ]
    highest = [int(config["max-rate"]) for config in configs.values() if "max-rate" in config]
    limits = [["max-rate", str(max(highest))]] if len(highest) == len(configs) else []
    qos = {
        "type": NO_QDISC if port.qos_type == NO_QDISC else _HTB,
        "queues": ["map", [[queue_id, ["named-uuid", name]] for queue_id, name in names.items()]],
        "other_config": ["map", limits],
        "external_ids": mark,
    }
    return [*queues, {"op": "insert", "table": "QoS", "uuid-name": f"qos{port.port_no}", "row": qos}]


def _operation(kind: str, table: str, uuid: str, **more: Any) -> Operation:
    return {"op": kind, "table": table, "where": [["_uuid", "==", ["uuid", uuid]]], **more}


def _by_port(rows: Iterable[QueueRow]) -> dict[int, list[QueueRow]]:
    found: dict[int, list[QueueRow]] = {}
    for row in rows:
        found.setdefault(row.port_no, []).append(row)
    return found


def queue_mismatches(node: str, ports: Mapping[int, PortQueues], rows: Iterable[QueueRow]) -> tuple[Mismatch, ...]:
    """Planned queues that a port does not have, or has with other values."""
    found = []
    for row in rows:
        port, wanted = ports.get(row.port_no), queue_config(row)
        held = None if port is None else port.queues.get(row.queue_id)
        if held is None:
            found.append(f"port {row.port_no} has no queue {row.queue_id}, which the plan needs")
        elif dict(held) != wanted:
            found.append(f"queue {row.queue_id} of port {row.port_no} is {_words(held)}, not {_words(wanted)}")
    return tuple(Mismatch("queue", node, f"{node}: {text}") for text in found)


def _words(config: Config) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(config.items())) or "without values"
