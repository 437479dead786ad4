"""Read and write the PMT of a switch in its database."""

from __future__ import annotations

from typing import Any

from ovsdb_backup.json_rpc import JsonRpcClient, JsonRpcError, describe_error
from ryu_apps.control.priority.switch_table_core import (
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
    client : JsonRpcClient
    bridge : str, optional
        Its name.
    dpid : int, optional
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
        return find_bridge(read_bridges(self._transact(select_operations())), self._bridge, self._dpid)

    def push(self, table: PolicyMapTable) -> bool:
        """Write a table and the connections of its classes; whether anything had to change.

        Raises
        ------
        JsonRpcError
            The database does not answer, or refuses.
        BadInputError
            There is no such bridge, or its home connection is unknown.
        PmtError
            The table cannot be written.
        """
        operations = push_operations(self.read(), table)
        if operations:
            self._transact([*operations, {"op": "commit", "durable": True}])
        return bool(operations)

    def _transact(self, operations: list[dict[str, Any]]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self._client.call("transact", [DATABASE, *operations])
        for result in results:
            if result and "error" in result:
                raise JsonRpcError(f"{self._client.remote} refuses a transaction: {describe_error(result)}")
        return results
