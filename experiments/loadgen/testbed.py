"""One measurement: a control link, a controller behind it, a load on it; everything is gone afterwards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from experiments.loadgen.controllers import OPENFLOW_PORT, Controller, Watched, running
from experiments.loadgen.decide.link import sent_bytes
from experiments.loadgen.decide.load import Load
from experiments.loadgen.decide.packets import HOST_PORTS
from experiments.loadgen.generator import Generator, LoadResult, SwitchRegistry
from experiments.loadgen.link import ControlLink, LinkShape, control_link
from experiments.loadgen.ports import free_port
from experiments.loadgen.real_switch import RealLoad
from experiments.loadgen.switch_line import SwitchLine, switch_line
from experiments.testbed.packet_cost.switch import CostSwitch, cost_switch
from mininet_topos.topology import Topology
from ovsdb_backup.urgency import Urgency

Json = dict[str, Any]
Say = Callable[[str], None]

_METRICS_AFTER = 12  # PSO's connections take the ports before


@dataclass(frozen=True)
class Measured:
    """A load's result and what controller and link were doing meanwhile."""

    result: LoadResult
    cpu_percent: float
    most_rss_mb: float
    first_rss_mb: float
    link_mbps: float | None
    log: str
    link_classes: Json | None
    realtime: bool
    counters: Json | None
    faults: dict[str, int]
    packet_ins: int | None = None
    controller_ended: bool = False

    def to_json(self) -> Json:
        """JSON value."""
        return {
            **self.result.to_json(),
            "controller_cpu_percent": round(self.cpu_percent, 1),
            "controller_rss_mb": round(self.most_rss_mb, 1),
            "controller_first_rss_mb": round(self.first_rss_mb, 1),
            "link_mbps": None if self.link_mbps is None else round(self.link_mbps, 4),
            "link_classes": self.link_classes,
            "realtime": self.realtime,
            "service": self.counters,
            "faults": self.faults,
            "packet_ins": self.packet_ins,
            "controller_ended": self.controller_ended,
        }


@dataclass(frozen=True)
class LoadContext:
    """Where a load runs besides its controller.

    Attributes
    ----------
    shape
        Control link in namespaces of its own (needs root); None: the loopback interface.
    registry
        Its targets and table come from the controller.
    send_buffer_bytes
        Of each connection of a switch; 0: the kernel's choice.
    beside
        (link, controller) -> context that runs while the load does.
    realtime
        Whether generator and controller go before other processes, where the system allows it: other work on the
        machine else shows as delay.
    real_switch
        A private Open vSwitch raises the packet-ins (needs a shape, and one switch), instead of emulated switches.
    line
        With `real_switch`: the switches between the two hosts, all of that Open vSwitch; None: one.
    knows_later_hops
        Whether only the first switch of such a line asks the controller.
    """

    shape: LinkShape | None = None
    registry: SwitchRegistry = field(default_factory=lambda: SwitchRegistry(()))
    send_buffer_bytes: int = 0
    beside: Callable[[ControlLink | None, Watched], Any] | None = None
    realtime: bool = False
    real_switch: bool = False
    line: Topology | None = None
    knows_later_hops: bool = False


def measure(load: Load, controller: Controller, around: LoadContext, progress: Say = lambda _: None) -> Measured:
    """Build, load, take down.

    Raises
    ------
    LoadError
        The controller does not start or does not answer.
    CommandError
        The link cannot be built (not root).
    """
    with ExitStack() as stack:
        switch = _switch(stack, around)
        link = _link(stack, around, switch)
        host, port = ("127.0.0.1", free_port()) if link is None else (link.controller_address, OPENFLOW_PORT)
        metrics_port = port + _METRICS_AFTER
        if controller.has_priority:
            controller = controller.with_metrics(metrics_port)
        watched = stack.enter_context(running(controller, host, port, None if link is None else link.controller_pid))
        targets = controller.targets(host, port, around.send_buffer_bytes)
        registry = replace(
            around.registry, targets=targets, table=controller.table if controller.has_priority else None
        )
        with _loader(load, registry, link, switch) as loader:
            if around.beside is not None:
                stack.enter_context(around.beside(link, watched))
            urgency = Urgency(around.realtime)
            if urgency.is_granted:
                watched.go_first()
            asked = 0 if switch is None else switch.packet_ins()
            before, cpu_s = None if link is None else link.counters(), watched.cpu_s()
            urgency.set(True)
            stack.callback(urgency.set, False)
            result = loader.run(progress)
            spent_s, after = watched.cpu_s() - cpu_s, None if link is None else link.counters()
            packet_ins = None if switch is None else switch.packet_ins() - asked
        watched.sample()
        counters = watched.counters(metrics_port) if controller.has_priority else None
        carried = None if before is None or after is None else sent_bytes(before, after)
        return Measured(
            result,
            cpu_percent=100 * spent_s / result.ran_s,
            most_rss_mb=watched.most_rss_mb,
            first_rss_mb=watched.first_rss_mb,
            link_mbps=None if carried is None else 8 * carried / result.ran_s / 1e6,
            log=watched.said(),
            link_classes=after,
            realtime=urgency.is_granted,
            counters=counters,
            faults=watched.faults(counters),
            packet_ins=packet_ins,
            controller_ended=not watched.is_alive(),
        )


def _switch(stack: ExitStack, around: LoadContext) -> CostSwitch | SwitchLine | None:
    if not around.real_switch:
        return None
    if around.line is None:
        return stack.enter_context(cost_switch(HOST_PORTS))
    return stack.enter_context(switch_line(around.line, knows_later_hops=around.knows_later_hops))


def _link(stack: ExitStack, around: LoadContext, switch: CostSwitch | SwitchLine | None) -> ControlLink | None:
    if around.shape is None:
        return None
    return stack.enter_context(control_link(around.shape, None if switch is None else switch.holder))


def _loader(
    load: Load, registry: SwitchRegistry, link: ControlLink | None, switch: CostSwitch | SwitchLine | None
) -> Generator | RealLoad:
    if switch is not None:
        return RealLoad(switch, load, registry.targets, registry.patience_s)
    return Generator(load, registry) if link is None else Generator(load, registry, link.connect)
