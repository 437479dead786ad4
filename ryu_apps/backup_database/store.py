"""The store of backup plans: durable, atomic writes to the backup database, and consistent reads.

A plan is replaced in four steps, each a transaction that is on disk before it is acknowledged: reserve a
generation number; write the rows under it, in chunks; make it current by compare-and-swap and remove the
older rows in the same transaction. Whatever fails in between, the plan that was current stays current.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from machine.json_rpc import SMALL_BYTES, JsonRpcClient, JsonRpcError, connected, describe_error
from mininet_topos.errors import ArmorError
from ryu_apps.backup_database.decide.tables import (
    COMMIT,
    PLAN_TABLES,
    Operation,
    Row,
    StoredPlan,
    bridge_operations,
    bridge_row,
    check_text,
    claim_operations,
    discard_operations,
    plan_of_rows,
    plan_rows,
    read_operations,
    swap_operations,
    write_operations,
)
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH, VERSION
from ryu_apps.plan.rows import RulePlan

CHUNK_ROWS = 2000  # keeps ovsdb-server, one thread, answering its other clients within some ten milliseconds
READ_ATTEMPTS = 20
_LOST_RACE = ("timed out", "constraint violation")  # `wait` with timeout 0; the unique name of a Bridge row


class BackupStoreError(ArmorError):
    """The backup database did not do what was asked; the plan that was current before still is."""


class StaleGenerationError(BackupStoreError):
    """Another writer made its generation current meanwhile, or is about to; read it and decide again."""


class _RefusedError(BackupStoreError):
    """An operation of a transaction failed, so none of it was done; `kind` is the error of RFC 7047."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


class BackupStore:
    """The backup database of one ovsdb-server.

    Each call opens its own connection, so a server that was restarted between two calls is no matter.

    Parameters
    ----------
    remote
        "unix:PATH", "tcp:HOST:PORT" or "ssl:HOST:PORT".
    timeout_s
        Limit for connecting, and for silence during a transaction.
    chunk_rows
        Most rows that one transaction writes.
    """

    def __init__(self, remote: str, timeout_s: float = 10.0, chunk_rows: int = CHUNK_ROWS) -> None:
        self.remote = remote
        self.timeout_s = timeout_s
        self.chunk_rows = chunk_rows

    def replace_plan(
        self,
        bridge: str,
        plan: RulePlan,
        ports: Mapping[int, str] | None = None,
    ) -> int:
        """Make a plan the current one of a bridge, all of it or nothing.

        Parameters
        ----------
        bridge
            Name of the bridge that the plan is for.
        plan
            What the switch must hold.
        ports
            Link behind each port ("s1-s2"), for people and for the agent's log.

        Returns
        -------
        The current generation. Nothing is written when it holds exactly this plan already.

        Raises
        ------
        BadInputError
            A name, a set or a match that the database cannot hold.
        StaleGenerationError
            Another generation is or became current, or another writer began after this one.
        BackupStoreError
            No server, no such database, a refused or unanswered transaction. After a lost answer the plan may
            have become current; calling again is safe.
        """
        links = dict(ports or {})
        check_text(bridge)
        tables, columns = plan_rows(plan), bridge_row(plan, links)
        try:
            with connected(self.remote, self.timeout_s, SMALL_BYTES) as client:
                found = _bridge(client, bridge)
                current = _current(found)
                if found and current and found["digest"] == columns["digest"]:
                    return current
                mine = _claim(client, bridge, found)
                self._write(client, bridge, mine, tables)
                _swap(client, bridge, (current, mine), columns)
                return mine
        except JsonRpcError as error:
            raise BackupStoreError(f"the plan of {bridge} was not acknowledged: {error}") from error

    def _write(self, client: JsonRpcClient, bridge: str, generation: int, tables: Mapping[str, list[Row]]) -> None:
        try:
            for operations in write_operations(bridge, generation, tables, self.chunk_rows):
                _transact(client, operations)
        except BackupStoreError:
            _transact(client, discard_operations(bridge, generation))
            raise

    def read_plan(self, bridge: str) -> StoredPlan | None:
        """The current plan of a bridge, as one consistent snapshot; None when there is none.

        Raises
        ------
        BackupStoreError
            No server, no such database, or the plan kept changing while it was read.
        BackupDataError
            The rows do not make the plan that was written.
        """
        try:
            with connected(self.remote, self.timeout_s) as client:
                for _attempt in range(READ_ATTEMPTS):
                    found = _bridge(client, bridge)
                    if found is None or not found["generation"]:
                        return None
                    try:
                        results = _transact(client, read_operations(bridge, found["generation"]))
                    except _RefusedError as error:
                        if error.kind in _LOST_RACE:
                            continue  # replaced between the two transactions
                        raise
                    rows = [result["rows"] for result in results[1:]]
                    return plan_of_rows(rows[0][0], dict(zip(PLAN_TABLES, rows[1:], strict=True)))
        except JsonRpcError as error:
            raise BackupStoreError(f"the plan of {bridge} could not be read: {error}") from error
        raise BackupStoreError(f"the plan of {bridge} changed {READ_ATTEMPTS} times while it was read; try again")

    def generation(self, bridge: str) -> int:
        """Number of the current generation of a bridge; 0 when it has no plan (raises as `read_plan`)."""
        try:
            with connected(self.remote, self.timeout_s) as client:
                found = _bridge(client, bridge)
        except JsonRpcError as error:
            raise BackupStoreError(f"the generation of {bridge} could not be read: {error}") from error
        return _current(found)


def _bridge(client: JsonRpcClient, bridge: str) -> Row | None:
    rows = _transact(client, bridge_operations(bridge))[0]["rows"]
    return rows[0] if rows else None


def _current(found: Row | None) -> int:
    """Number of the generation in force by a Bridge row; 0 when there is none."""
    return int(found["generation"]) if found else 0


def _claim(client: JsonRpcClient, bridge: str, found: Row | None) -> int:
    """Reserve a generation number; another writer may have taken it, so take the next.

    Raises
    ------
    StaleGenerationError
        Another writer has made its generation current since `found` was read.
    """
    current = _current(found)
    for _attempt in range(READ_ATTEMPTS):
        operations, mine = claim_operations(bridge, found)
        try:
            _transact(client, operations)
        except _RefusedError as error:
            if error.kind not in _LOST_RACE:
                raise
            found = _bridge(client, bridge)
            if _current(found) != current:
                raise _stale(bridge, current, _current(found)) from error
        else:
            return mine
    raise BackupStoreError(f"{READ_ATTEMPTS} other writers of {bridge} came first; stop all but one")


def _swap(client: JsonRpcClient, bridge: str, generations: tuple[int, int], columns: Row) -> None:
    old, new = generations
    try:
        _transact(client, swap_operations(bridge, old, new, columns))
    except _RefusedError as error:
        _transact(client, discard_operations(bridge, new))
        if error.kind not in _LOST_RACE:
            raise
        raise _stale(bridge, old, _current(_bridge(client, bridge))) from error


def _stale(bridge: str, expected: int, current: int) -> StaleGenerationError:
    if current == expected:
        return StaleGenerationError(f"another writer of {bridge} began after this one; read the plan and try again")
    return StaleGenerationError(
        f"generation {current} of {bridge} is current, not {expected}: another writer was faster; read it and try again"
    )


def _transact(client: JsonRpcClient, operations: list[Operation]) -> list[Any]:
    """Results of a transaction, one an operation (RFC 7047 section 4.1.3).

    Raises
    ------
    BackupStoreError
        An operation failed, so none was done; or the server has no such database, or one of another major version.
    """
    try:
        results: list[Any] = client.call("transact", [DATABASE, *operations])
    except JsonRpcError as error:
        if error.kind == "unknown database":
            raise _no_database(client.remote) from error
        raise
    for number, result in enumerate(results):
        if result is not None and "error" in result:
            failed = operations[number] if number < len(operations) else COMMIT
            what = f"{failed['op']} {failed.get('table', '')}".strip()
            if result["error"] not in _LOST_RACE:
                _require_version(client)  # a table or column that is not there has this reason
            raise _RefusedError(f"{client.remote}: {what} failed: {describe_error(result)}", result["error"])
    return results


def _no_database(remote: str) -> BackupStoreError:
    return BackupStoreError(f"{remote} has no database {DATABASE}; create it from {SCHEMA_PATH.name}")


def _require_version(client: JsonRpcClient) -> None:
    """Refuse a database whose schema has another version than this code."""
    found = str(client.call("get_schema", [DATABASE])["version"])
    theirs, ours = (tuple(int(part) for part in each.split(".") if part.isdigit()) for each in (found, VERSION))
    if theirs != ours:
        repair = (
            f"convert it with ovsdb-client convert and {SCHEMA_PATH.name}" if theirs < ours else "update Armor here"
        )
        raise BackupStoreError(f"{DATABASE} at {client.remote} has version {found}, this is {VERSION}; {repair}")
