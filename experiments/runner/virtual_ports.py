"""SQR in an emulated network: virtual ports that keep copies before the ports of some links, and replay agents."""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict

from dataplane.devices import add_virtual_port
from dataplane.sqr import SqrSwitch, find_agent
from dataplane.sqr_core import SqrPort
from experiments.scenario.values import Replay
from mininet_topos.emulation.bridge_ports import add_bridge_port
from mininet_topos.emulation.places import call_inside
from mininet_topos.emulation.running import RunningNetwork
from ryu_apps.plan.sqr.plan import replayed_links, virtual_ports

_WATCH_S = 0.2
_SIOCGIFFLAGS, _IFF_RUNNING = 0x8913, 0x40


def virtual_names(short: str, port_no: int) -> tuple[str, str]:
    """Interfaces of the virtual port before a link port: the bridge's, and the one under the packet program."""
    return f"{short}-q{port_no}", f"{short}-q{port_no}x"


def sqr_ports(
    replay: Replay, wait_to_restore_s: float
) -> Callable[[RunningNetwork], AbstractContextManager[Mapping[str, SqrSwitch]]]:
    """Part of a network (`EmulatedNetwork(parts=...)`): SQR at both ends of some links.

    A port whose carrier has been back for `wait_to_restore_s` gets its traffic back.

    Raises
    ------
    MissingRequirementError
        Packet program or agent were not built.
    CommandError, SqrAgentError
        A port or an agent cannot be made.
    """

    @contextmanager
    def part(network: RunningNetwork) -> Iterator[Mapping[str, SqrSwitch]]:
        find_agent()
        topology = network.topology
        by_node: dict[str, list[SqrPort]] = {}
        for (node, port_no), virtual in virtual_ports(topology, replayed_links(topology, replay.links)).items():
            outer, inner = virtual_names(network.sites[node].bridge, port_no)
            add_virtual_port(network.shell_pid(node), outer, inner, network.options.mtu_bytes)
            add_bridge_port(network, node, outer, virtual)
            # The window goes back into the bridge, whose rows know the way on.
            primary = network.interface(node, port_no)
            port = SqrPort(inner, primary, inner, replay.slots, replay.delta_ms, margin=replay.margin)
            by_node.setdefault(node, []).append(port)
        with ExitStack() as stack:
            switches = {
                node: stack.enter_context(SqrSwitch(network.shell_pid(node), ports)) for node, ports in by_node.items()
            }
            stack.callback(_note_counters, network, switches, by_node)
            over = threading.Event()
            watcher = threading.Thread(
                target=_give_back, args=(network, switches, by_node, wait_to_restore_s, over), daemon=True
            )
            watcher.start()
            stack.callback(watcher.join)
            stack.callback(over.set)
            yield switches

    return part


def _give_back(
    network: RunningNetwork,
    switches: Mapping[str, SqrSwitch],
    ports: Mapping[str, Sequence[SqrPort]],
    wait_s: float,
    over: threading.Event,
) -> None:
    """Give ports their traffic back once their carrier has been there long enough."""
    back_since: dict[tuple[str, str], float] = {}
    while not over.wait(_WATCH_S):
        for node, switch in switches.items():
            for port in ports[node]:
                key = node, port.device
                if switch.state(port.device) != "backup" or not has_carrier(network.shell_pid(node), port.primary):
                    back_since.pop(key, None)
                elif time.monotonic() - back_since.setdefault(key, time.monotonic()) >= wait_s:
                    switch.restore(port.device)
                    back_since.pop(key)


def has_carrier(pid: int, interface: str) -> bool:
    """Whether an interface in the namespace of a process is up and sees its other end."""

    def ask() -> bool:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            answer = fcntl.ioctl(control, _SIOCGIFFLAGS, struct.pack("16sH14x", interface.encode(), 0))
        return bool(struct.unpack_from("H", answer, 16)[0] & _IFF_RUNNING)

    return call_inside(pid, ask)


def _note_counters(
    network: RunningNetwork, switches: Mapping[str, SqrSwitch], ports: Mapping[str, Sequence[SqrPort]]
) -> None:
    """Write what every port has done, and when failures were seen, beside the logs of its switch."""
    for node, switch in switches.items():
        site = network.sites[node]
        lines = [
            {"port": port.primary, "state": switch.state(port.device), **asdict(switch.counters(port.device))}
            for port in ports[node]
        ]
        events = [{"event": each.event, "port": each.port, "t_ns": each.t_ns, **each.facts} for each in switch.events()]
        text = "".join(json.dumps(line) + "\n" for line in (*events, *lines))
        (site.folder / f"sqr-{site.bridge}.log").write_text(text, encoding="utf-8")
