"""SQR in an emulated network: virtual ports that keep copies before the ports of some links, and replay agents."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict

from dataplane.decide.sqr import SqrPort
from dataplane.devices import add_virtual_port
from dataplane.drop_program import drop_program
from dataplane.model.switch import Backstop
from dataplane.sqr import SqrSwitch, find_agent
from emulation.bridge_ports import add_bridge_port
from emulation.decide.switch import REPLAY_AGENT
from emulation.running import RunningNetwork
from experiments.scenario.values import Replay
from experiments.testbed.instruments.port_watch import PortStates
from mininet_topos.errors import BadInputError
from ryu_apps.plan.choices import NO_MODE, uses_agent
from ryu_apps.plan.sqr.plan import replayed_links, virtual_ports

_START_S = 10.0
_WATCH_S = 0.1
# Or four times the rate at which the packets came. A bridge in user space reads each port from a socket that holds some
# 250 packets and may have to wait for a processor; and what is given back crosses a dozen of them, all on one machine.
_REPLAY_PPS = 2_000.0
_AGENT_MS = 300.0  # from the moment at which a sending fails to the rows of the agent, on a busy machine


def virtual_names(short: str, port_no: int) -> tuple[str, str]:
    """Interfaces of the virtual port before a link port: the bridge's, and the one under the packet program."""
    return f"{short}-q{port_no}", f"{short}-q{port_no}x"


def sqr_ports(
    replay: Replay, wait_to_restore_s: float, mode: str = NO_MODE
) -> Callable[[RunningNetwork], AbstractContextManager[Mapping[str, SqrSwitch]]]:
    """Part of a network (`EmulatedNetwork(parts=...)`): SQR at both ends of some links, with supervised replay agents.

    With agents (`mode`) a port gives nothing back before they have had time to put their rows there. The agents are
    notified of a port that Open vSwitch finds down (BFD); one that has been live for `wait_to_restore_s` again gets
    its traffic back.

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
        by_node: dict[str, dict[int, SqrPort]] = {}
        for (node, port_no), virtual in virtual_ports(topology, replayed_links(topology, replay.links)).items():
            outer, inner = virtual_names(network.sites[node].bridge, port_no)
            add_virtual_port(network.shell_pid(node), outer, inner, network.options.mtu_bytes)
            add_bridge_port(network, node, outer, virtual)
            # The window goes back into the bridge, whose rows know the way on.
            primary = network.interface(node, port_no)
            by_node.setdefault(node, {})[port_no] = _port(replay, inner, primary, mode)
        with ExitStack() as stack:
            network.drop_program = stack.enter_context(drop_program())
            switches = {
                node: stack.enter_context(_supervised(network, node, list(ports.values()), replay.backstop))
                for node, ports in by_node.items()
            }
            stack.callback(_note_counters, network, switches, by_node)
            over = threading.Event()
            watcher = threading.Thread(
                target=_watch, args=(network, switches, by_node, wait_to_restore_s, over), daemon=True
            )
            watcher.start()
            stack.callback(watcher.join)
            stack.callback(over.set)
            yield switches

    return part


@contextmanager
def _supervised(
    network: RunningNetwork, node: str, ports: Sequence[SqrPort], backstop: Backstop | None
) -> Iterator[SqrSwitch]:
    """SQR at the ports of a switch; the network's supervisor starts the replay agent, again when it has ended.

    All that an agent must know is in the rings and their control blocks, so the next one goes on with it.
    """
    with SqrSwitch(network.shell_pid(node), ports, backstop=backstop, start=False) as switch:
        network.start_helper(REPLAY_AGENT, node, switch.command, switch.log)
        try:
            switch.wait_for(lambda events: any(event.event == "ready" for event in events), _START_S)
            yield switch
        finally:
            network.end_helper(REPLAY_AGENT, node)


def _port(replay: Replay, inner: str, primary: str, mode: str) -> SqrPort:
    wait_ms = replay.reconfiguration_ms
    return SqrPort(
        device=inner,
        primary=primary,
        backup=inner,
        slots=replay.slots,
        delta_ms=replay.delta_ms,
        reconfiguration_ms=(_AGENT_MS if uses_agent(mode) else 0.0) if wait_ms is None else wait_ms,
        margin=replay.margin,
        marking=replay.marked,
        replay_pps=_REPLAY_PPS,
    )


def _watch(
    network: RunningNetwork,
    switches: Mapping[str, SqrSwitch],
    ports: Mapping[str, Mapping[int, SqrPort]],
    wait_s: float,
    over: threading.Event,
) -> None:
    """Notify of ports that BFD finds down, and give ports their traffic back once they have been live long enough."""
    live_since: dict[tuple[str, int], float | None] = {}
    states = PortStates({node: str(network.sites[node].mgmt_socket) for node in switches})
    while not over.is_set():
        for change in states.changes(_WATCH_S):
            port = ports[change.node].get(change.port_no)
            if port is None:
                continue
            key = change.node, change.port_no
            # Before its session is up for the first time, a port is not down.
            if not change.live and live_since.get(key) is not None:
                switches[change.node].fail(port.device)
            live_since[key] = change.t_s if change.live else None
        now_s = time.monotonic()
        for (node, port_no), since_s in live_since.items():
            device = ports[node][port_no].device
            if since_s is not None and now_s - since_s >= wait_s and switches[node].state(device) == "backup":
                with suppress(BadInputError):  # its agent has ended since, and is being started again
                    switches[node].restore(device)
    states.close()


def _note_counters(
    network: RunningNetwork, switches: Mapping[str, SqrSwitch], ports: Mapping[str, Mapping[int, SqrPort]]
) -> None:
    """Write what every port has done, and when failures were seen, beside the logs of its switch."""
    for node, switch in switches.items():
        site = network.sites[node]
        lines = [
            {"port": port.primary, "state": switch.state(port.device), **asdict(switch.counters(port.device))}
            for port in ports[node].values()
        ]
        events = [{"event": each.event, "port": each.port, "t_ns": each.t_ns, **each.facts} for each in switch.events()]
        text = "".join(json.dumps(line) + "\n" for line in (*events, *lines))
        (site.folder / f"sqr-{site.bridge}.log").write_text(text, encoding="utf-8")
