"""Put the cables of a wiring plan into namespaces: addresses, neighbours, offloads, traffic control."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from emulation.decide.control_classes import control_queue_setup
from emulation.decide.delay_line import relayed_interfaces
from emulation.decide.options import EmulationOptions
from emulation.decide.queues import QueueFacts
from emulation.decide.traffic import PortShape, control_tc_plan, port_shapes, port_tc_plan
from emulation.decide.wiring import CONTROLLER, Wiring, cable_lines, host_lines, place_lines
from emulation.features import KernelFeatures
from emulation.runfile import RunFile
from machine.places import disable_ipv6, inside, pin_receive, run_batch, run_program, usable_processor
from mininet_topos.errors import MissingRequirementError
from mininet_topos.ports import PortMap
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import Host

_PARALLEL = 8
_OFFLOADS = ("tx", "tso", "gso", "gro")


def build_cables(wiring: Wiring, hosts: Mapping[str, Host], pid_of: Mapping[str, int], run_file: RunFile) -> None:
    """Create all cables and give every place its addresses.

    Parameters
    ----------
    hosts : mapping of switch name to its host
    pid_of : mapping of place to a process in it
    run_file
        The interfaces are written down there first.

    Raises
    ------
    CommandError
        The kernel refuses something.
    """
    by_name = {host.name: host for host in hosts.values()}

    def settle(place: str) -> None:
        lines = place_lines(wiring, place)
        if place in by_name:
            lines += host_lines(by_name[place], by_name.values())
        run_batch(pid_of[place], ["ip", "-batch", "-"], lines)
        # TCP through the userspace datapath or the delay line stalls on packets whose checksum is left to the card.
        for interface in (f"{place}-eth0",) if place in by_name else _whole_frame_interfaces(wiring, place):
            words = [word for name in _OFFLOADS for word in (name, "off")]
            run_program(inside(pid_of[place], ["ethtool", "-K", interface, *words]))

    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(disable_ipv6, pid_of.values()))
        run_file.add_all(
            {"kind": "interface", "place": end.place, "name": end.interface}
            for cable in wiring.cables
            for end in (cable.a, cable.b)
        )
        run_batch(None, ["ip", "-batch", "-"], cable_lines(wiring.cables, pid_of))
        list(pool.map(settle, pid_of))


def _whole_frame_interfaces(wiring: Wiring, place: str) -> tuple[str, ...]:
    """Interfaces of a place that is no host, behind which nobody fills checksums in."""
    in_band = tuple(wiring.controller_interface_of.values()) if wiring.in_band and place == CONTROLLER else ()
    return (*relayed_interfaces(wiring, place), *in_band)


def place_shapes(
    topology: Topology,
    ports: PortMap,
    wiring: Wiring,
    options: EmulationOptions,
    *,
    netem: bool,
    kernel_datapath: bool,
    facts: QueueFacts | None = None,
) -> dict[str, tuple[PortShape, ...]]:
    """Shapes of the link ports by place of switches.

    Raises
    ------
    BadInputError
        Priority queues on a link without capacity.
    """
    interface_of = {link: wiring.interface_of[link.src, ports.port_of[link.direction]] for link in topology.links}
    members = {
        place: [node for node in topology.node_names if wiring.place_of[node] == place]
        for place in wiring.switch_places
    }
    return {
        place: port_shapes(
            topology, options, interface_of, nodes, netem=netem, kernel_datapath=kernel_datapath, facts=facts
        )
        for place, nodes in members.items()
    }


def traffic_plan(
    topology: Topology,
    ports: PortMap,
    wiring: Wiring,
    options: EmulationOptions,
    features: KernelFeatures,
    *,
    kernel_datapath: bool,
    facts: QueueFacts | None = None,
) -> dict[str, list[str]]:
    """Lines for `tc -batch` by place; places without any are left out.

    Raises
    ------
    MissingRequirementError
        The kernel lacks a queueing discipline that the options need.
    BadInputError
        Priority queues on a link without capacity.
    """
    plan: dict[str, list[str]] = {}
    shapes_of = place_shapes(
        topology, ports, wiring, options, netem=features.netem, kernel_datapath=kernel_datapath, facts=facts
    )
    for place, shapes in shapes_of.items():
        plan[place] = [line for shape in shapes for line in port_tc_plan(shape)]
        plan[place] += _control_lines(wiring.control_interface_of[place], options)
    plan[CONTROLLER] = [
        line for name in wiring.controller_interface_of.values() for line in _control_lines(name, options)
    ]
    _require(plan, features)
    return {place: lines for place, lines in plan.items() if lines}


def _control_lines(interface: str, options: EmulationOptions) -> list[str]:
    setup = control_queue_setup(options.pmt) if options.pmt and options.pmt.rules else None
    return control_tc_plan(interface, options.control_rate_mbps, options.control_delay_ms, setup)


def _require(plan: Mapping[str, Sequence[str]], features: KernelFeatures) -> None:
    words = {word for lines in plan.values() for line in lines for word in line.split()}
    for feature in ("htb", "u32", "netem"):
        if feature in words and not getattr(features, feature):
            raise MissingRequirementError(
                f"kernel {features.release} has no {feature} ({features.reason(feature)}); "
                + ("leave control_delay_ms out" if feature == "netem" else "run with shape=False")
            )


def apply_traffic(
    plan: Mapping[str, Sequence[str]], wiring: Wiring, pid_of: Mapping[str, int], run_file: RunFile
) -> None:
    """Build the traffic-control trees of a plan; one processor receives what each sends, so that it keeps its order.

    Raises
    ------
    CommandError
        `tc` refuses a line, or the kernel a processor.
    """
    pinned = _receivers(roots(plan), wiring)
    for place, interface in roots(plan):
        run_file.add("qdisc", place=place, interface=interface)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(lambda place: pin_receive(pid_of[place], pinned[place]), pinned))
        list(pool.map(lambda place: run_batch(pid_of[place], ["tc", "-batch", "-"], plan[place]), plan))


def _receivers(senders: Sequence[tuple[str, str]], wiring: Wiring) -> dict[str, dict[str, int]]:
    """A processor for each interface at the other end of a (place, interface), by place; they take turns."""
    ends = [ends for cable in wiring.cables for ends in ((cable.a, cable.b), (cable.b, cable.a))]
    far_end_of = {(near.place, near.interface): far for near, far in ends}
    # A bridge's own interface has no cable (in-band control shapes it too).
    far_ends = [far_end_of[sender] for sender in senders if sender in far_end_of]
    pinned: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for number, far in enumerate(far_ends):
        pinned[far.place][far.interface] = usable_processor(number)
    return pinned


def roots(plan: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """(place, interface) of every root qdisc that a traffic plan makes."""
    return [(place, line.split()[3]) for place, lines in plan.items() for line in lines if " root " in line]


def lost_trees(plan: Mapping[str, Sequence[str]], pid_of: Mapping[str, int]) -> list[str]:
    """Interfaces whose root qdisc is not the planned one any more (Open vSwitch deletes what it did not make)."""
    lost = []
    for place in plan:
        shown = run_program(inside(pid_of[place], ["tc", "qdisc", "show"]))
        kept = {line.split()[4] for line in shown.splitlines() if line.split()[2:3] == ["1:"] and " root " in line}
        lost += [interface for where, interface in roots(plan) if where == place and interface not in kept]
    return lost
