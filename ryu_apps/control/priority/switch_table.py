"""Read and write the PMT of a switch in its database."""

from __future__ import annotations

from machine.json_rpc import JsonRpcClient, transact
from ryu_apps.control.priority.decide.switch_table import (
    DATABASE,
    BridgeRow,
    find_bridge,
    push_operations,
    read_bridges,
    select_operations,
)
from ryu_apps.pmt.rules import PolicyMapTable


class SwitchTable:
    """One bridge in an open database.

    Parameters
    ----------
    bridge
        Its name.
    dpid
        Its datapath id; with neither the database has to have one bridge.
    """

    def __init__(self, client: JsonRpcClient, bridge: str = "", dpid: int | None = None) -> None:
        self._client, self._bridge, self._dpid = client, bridge, dpid

    def read(self) -> BridgeRow:
        """The bridge as it stands.

        Raises
        ------
        JsonRpcError
            The database does not answer.
        BadInputError
            There is no such bridge.
        """
        return find_bridge(
            read_bridges(transact(self._client, DATABASE, select_operations())), self._bridge, self._dpid
        )

    def push(self, table: PolicyMapTable) -> bool:
        """Write a table and the connections of its classes; whether anything had to change.

        Raises
        ------
        JsonRpcError
            The database does not answer, or refuses.
        BadInputError
            There is no such bridge, or its main connection is unknown.
        PmtError
            The table cannot be written.
        """
        operations = push_operations(self.read(), table)
        if operations:
            transact(self._client, DATABASE, [*operations, {"op": "commit", "durable": True}])
        return bool(operations)
