"""Measure what each way through a switch costs a packet: every way, found in every way, repetition by repetition.

The switch is stopped while a burst waits in its port's buffer, so that it always works on full batches: otherwise a
cheaper way would get smaller batches, and the fixed cost of a batch would hide what is to be measured. Cost is the CPU
time of the thread that forwards, all included. Other work on the machine can only add to it, so the result is that of
the least disturbed tenth of the bursts (`typical_cost`), with the median beside. A result whose packets were lost, left
by another port, or were found otherwise than they were to be, is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from experiments.campaign.kinds.cost import CostMeasured, CostParameters, PathCost
from experiments.testbed.packet_cost.decide.counters import LOOKUPS, count_complaint, counted_since
from experiments.testbed.packet_cost.decide.paths import CostPath, cost_paths, link_ports
from experiments.testbed.packet_cost.decide.summary import typical_cost
from experiments.testbed.packet_cost.switch import CostSwitch, cost_switch, far_end
from experiments.testbed.packet_cost.wire import FRAME_BYTES, Wire, frame_of
from machine.places import call_inside
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError
from mininet_topos.ports import HOST_PORT

TOPOLOGY = "darkstrand"
_PAUSE_S = 0.001  # between two frames whose delay is taken: the switch is idle again
_ARRIVAL_TIMEOUT_S = 3.0
Progress = Callable[[str], None]
_USUAL = CostParameters()


class Session:
    """A private switch and the ways to measure; made by `session`."""

    def __init__(
        self, switch: CostSwitch, paths: tuple[CostPath, ...], own: CostParameters, progress: Progress
    ) -> None:
        self._switch, self._paths, self._own, self._progress = switch, paths, own, progress

    def run(self, repetition: int) -> CostMeasured:
        """Measure everything once; the order of the ways turns round with every repetition.

        Parameters
        ----------
        repetition
            Counted from 1; kept in the row.

        Raises
        ------
        ArmorError
            Packets were lost, took another way, or were found otherwise than they were to be.
        """
        paths = self._paths if repetition % 2 else self._paths[::-1]
        results = []
        for lookup in LOOKUPS:
            self._switch.set_lookup(lookup)
            for path in paths:
                self._progress(f"{path.name}, {lookup}")
                results.append(self._measure(path, lookup))
        return CostMeasured(repetition, "netdev", TOPOLOGY, self._paths[0].plan.node, FRAME_BYTES, tuple(results))

    def _measure(self, path: CostPath, lookup: str) -> PathCost:
        switch = self._switch
        switch.install(path.plan)
        if path.failed_port is not None:
            switch.set_link(path.failed_port, live=False)
        try:
            switch.forget_flows()
            with call_inside(switch.holder, lambda: _wire(path, self._own.burst_pkts)) as wire:
                counts, bursts_ns = self._bursts_through(wire, path, lookup)
                delay_us = median(_delays_us(wire, self._own.delays))
        finally:
            if path.failed_port is not None:
                switch.set_link(path.failed_port, live=True)
        return PathCost(
            path=path.name,
            lookup=lookup,
            cached=lookup != "none",
            ns_per_packet=typical_cost(bursts_ns) / self._own.burst_pkts,
            median_ns_per_packet=median(bursts_ns) / self._own.burst_pkts,
            packets=self._own.burst_pkts * self._own.bursts,
            delay_us=delay_us,
            hits={"exact": counts["exact"], "megaflow": counts["megaflow"], "upcall": counts["none"]},
            flows=len(path.plan.flows),
            hops=path.hops,
        )

    def _bursts_through(self, wire: Wire, path: CostPath, lookup: str) -> tuple[dict[str, int], list[int]]:
        """What was counted, and the CPU time of each burst in nanoseconds."""
        self._burst_ns(wire, path)  # fills the caches
        before = self._switch.counters()
        bursts_ns = [self._burst_ns(wire, path) for _ in range(self._own.bursts)]
        counts = counted_since(before, self._switch.counters())
        complaint = count_complaint(counts, lookup, self._own.burst_pkts * self._own.bursts)
        if complaint:
            raise ArmorError(f"way {path.name!r} was not measured: {complaint}")
        return counts, bursts_ns

    def _burst_ns(self, wire: Wire, path: CostPath) -> int:
        """Send a burst to the stopped switch; CPU time until it is stopped again, after the last packet has left."""
        packets = self._own.burst_pkts
        with self._stopped():
            began_ns = self._switch.cpu_ns()
            wire.send(packets)
        arrived = wire.await_arrivals(packets, _ARRIVAL_TIMEOUT_S)
        if arrived != packets:
            raise ArmorError(
                f"way {path.name!r}: {arrived} of {packets} packets left by port {path.out_port}; is the machine busy?"
            )
        with self._stopped():
            return self._switch.cpu_ns() - began_ns

    @contextmanager
    def _stopped(self) -> Iterator[None]:
        self._switch.stop()
        try:
            yield
        finally:
            self._switch.resume()


@contextmanager
def session(own: CostParameters = _USUAL, progress: Progress = lambda _: None) -> Iterator[Session]:
    """Plan the ways and start a private switch for them; everything is undone at the end.

    Parameters
    ----------
    progress : callable
        Called with what is measured now.

    Raises
    ------
    MissingRequirementError
        Not root, or Open vSwitch is not installed.
    """
    topology = load_topology(TOPOLOGY)
    paths = cost_paths(topology)
    ports = (HOST_PORT, *link_ports(topology, paths[0].plan.node))
    with cost_switch(ports) as switch:
        yield Session(switch, paths, own, progress)


def measure(
    repetitions: int, progress: Progress = lambda _: None, own: CostParameters = _USUAL
) -> Iterator[CostMeasured]:
    """Measure so many repetitions, one after another, on one private switch.

    Parameters
    ----------
    progress : callable
        Called with what is measured now.
    """
    with session(own, progress) as testbed:
        for repetition in range(1, repetitions + 1):
            yield testbed.run(repetition)


def _wire(path: CostPath, packets: int) -> Wire:
    return Wire(frame_of(path.packet), far_end(path.in_port), far_end(path.out_port), packets)


def _delays_us(wire: Wire, count: int) -> Iterator[float]:
    """Delays of single frames through an idle switch, from before the send call to the stamp of the arrival."""
    wire.forget()
    for _ in range(count):
        time.sleep(_PAUSE_S)
        yield wire.delay_us(_ARRIVAL_TIMEOUT_S)
