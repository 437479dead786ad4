"""How Open vSwitch is set up for a group of switches: sites, command lines, one `ovs-vsctl` transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulation.decide.control_classes import controller_words
from emulation.decide.options import BFD_MULT
from emulation.decide.wiring import BACKUP_DATABASE_PORT, CONTROLLER_IPV4, Wiring, switch_names
from mininet_topos.errors import BadInputError
from mininet_topos.ports import PortMap
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of, local_mac
from ryu_apps.pmt.rules import PolicyMapTable

ANY_ADDRESS = "0.0.0.0"  # of the switch's own namespace, where nothing but the control address stands
SOCKET_PATH_LIMIT = 107  # sun_path without its closing zero
VSWITCHD, OVSDB_SERVER, AGENT, CONTROLLER_APP = "ovs-vswitchd", "ovsdb-server", "agent", "controller"
PROTECT_SERVICE, REPLAY_AGENT = "protect_service", "replay_agent"


@dataclass(frozen=True, slots=True)
class SwitchSite:
    """Where a switch lives: its name and datapath id, its bridge, its daemons' folder and sockets, its control link."""

    name: str
    dpid: int
    bridge: str
    place: str
    folder: Path
    db_socket: Path
    mgmt_socket: Path
    control_interface: str
    control_ip: str
    controller_ip: str = CONTROLLER_IPV4


@dataclass(frozen=True, slots=True)
class DaemonGroup:
    """One ovsdb-server and one ovs-vswitchd in a place, the switches that they serve, and their message classes.

    With in-band control the place gets its control address only from ovs-vswitchd.

    Attributes
    ----------
    tls
        Folder of certificates, in which the group's is called as its folder; None: no TLS.
    """

    place: str
    folder: Path
    control_ip: str
    sites: tuple[SwitchSite, ...]
    pmt: PolicyMapTable | None = None
    in_band: bool = False
    tls: Path | None = None

    @property
    def db_socket(self) -> Path:
        """Socket of the database server."""
        return self.folder / "db.sock"

    @property
    def vswitchd_control(self) -> Path:
        """Socket that answers `ovs-appctl` for ovs-vswitchd."""
        return self.folder / "ovs-vswitchd.ctl"


@dataclass(frozen=True, slots=True)
class PortSetting:
    """A switch port as the database holds it; `bfd` tells whether a link (not a host) is behind it."""

    interface: str
    port_no: int
    bfd: bool


def plan_groups(
    topology: Topology, ports: PortMap, wiring: Wiring, run_dir: Path, pmt: PolicyMapTable | None = None
) -> tuple[DaemonGroup, ...]:
    """Daemon groups of a network, one a place with switches.

    Raises
    ------
    BadInputError
        `run_dir` is so long that the path of a Unix socket in it does not fit.
    """
    names = switch_names(topology, ports)
    groups = []
    for place in wiring.switch_places:
        members = [node for node in topology.node_names if wiring.place_of[node] == place]
        folder = run_dir / names.get(place, place)
        _check_socket_path(folder / "ovs-vswitchd.ctl", run_dir)
        control_ip = wiring.control_ipv4_of[place]
        sites = tuple(
            SwitchSite(
                name=node,
                dpid=dpid_of(topology, node),
                bridge=names[node],
                place=place,
                folder=folder,
                db_socket=folder / "db.sock",
                mgmt_socket=folder / f"{names[node]}.mgmt",
                control_interface=wiring.control_interface_of[place],
                control_ip=control_ip,
            )
            for node in members
        )
        groups.append(DaemonGroup(place, folder, control_ip, sites, pmt, wiring.in_band))
    return tuple(groups)


def _check_socket_path(path: Path, run_dir: Path) -> None:
    if len(str(path)) > SOCKET_PATH_LIMIT:
        raise BadInputError(
            f"run folder {str(run_dir)!r} is too long for Unix sockets ({path.name} in it needs {len(str(path))} of "
            f"{SOCKET_PATH_LIMIT} characters); use a shorter one"
        )


def port_settings(ports: PortMap, wiring: Wiring, node: str) -> tuple[PortSetting, ...]:
    """Ports of a switch in number order: the host's, then the links'."""
    numbers = sorted(port for name, port in wiring.interface_of if name == node)
    return tuple(
        PortSetting(wiring.interface_of[node, port], port, bfd=(node, port) in ports.direction_at) for port in numbers
    )


def vsctl_arguments(
    group: DaemonGroup, settings: Mapping[str, Sequence[PortSetting]], datapath_type: str, bfd_interval_ms: int
) -> list[str]:
    """One `ovs-vsctl` command line that sets up all bridges of a group before their ovs-vswitchd starts.

    Every port gets the QoS type linux-noop: without it Open vSwitch deletes any root qdisc that it did
    not make whenever it looks at the port.

    Parameters
    ----------
    settings : mapping of switch name to its ports
    datapath_type : "netdev" or "system"
    """
    words = [
        "ovs-vsctl",
        "--no-wait",
        f"--db=unix:{group.db_socket}",
        "--",
        "--id=@noop",
        "create",
        "qos",
        "type=linux-noop",
    ]
    threads = ("other_config:n-handler-threads=1", "other_config:n-revalidator-threads=1")
    words += ["--", "set", "Open_vSwitch", ".", *threads]
    for site in group.sites:
        words += _bridge_words(site, datapath_type)
        words += [f"other_config:hwaddr={local_mac(site.dpid)}"] if group.in_band else []
        words += controller_words(site.bridge, group.pmt, tls=group.tls is not None)
        for port in settings[site.name]:
            words += _port_words(site.bridge, port, bfd_interval_ms)
    return words


def _bridge_words(site: SwitchSite, datapath_type: str) -> list[str]:
    bridge = (
        f"datapath_type={datapath_type}",
        "fail_mode=secure",
        "protocols=OpenFlow13",
        f"other_config:datapath-id={site.dpid:016x}",
        "other_config:disable-in-band=true",
    )
    return ["--", "add-br", site.bridge, "--", "set", "Bridge", site.bridge, *bridge]


def _port_words(bridge: str, port: PortSetting, bfd_interval_ms: int) -> list[str]:
    words = ["--", "add-port", bridge, port.interface, "--", "set", "Port", port.interface, "qos=@noop"]
    words += ["--", "set", "Interface", port.interface, f"ofport_request={port.port_no}"]
    return words + list(bfd_settings(bfd_interval_ms)) if port.bfd else words


def bfd_settings(interval_ms: int) -> tuple[str, ...]:
    """BFD columns of an interface that a link is behind (ovs-vswitchd.conf.db(5), RFC 5880)."""
    return ("bfd:enable=true", f"bfd:min_tx={interval_ms}", f"bfd:min_rx={interval_ms}", f"bfd:mult={BFD_MULT}")


def ovsdb_server_command(group: DaemonGroup, databases: Sequence[Path]) -> list[str]:
    """Command line of the database server of a group.

    It listens on the control link, too: the controller writes backup rows, message classes and queues.
    """
    address = ANY_ADDRESS if group.in_band else group.control_ip
    method = "ptcp" if group.tls is None else "pssl"
    remotes = [f"--remote=punix:{group.db_socket}", f"--remote={method}:{BACKUP_DATABASE_PORT}:{address}"]
    return [OVSDB_SERVER, *map(str, databases), *remotes, *_daemon_words(group, OVSDB_SERVER)]


def vswitchd_command(group: DaemonGroup) -> list[str]:
    """Command line of ovs-vswitchd of a group; its bridges' management sockets stand in the group's folder."""
    return [VSWITCHD, f"unix:{group.db_socket}", *_daemon_words(group, VSWITCHD)]


def _daemon_words(group: DaemonGroup, program: str) -> list[str]:
    folder = group.folder
    return [
        *([] if group.tls is None else identity_words(group.tls, folder.name)),
        f"--unixctl={folder / program}.ctl",
        f"--pidfile={folder / program}.pid",
        f"--log-file={folder / program}.log",
        "--no-chdir",
        "-vconsole:off",
        "-vsyslog:off",
        "-vfile:info",
    ]


def identity_words(folder: Path, name: str) -> list[str]:
    """Options of TLS, for programs of Open vSwitch and of Armor alike (files as machine/authority.py names them)."""
    key, certificate, authority = folder / f"{name}.key", folder / f"{name}.pem", folder / "authority.pem"
    return [f"--private-key={key}", f"--certificate={certificate}", f"--ca-cert={authority}"]


def daemon_environment(group: DaemonGroup) -> dict[str, str]:
    """Environment of every Open vSwitch program of a group, so that nothing of the system's is used."""
    folder = str(group.folder)
    return {"OVS_RUNDIR": folder, "OVS_LOGDIR": folder, "OVS_DBDIR": folder, "OVS_SYSCONFDIR": folder}
