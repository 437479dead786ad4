"""What a running network says of itself: BFD sessions, controller connections, flows and groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from emulation.decide.switch import DaemonGroup, PortSetting, SwitchSite, bfd_settings, daemon_environment
from machine.json_rpc import JsonRpcError, call, read_tables
from machine.places import run_program
from mininet_topos.errors import ArmorError
from mininet_topos.ovsdb_columns import map_column, select, uuids_column

PortKey = tuple[str, int]
_PARALLEL = 8
_POLL_S = 0.05


class EmulationTimeoutError(ArmorError):
    """Something did not happen in time; the message names what is missing."""


@dataclass(frozen=True, slots=True)
class BfdStatus:
    """State of the BFD session of a port: the session itself as ovs-vswitchd has it, counters from its database.

    `state` and `remote_state` are RFC 5880 words (admin_down, down, init, up); `flap_count` counts
    every change of `forwarding`, so a failure and a return make two. `interval_ms` is what both directions have agreed
    upon; None while they differ, as during a poll sequence (RFC 5880, section 6.5), or while an end is not up and
    sends once a second.
    """

    state: str
    remote_state: str
    forwarding: bool
    flap_count: int
    link_up: bool
    interval_ms: int | None

    @property
    def is_up(self) -> bool:
        """Whether both ends are up."""
        return self.state == "up" and self.remote_state == "up" and self.forwarding


def bfd_status(
    groups: Iterable[DaemonGroup], settings: Mapping[str, Sequence[PortSetting]]
) -> dict[PortKey, BfdStatus]:
    """BFD state of every link port; a port whose switch does not answer is left out."""
    listed = list(groups)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        parts = pool.map(lambda group: _group_bfd(group, settings), listed)
    return {key: status for part in parts for key, status in part.items()}


def _group_bfd(group: DaemonGroup, settings: Mapping[str, Sequence[PortSetting]]) -> dict[PortKey, BfdStatus]:
    wanted = select("Interface", "name", "bfd_status", "link_state")
    try:
        # The database still holds the last words of a daemon that was killed; only the daemon tells how it is now.
        sessions = parse_bfd_show(call(group.vswitchd_control, "bfd/show", []))
        (rows,) = read_tables(group.db_socket, "Open_vSwitch", wanted)
    except JsonRpcError:
        return {}  # a daemon is being restarted; the caller sees that the port is missing
    by_name = {row["name"]: row for row in rows}
    return {
        (site.name, port.port_no): _bfd_of(sessions[port.interface], by_name[port.interface])
        for site in group.sites
        for port in settings[site.name]
        if port.bfd and port.interface in by_name and port.interface in sessions
    }


def _bfd_of(session: Mapping[str, str], row: Mapping[str, Any]) -> BfdStatus:
    return BfdStatus(
        state=session["Local Session State"],
        remote_state=session["Remote Session State"],
        forwarding=session["Forwarding"] == "true",
        flap_count=int(map_column(row["bfd_status"]).get("flap_count", 0)),
        link_up=row["link_state"] == "up",
        interval_ms=agreed_interval_ms(session),
    )


def agreed_interval_ms(session: Mapping[str, str]) -> int | None:
    """The interval of both directions of a session, milliseconds; None while they differ.

    Examples
    --------
    >>> agreed_interval_ms({"TX Interval": "Approx 90ms", "RX Interval": "Approx 90ms"})
    90
    >>> agreed_interval_ms({"TX Interval": "Approx 90ms", "RX Interval": "Approx 1000ms"})
    """
    sends, receives = (session[f"{way} Interval"] for way in ("TX", "RX"))
    return int(sends.removeprefix("Approx ").removesuffix("ms")) if sends == receives else None


def parse_bfd_show(text: str) -> dict[str, dict[str, str]]:
    """Fields of every session, by interface, from what `ovs-appctl bfd/show` prints.

    Examples
    --------
    >>> parse_bfd_show("---- s1-eth2 ----\\n  Forwarding: true\\n  Detect Multiplier: 3\\n")
    {'s1-eth2': {'Forwarding': 'true', 'Detect Multiplier': '3'}}
    """
    sessions: dict[str, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("---- "):
            fields = sessions.setdefault(line.strip("- "), {})
            continue
        name, colon, value = line.strip().partition(": ")
        if colon:
            fields[name] = value
    return sessions


def wait_until(missing: Callable[[], Sequence[str]], timeout_s: float, what: str) -> float:
    """Wait until `missing()` is empty; returns the seconds it took.

    Raises
    ------
    EmulationTimeoutError
        Something is still missing after `timeout_s`; up to five of them are named.
    """
    started = time.monotonic()
    while left := missing():
        if time.monotonic() - started > timeout_s:
            names = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
            raise EmulationTimeoutError(f"{what} still missing after {timeout_s:g} s: {names}")
        time.sleep(_POLL_S)
    return time.monotonic() - started


def set_bfd_interval(
    groups: Iterable[DaemonGroup], settings: Mapping[str, Sequence[PortSetting]], interval_ms: int
) -> None:
    """Write the BFD interval of every link port into the databases while the network runs.

    Each session then agrees upon it by a poll sequence and stays up (`bfd_probe.wait_bfd_up` waits for that).
    """

    def change(group: DaemonGroup) -> None:
        words = ["ovs-vsctl", "--no-wait", f"--db=unix:{group.db_socket}"]
        for site in group.sites:
            for port in settings[site.name]:
                if port.bfd:
                    words += ["--", "set", "Interface", port.interface, *bfd_settings(interval_ms)]
        if len(words) > 3:
            run_program(words, environment=daemon_environment(group))

    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(change, groups))


def unconnected_switches(groups: Iterable[DaemonGroup]) -> list[str]:
    """Switches that lack a connection to their controller, or one of several."""
    selects = (select("Bridge", "name", "controller"), select("Controller", "_uuid", "is_connected"))
    left = []
    for group in groups:
        try:
            bridges, controllers = read_tables(group.db_socket, "Open_vSwitch", *selects)
        except JsonRpcError:
            left += [site.name for site in group.sites]
            continue
        connected = {row["_uuid"][1] for row in controllers if row["is_connected"]}
        wanted = {row["name"]: set(uuids_column(row["controller"])) for row in bridges}
        left += [site.name for site in group.sites if not wanted.get(site.bridge, {""}) <= connected]
    return left


def dump(site: SwitchSite, command: str) -> str:
    """What `ovs-ofctl` prints for a switch, over its management socket.

    Parameters
    ----------
    command
        For example "dump-flows", "dump-groups" or "dump-ports-desc".
    """
    return run_program(["ovs-ofctl", "-O", "OpenFlow13", command, f"unix:{site.mgmt_socket}"])


def live_ports(site: SwitchSite) -> dict[int, bool]:
    """Whether each port of a switch is live (OFPPS_LIVE), by port number."""
    live: dict[int, bool] = {}
    port = None
    for line in dump(site, "dump-ports-desc").splitlines():
        words = line.split()
        head = line.strip().partition("(")[0]
        if "addr:" in line and head.isdigit():
            port = int(head)
        elif "addr:" in line:
            port = None  # the bridge's own port
        elif port is not None and words[:1] == ["state:"]:
            live[port] = "LIVE" in words[1:]
    return live
