"""Which cables an emulated network has: namespaces ("places"), interface names, addresses, `ip` commands.

Nothing stands in the root namespace: every interface is created inside the namespace that uses it, so
two runs on one machine cannot meet. A place is a host (h3), a switch (s3), the one place that holds
all switches of a shared daemon ("ovs"), the controller, or what stands in the middle of delayed links ("delay").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address

from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, PortMap
from mininet_topos.topology import Topology
from ryu_apps.plan import addressing
from ryu_apps.plan.addressing import CONTROL_BITS, Host, dpid_of, local_mac
from ryu_apps.plan.ids import CONTROL_PORT

CONTROLLER = "controller"
SHARED_PLACE = "ovs"
DELAY_PLACE = "delay"
CONTROLLER_IPV4 = str(IPv4Address(addressing.CONTROLLER_IPV4))
OPENFLOW_PORT = 6653
BACKUP_DATABASE_PORT = 6641
NODE_SERVICE_PORT = 6655  # of 1+1 protection, beside a switch
HOST_MTU_BYTES = 1500
MAX_INTERFACE_NAME = 15  # IFNAMSIZ - 1
MAX_SWITCH_NAME = MAX_INTERFACE_NAME - len("ctl-")


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable: the place, the interface's name there, its MTU, MAC address and number (None: any)."""

    place: str
    interface: str
    mtu_bytes: int
    mac: str | None = None
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Cable:
    """A pair of joined interfaces."""

    a: End
    b: End


@dataclass(frozen=True)
class Wiring:
    """All cables of an emulated network.

    `interface_of` names the interface of a switch port; `place_of` the namespace of a switch;
    `control_interface_of` and `control_ipv4_of` belong to the control link of a place with switches; with in-band
    control they belong to the bridge's own interface, and there is one cable to the controller.
    """

    cables: tuple[Cable, ...]
    interface_of: dict[tuple[str, int], str]
    place_of: dict[str, str]
    control_interface_of: dict[str, str]
    control_ipv4_of: dict[str, str]
    controller_interface_of: dict[str, str]
    in_band: bool = False

    @property
    def switch_places(self) -> tuple[str, ...]:
        """Places that hold switches, in order."""
        return tuple(self.control_interface_of)


def switch_names(topology: Topology, ports: PortMap) -> dict[str, str]:
    """Short name of every switch, for interfaces, bridges and folders: its own when all fit, else s<number>.

    Raises
    ------
    BadInputError
        A node is called like a host, the controller or a helper of ours: two namespaces would share a name.
    """
    names = topology.node_names
    reserved = {f"h{number}" for number in range(1, len(names) + 1)} | {CONTROLLER, SHARED_PLACE, DELAY_PLACE}
    for name in names:
        if name in reserved:
            raise BadInputError(
                f"node {name!r} is called like a host, the controller or another place of the emulation; rename it"
            )
    longest = max((len(f"{node}-eth{port}") for node, port in ports.direction_at), default=0)
    plain = longest <= MAX_INTERFACE_NAME and all(
        name.isascii() and name.isalnum() and len(name) <= MAX_SWITCH_NAME for name in names
    )
    return {name: name if plain else f"s{number}" for number, name in enumerate(names, start=1)}


def control_ipv4(number: int) -> str:
    """Address of control link `number` (from 1) on the switch side: 10.255.number/256.number%256."""
    return str(IPv4Address(addressing.control_ipv4(number)))


def port_mac(dpid: int, port_no: int) -> str:
    """Locally administered MAC address of a switch port; no host has it (those start with 02:00)."""
    return f"02:01:{dpid >> 8:02x}:{dpid & 0xFF:02x}:{port_no >> 8:02x}:{port_no & 0xFF:02x}"


def plan_wiring(
    topology: Topology,
    ports: PortMap,
    hosts: Mapping[str, Host],
    mtu_bytes: int,
    shared: bool,
    *,
    in_band_at: str | None = None,
) -> Wiring:
    """Cables of a topology: one a link, one a host, one control link a place with switches.

    With `in_band_at` there is one control cable instead, to a port of that switch.
    """
    names = switch_names(topology, ports)
    place_of = {node: SHARED_PLACE if shared else node for node in topology.node_names}
    interface_of = {(node, port): f"{names[node]}-eth{port}" for node, port in ports.direction_at}
    interface_of |= {(node, HOST_PORT): f"{names[node]}-eth{HOST_PORT}" for node in topology.node_names}

    def port_end(node: str, port: int) -> End:
        mac = port_mac(dpid_of(topology, node), port)
        return End(place_of[node], interface_of[node, port], mtu_bytes, mac)

    cables = []
    for link_id in topology.link_ids:
        there, back = topology.directions(link_id)
        cables.append(Cable(port_end(there.src, ports.port_of[there]), port_end(back.src, ports.port_of[back])))
    for node, host in hosts.items():
        host_end = End(host.name, f"{host.name}-eth0", HOST_MTU_BYTES, host.mac)
        cables.append(Cable(port_end(node, HOST_PORT), host_end))
    places = tuple(dict.fromkeys(place_of.values()))
    control_ipv4_of = {place: control_ipv4(number) for number, place in enumerate(places, start=1)}
    short = {place: names.get(place, place) for place in places}
    if in_band_at is not None:
        interface_of[in_band_at, CONTROL_PORT] = f"{names[in_band_at]}-ctl"
        controller = {place_of[in_band_at]: f"ctl-{names[in_band_at]}"}
        far_end = End(CONTROLLER, controller[place_of[in_band_at]], HOST_MTU_BYTES, local_mac(0))
        cables.append(Cable(port_end(in_band_at, CONTROL_PORT), far_end))
        return Wiring(tuple(cables), interface_of, place_of, short, control_ipv4_of, controller, in_band=True)
    control = {place: f"{short[place]}-ctl" for place in places}
    controller = {place: f"ctl-{short[place]}" for place in places}
    cables += [
        Cable(End(place, control[place], HOST_MTU_BYTES), End(CONTROLLER, controller[place], HOST_MTU_BYTES))
        for place in places
    ]
    return Wiring(tuple(cables), interface_of, place_of, control, control_ipv4_of, controller)


def cable_lines(cables: Iterable[Cable], pid_of: Mapping[str, int]) -> list[str]:
    """Lines for `ip -batch` that create the cables with each end inside its place's namespace.

    Parameters
    ----------
    pid_of : mapping of place to process id
        A process that lives in the namespace of the place.
    """

    def end(cable_end: End) -> str:
        address = f" address {cable_end.mac}" if cable_end.mac else ""
        index = f" index {cable_end.index}" if cable_end.index else ""
        return f"name {cable_end.interface} mtu {cable_end.mtu_bytes}{address}{index} netns {pid_of[cable_end.place]}"

    return [f"link add {end(cable.a)} type veth peer {end(cable.b)}" for cable in cables]


def place_lines(wiring: Wiring, place: str) -> list[str]:
    """Lines for `ip -batch`, run inside a place: interfaces up, addresses on the control link."""
    ends = [end for cable in wiring.cables for end in (cable.a, cable.b) if end.place == place]
    lines = ["link set lo up", *(f"link set {end.interface} up" for end in ends)]
    if wiring.in_band:
        # A switch has its address on the bridge's own interface, which is not there yet.
        return lines + [
            f"addr add {CONTROLLER_IPV4}/{CONTROL_BITS} dev {interface}"
            for interface in wiring.controller_interface_of.values()
            if place == CONTROLLER
        ]
    if place == CONTROLLER:
        lines += [
            f"addr add {CONTROLLER_IPV4} peer {wiring.control_ipv4_of[other]} dev {interface}"
            for other, interface in wiring.controller_interface_of.items()
        ]
    elif place in wiring.control_interface_of:
        own, interface = wiring.control_ipv4_of[place], wiring.control_interface_of[place]
        lines.append(f"addr add {own} peer {CONTROLLER_IPV4} dev {interface}")
    return lines


def host_lines(host: Host, hosts: Iterable[Host]) -> list[str]:
    """Lines for `ip -batch`, run inside a host: its address and a fixed neighbour entry for every other host."""
    interface = f"{host.name}-eth0"
    lines = [f"addr add {host.address}/16 dev {interface}"]
    lines += [
        f"neigh replace {other.address} lladdr {other.mac} dev {interface} nud permanent"
        for other in hosts
        if other.name != host.name
    ]
    return lines
