"""The Open vSwitch of this machine: its bridges, their sockets, and the backup database that it serves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from machine.json_rpc import JsonRpcError, call, read_tables
from machine.places import run_program
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.ovsdb_columns import select
from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH

RUN_DIR = Path("/var/run/openvswitch")
BACKUP_FILE = Path("/var/lib/openvswitch/armor_backup.db")


class LocalSwitchError(ArmorError):
    """Open vSwitch does not run here, or does not do what is asked of it."""


@dataclass(frozen=True, slots=True)
class LocalSwitch:
    """An Open vSwitch that runs on this machine.

    Parameters
    ----------
    run_dir
        Folder of its sockets and process ids.
    """

    run_dir: Path = RUN_DIR

    @property
    def database_socket(self) -> Path:
        """Socket of its ovsdb-server."""
        return self.run_dir / "db.sock"

    def management(self, bridge: str) -> Path:
        """OpenFlow management socket of a bridge; ovs-vswitchd makes it."""
        return self.run_dir / f"{bridge}.mgmt"

    def bridges(self) -> list[str]:
        """Names of all bridges, sorted.

        Raises
        ------
        LocalSwitchError
            No ovsdb-server answers.
        """
        try:
            (rows,) = read_tables(self.database_socket, "Open_vSwitch", select("Bridge", "name"))
        except JsonRpcError as error:
            raise self._silent(error) from error
        return sorted(row["name"] for row in rows)

    def require_bridge(self, name: str) -> None:
        """Refuse a bridge that is not there.

        Raises
        ------
        BadInputError
            There is none of this name, or ovs-vswitchd has not made its management socket.
        LocalSwitchError
            As `bridges`.
        """
        known = self.bridges()
        if name not in known:
            raise BadInputError(
                f"Open vSwitch has no bridge {name!r}; name one of {', '.join(known) or 'none: add one'}"
            )
        if not self.management(name).is_socket():
            raise BadInputError(f"there is no {self.management(name)}; start ovs-vswitchd")

    def serve_backup_database(self, file: Path = BACKUP_FILE) -> bool:
        """Let its ovsdb-server serve the backup database; whether it had to be added.

        An ovsdb-server that was started again has forgotten the file; what the file holds stays.

        Parameters
        ----------
        file
            The database's file; it is made when there is none.

        Raises
        ------
        LocalSwitchError
            No ovsdb-server answers, or it refuses the file.
        CommandError
            The file cannot be made.
        """
        try:
            if DATABASE in call(self.database_socket, "list_dbs", []):
                return False
        except JsonRpcError as error:
            raise self._silent(error) from error
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            run_program(["ovsdb-tool", "create", str(file), str(SCHEMA_PATH)])
        try:
            call(self._server_control(), "ovsdb-server/add-db", [str(file)])
        except JsonRpcError as error:
            raise LocalSwitchError(f"ovsdb-server does not serve {file}: {error}") from error
        return True

    def _server_control(self) -> Path:
        pid_file = self.run_dir / "ovsdb-server.pid"
        try:
            pid = pid_file.read_text(encoding="ascii").strip()
        except OSError as error:
            raise LocalSwitchError(f"{pid_file}: {error.strerror}; start ovsdb-server with --pidfile") from error
        return self.run_dir / f"ovsdb-server.{pid}.ctl"

    def _silent(self, error: JsonRpcError) -> LocalSwitchError:
        return LocalSwitchError(
            f"no ovsdb-server answers at {self.database_socket}; start Open vSwitch, run this as root, or name the "
            f"folder of its sockets ({error})"
        )
