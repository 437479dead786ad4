"""The PMT in the database of a switch: where it stands, and the controller connections that go with it.

The table is the key `armor-pmt` of the bridge's `external_ids`: every Open vSwitch has that column, it lives as long
as the bridge, and `ovs-vsctl get bridge s1 external_ids:armor-pmt` shows it. The paper sends it in OFPT_SET_CONFIG,
which has fixed 12 bytes.

Writing changes as little as can be: connections that stay keep their rows, so that the switch does not drop them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mininet_topos.errors import BadInputError
from mininet_topos.ovsdb_columns import map_column, optional_column, select, uuids_column
from ryu_apps.control.priority.decide.channels import Connection, connections
from ryu_apps.pmt.rules import PolicyMapTable
from ryu_apps.pmt.serial import from_json, to_json

PMT_KEY = "armor-pmt"
CLASS_KEY = "armor-pso"  # of a controller row: "main", or the class whose connection it is
MAIN = "main"
DATABASE = "Open_vSwitch"
BRIDGE_COLUMNS = ("_uuid", "name", "datapath_id", "external_ids", "controller")
CONTROLLER_COLUMNS = ("_uuid", "target", "other_config", "external_ids", "max_backoff", "inactivity_probe")
_TARGET = re.compile(r"(tcp|ssl):(\[[0-9a-fA-F:.]+\]|[^:\[\]]+):([0-9]{1,5})")

Operation = dict[str, Any]


@dataclass(frozen=True)
class ControllerRow:
    """One controller connection as the database has it."""

    uuid: str
    target: str
    other_config: Mapping[str, str] = field(default_factory=dict)
    external_ids: Mapping[str, str] = field(default_factory=dict)
    copied: Mapping[str, Any] = field(default_factory=dict)  # columns that new rows take over from the main row

    @property
    def role(self) -> str:
        """What PSO made the row for; empty: a row of somebody else."""
        return self.external_ids.get(CLASS_KEY, "")


@dataclass(frozen=True)
class BridgeRow:
    """A bridge, with its controllers."""

    uuid: str
    name: str
    datapath_id: str
    external_ids: Mapping[str, str]
    controllers: tuple[ControllerRow, ...]

    @property
    def table(self) -> PolicyMapTable | None:
        """The PMT of the bridge; None: it has none.

        Raises
        ------
        PmtError
            The text is no PMT.
        """
        text = self.external_ids.get(PMT_KEY)
        return None if text is None else from_json(text, f"external_ids:{PMT_KEY} of bridge {self.name}")


def select_operations() -> list[Operation]:
    """Operations that read all bridges and controllers; `read_bridges` takes their results."""
    return [select("Bridge", *BRIDGE_COLUMNS), select("Controller", *CONTROLLER_COLUMNS)]


def read_bridges(results: Sequence[Mapping[str, Any]]) -> tuple[BridgeRow, ...]:
    """Bridges from the results of `select_operations`."""
    controllers = {row["_uuid"][1]: _controller(row) for row in results[1]["rows"]}
    return tuple(
        BridgeRow(
            row["_uuid"][1],
            row["name"],
            optional_column(row["datapath_id"]) or "",
            map_column(row["external_ids"]),
            tuple(controllers[uuid] for uuid in uuids_column(row["controller"]) if uuid in controllers),
        )
        for row in results[0]["rows"]
    )


def find_bridge(bridges: Sequence[BridgeRow], name: str = "", dpid: int | None = None) -> BridgeRow:
    """The bridge with a name or a datapath id; without either the only one.

    Raises
    ------
    BadInputError
        There is none, or several could be meant.
    """
    wanted = "" if dpid is None else f"{dpid:016x}"
    found = [each for each in bridges if (not name or each.name == name) and (not wanted or each.datapath_id == wanted)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(each.name for each in bridges) or "none"
    meant = f"bridge {name!r}" if name else f"datapath id {wanted}" if wanted else "bridge"
    how = "no" if not found else "more than one"
    raise BadInputError(f"the switch has {how} {meant}; its bridges: {known}")


def push_operations(bridge: BridgeRow, table: PolicyMapTable) -> list[Operation]:
    """Operations of one transaction that give a bridge a table and the connections of its classes.

    Parameters
    ----------
    table
        Without rules: the bridge keeps its main connection alone.

    Returns
    -------
    list of operations
        Empty when all is as it should be.

    Raises
    ------
    BadInputError
        It is unknown which controller is the main connection.
    PmtError
        The table is too long, or has too many queues.
    """
    main = _main_row(bridge)
    wanted = _wanted(main, table)
    kept = {row.target: row for row in bridge.controllers if row is main or row.role}
    operations: list[Operation] = []
    for target, connection in wanted.items():
        operations += _adjust(kept[target], connection) if target in kept else [_insert(main, target, connection)]
    new = [["named-uuid", f"class{each.class_id}"] for target, each in wanted.items() if target not in kept]
    stale = [["uuid", row.uuid] for target, row in kept.items() if target not in wanted]
    changes = [["controller", "delete", ["set", stale]], ["controller", "insert", ["set", new]]]
    mutations = [each for each in changes if each[2][1]]
    text = to_json(table)
    if bridge.external_ids.get(PMT_KEY) != text:
        mutations += [
            ["external_ids", "delete", ["set", [PMT_KEY]]],
            ["external_ids", "insert", ["map", [[PMT_KEY, text]]]],
        ]
    if mutations:
        where = [["_uuid", "==", ["uuid", bridge.uuid]]]
        operations.append({"op": "mutate", "table": "Bridge", "where": where, "mutations": mutations})
    return operations


def _main_row(bridge: BridgeRow) -> ControllerRow:
    marked = [row for row in bridge.controllers if row.role == MAIN]
    # A bridge that listens for controllers too, as those of plain `mn` do, still connects to one itself.
    others = [row for row in bridge.controllers if not row.role and not row.target.startswith("p")]
    candidates = marked or others
    if len(candidates) != 1:
        raise BadInputError(
            f"bridge {bridge.name} has {len(candidates)} controllers ({', '.join(r.target for r in candidates)}), and "
            f"none says that it is the main connection; set external_ids:{CLASS_KEY}={MAIN} of one, or leave just one"
        )
    return candidates[0]


def _wanted(main: ControllerRow, table: PolicyMapTable) -> dict[str, Connection]:
    if not table.rules:
        return {main.target: Connection(0, 0, int(main.other_config.get("dscp", 0)), True)}
    found = _TARGET.fullmatch(main.target)
    if found is None:
        raise BadInputError(
            f"controller {main.target!r} is no tcp:HOST:PORT or ssl:HOST:PORT, so classes cannot have ports beside it"
        )
    protocol, host, port = found.groups()
    return {f"{protocol}:{host}:{row.port}": row for row in connections(table, int(port))}


def _adjust(row: ControllerRow, connection: Connection) -> list[Operation]:
    """Nothing when the row is right already: Open vSwitch looks at every row that is written."""
    role = MAIN if connection.is_main else str(connection.class_id)
    has_mark = row.other_config.get("dscp", "") == str(connection.dscp) or not connection.port
    if has_mark and row.role == role:
        return []
    columns = {
        "other_config": ["map", sorted({**row.other_config, "dscp": str(connection.dscp)}.items())],
        "external_ids": ["map", sorted({**row.external_ids, CLASS_KEY: role}.items())],
    }
    where = [["_uuid", "==", ["uuid", row.uuid]]]
    return [{"op": "update", "table": "Controller", "where": where, "row": columns}]


def _insert(main: ControllerRow, target: str, connection: Connection) -> Operation:
    columns = {
        **main.copied,
        "target": target,
        "connection_mode": "out-of-band",
        "other_config": ["map", [["dscp", str(connection.dscp)]]],
        "external_ids": ["map", [[CLASS_KEY, str(connection.class_id)]]],
    }
    return {"op": "insert", "table": "Controller", "row": columns, "uuid-name": f"class{connection.class_id}"}


def _controller(row: Mapping[str, Any]) -> ControllerRow:
    copied = {name: row[name] for name in ("max_backoff", "inactivity_probe")}
    return ControllerRow(
        row["_uuid"][1], row["target"], map_column(row["other_config"]), map_column(row["external_ids"]), copied
    )
