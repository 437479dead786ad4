"""Start the Open vSwitch daemons of a group: database server, bridges set up, then ovs-vswitchd.

Known limit: an ovs-vswitchd that has lost its database server runs no bridge until it has reconnected
(bridge_run in vswitchd/bridge.c returns early without the database lock; the first retry comes after 1 s).
With the userspace datapath, which forwards in the same thread, the switch then carries nothing for about
a second after its ovsdb-server is killed, and its neighbours' BFD takes all its links as failed.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from emulation.decide.switch import (
    OVSDB_SERVER,
    VSWITCHD,
    DaemonGroup,
    PortSetting,
    daemon_environment,
    ovsdb_server_command,
    vsctl_arguments,
    vswitchd_command,
)
from emulation.supervisor import ProcessSpec, Supervisor
from machine.json_rpc import JsonRpcError, call, listens, read_tables
from machine.places import CommandError, inside, run_program
from mininet_topos.ovsdb_columns import select

OPEN_VSWITCH_SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
_START_TIMEOUT_S = 20.0
_POLL_S = 0.005
_TEMPLATE_SUFFIX = ".empty.db"
_RUN_TIME_SUFFIXES = (".pid", ".~lock~")


def make_databases(folder: Path, schemas: Mapping[str, Path]) -> dict[str, Path]:
    """One empty database file a schema, which every daemon group starts from a copy of.

    Parameters
    ----------
    folder
        Where the empty databases go.
    schemas : mapping of database name to schema file

    Raises
    ------
    CommandError
        `ovsdb-tool` refuses a schema.
    """
    made = {}
    for name, schema in schemas.items():
        made[name] = folder / f"{name}{_TEMPLATE_SUFFIX}"
        made[name].unlink(missing_ok=True)
        run_program(["ovsdb-tool", "create", str(made[name]), str(schema)])
    return made


def remove_run_time_files(run_dir: Path, groups: Sequence[DaemonGroup]) -> None:
    """Leave only databases and logs in a folder that the user keeps: sockets, process ids, locks and templates go."""
    for folder in (run_dir, *(group.folder for group in groups)):
        for path in folder.iterdir():
            if path.is_socket() or path.suffix in _RUN_TIME_SUFFIXES or path.name.endswith(_TEMPLATE_SUFFIX):
                path.unlink()


def start_group(
    group: DaemonGroup,
    *,
    shell_pid: int,
    templates: Mapping[str, Path],
    settings: Mapping[str, Sequence[PortSetting]],
    datapath_type: str,
    bfd_interval_ms: int,
    realtime: bool,
    send_buffer_bytes: int,
    supervisor: Supervisor,
    after_restart: Callable[[], None] | None = None,
) -> None:
    """Start both daemons of a group and wait until every port has its number.

    Parameters
    ----------
    shell_pid
        A process in the group's place.
    templates : mapping of database name to empty database file
        The first is Open vSwitch's own.
    settings : mapping of switch name to its ports
    datapath_type : "netdev" or "system"
    realtime
        Real-time priority for ovs-vswitchd.
    send_buffer_bytes
        What ovs-vswitchd's packet socket must hold; 0: as it is.
    supervisor
        Keeps the daemons.
    after_restart
        Called each time ovs-vswitchd was started again.

    Raises
    ------
    CommandError
        A daemon does not come up; the message names its log.
    """
    databases = [Path(shutil.copy(template, group.folder / f"{name}.db")) for name, template in templates.items()]
    environment = daemon_environment(group)

    def spec(process: str, argv: list[str]) -> ProcessSpec:
        log = group.folder / f"{process}.out"
        return ProcessSpec(process, group.place, tuple(inside(shell_pid, argv)), log, environment)

    supervisor.start(spec(OVSDB_SERVER, ovsdb_server_command(group, databases)))
    _wait(group, lambda: _answers(group.db_socket, "list_dbs"), OVSDB_SERVER)
    run_program(vsctl_arguments(group, settings, datapath_type, bfd_interval_ms), environment=environment)
    switch = spec(VSWITCHD, vswitchd_command(group))
    switch = replace(switch, realtime=realtime, send_buffer_bytes=send_buffer_bytes, after_restart=after_restart)
    supervisor.start(switch)
    wait_ports(group, settings)


def wait_ports(group: DaemonGroup, settings: Mapping[str, Sequence[PortSetting]]) -> None:
    """Wait until ovs-vswitchd has given every port of a group the number that was asked for.

    Raises
    ------
    CommandError
        It takes too long, or a port has another number.
    """
    wanted = {port.interface: port.port_no for ports in settings.values() for port in ports}

    def ready() -> bool:
        rows = _interface_rows(group)
        given = {row["name"]: row["ofport"] for row in rows if row["name"] in wanted}
        sockets = all(listens(site.mgmt_socket) for site in group.sites)
        return sockets and all(isinstance(given.get(name), int) for name in wanted)

    _wait(group, ready, VSWITCHD)
    for row in _interface_rows(group):
        if row["name"] in wanted and row["ofport"] != wanted[row["name"]]:
            raise CommandError(
                f"{row['name']} got port {row['ofport']} instead of {wanted[row['name']]}: {row['error']}"
            )


def _interface_rows(group: DaemonGroup) -> list[dict[str, Any]]:
    (rows,) = read_tables(group.db_socket, "Open_vSwitch", select("Interface", "name", "ofport", "error"))
    return rows


def _answers(socket_path: Path, method: str) -> bool:
    if not socket_path.exists():
        return False
    try:
        call(socket_path, method, [])
    except JsonRpcError:
        return False
    return True


def _wait(group: DaemonGroup, ready: Callable[[], bool], program: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not ready():
        if time.monotonic() > deadline:
            raise CommandError(
                f"{program} of {group.place} is not ready after {_START_TIMEOUT_S:g} s; "
                f"its last words: {_last_words(group.folder, program)}"
            )
        time.sleep(_POLL_S)


def _last_words(folder: Path, program: str) -> str:
    for name in (f"{program}.out", f"{program}.log"):
        log = folder / name
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        if lines:
            return f"{lines[-1]} ({log})"
    return f"none in {folder}"
