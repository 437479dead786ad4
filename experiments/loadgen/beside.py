"""A controller with good switches, first alone and then beside a rogue switch: one run, two windows."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from experiments.loadgen.connection import Target
from experiments.loadgen.controllers import Controller, Watched, running
from experiments.loadgen.decide.beside import BesideResult, divided
from experiments.loadgen.decide.load import LOW
from experiments.loadgen.decide.packets import controller_id_of
from experiments.loadgen.generator import MOST_LATENESS_MS
from experiments.loadgen.good_switches import EchoWindow, GoodSwitches
from experiments.loadgen.misbehave import SETTLE_S, has_begun, misbehaving, report_of
from experiments.loadgen.pacing import LONGEST_WAIT_S
from experiments.loadgen.ports import free_port
from experiments.loadgen.rogue import RogueSwitch
from machine.places import usable_processor
from mininet_topos.topology import Topology
from ovsdb_backup.urgency import Urgency

HOST, ROGUE_HOST = "127.0.0.1", "127.0.0.2"  # addresses of loopback: by them the controller tells the two apart
FLOOD_PPS = 2000.0
_METRICS_AFTER = 12  # PSO's connections take the ports before
Say = Callable[[str], object]


@dataclass(frozen=True)
class Asking:
    """Echo requests of the good switches, and the rate of the rogue one.

    Attributes
    ----------
    rate_pps, seconds
        Echo requests a second of all good switches together, and length of each window.
    patience_s
        How long an answer may take.
    seed
        Of the rogue switch's messages.
    rogue_pps
        Messages or connections a second of the rogue switch; None: what is usual for its kind.
    realtime
        Whether the good switches and the controller go before other processes, where the system allows it.
    """

    rate_pps: float
    seconds: float
    patience_s: float
    seed: int
    rogue_pps: float | None = None
    realtime: bool = False


def measure_beside(controller: Controller, topology: Topology, kind: str, asking: Asking, say: Say) -> BesideResult:
    """Start a controller, ask it in a quiet window and in one beside a rogue switch, and end it.

    The controller leaves a processor to the rogue switch in both windows, as to a machine of its own: on a shared
    one it often waits for 2 to 3 ms, likely until the rogue switch gives the processor up (docs/load.md).

    Raises
    ------
    LoadError
        The controller does not start, or does not finish the handshakes.
    RogueEndedError
        The rogue switch has ended by itself.
    """
    good, bad = divided(topology)
    rate_pps = asking.rogue_pps or (FLOOD_PPS if kind == "flood" else None)
    claimed, controller_id = tuple(each.dpid for each in good), controller_id_of(controller.table, LOW)
    # On a single processor all have to share it.
    processor = usable_processor(-1) if len(os.sched_getaffinity(0)) > 1 else None
    rogue = RogueSwitch(bad.dpid, bad.ports, claimed, ROGUE_HOST, rate_pps, controller_id, processor)
    port = free_port()
    settings = {"ARMOR_REST_PORT": "0", "ARMOR_PSO_METRICS_PORT": str(port + _METRICS_AFTER)}
    controller = replace(controller, settings={**controller.settings, **settings})
    say(f"{kind}: starting the controller")
    with running(controller, HOST, port) as watched:
        if Urgency(asking.realtime).is_granted:
            watched.go_first()
        with GoodSwitches(good, controller.targets(HOST, port)) as switches:
            if processor is not None:
                watched.leave_processor(processor)
            windows = _windows(switches, (controller.targets(HOST, port), kind, rogue), asking, say)
        watched.sample()
        return _result(controller, kind, windows, watched)


@dataclass(frozen=True)
class _Windows:
    quiet: EchoWindow
    beside: EchoWindow
    connections_ended: int
    ids_taken: tuple[int, ...]
    rogue_pps: float


def _windows(
    switches: GoodSwitches, bad: tuple[tuple[Target, ...], str, RogueSwitch], asking: Asking, say: Say
) -> _Windows:
    """Ask in a quiet window, start the rogue switch of a kind, and ask again."""
    targets, kind, rogue = bad
    urgency = Urgency(asking.realtime)
    say(f"{kind}: quiet window")
    quiet, n_ended = _ask(switches, asking, urgency), switches.n_ended
    with misbehaving(None, targets, kind, asking.seed, rogue) as process:
        assert process is not None
        began_s = _settle(switches, process)
        say(f"{kind}: window beside the rogue switch")
        beside = _ask(switches, asking, urgency)
        report, passed_s = report_of(process), time.monotonic() - began_s
    return _Windows(quiet, beside, switches.n_ended - n_ended, report.ids_taken, report.n_sent / passed_s)


def _settle(switches: GoodSwitches, process: subprocess.Popen[str]) -> float:
    """Serve the controller until the rogue switch has begun, and some time longer; when it began."""
    while not has_begun(process, 0.0):
        switches.serve(LONGEST_WAIT_S)
    began_s = time.monotonic()
    switches.serve(SETTLE_S)
    return began_s


def _ask(switches: GoodSwitches, asking: Asking, urgency: Urgency) -> EchoWindow:
    urgency.set(True)
    try:
        return switches.ask(asking.rate_pps, asking.seconds, asking.seed, asking.patience_s)
    finally:
        urgency.set(False)


def _result(controller: Controller, kind: str, windows: _Windows, watched: Watched) -> BesideResult:
    quiet, beside = windows.quiet, windows.beside
    warnings = []
    if max(quiet.late_ms, beside.late_ms) > MOST_LATENESS_MS:
        late = f"{quiet.late_ms:.1f} and {beside.late_ms:.1f} ms late (99th percentile, quiet and beside)"
        warnings.append(f"the generator was {late}; lower the rate, or stop other programs")
    if quiet.result.lost:
        warnings.append(f"{quiet.result.lost} answers were lost in the quiet window; lower the rate")
    return BesideResult(
        app=",".join(controller.apps),
        kind=kind,
        quiet_p99_ms=quiet.result.delays.p99_ms,
        beside_p99_ms=beside.result.delays.p99_ms,
        asked=beside.result.offered,
        quiet_lost=quiet.result.lost,
        lost=beside.result.lost,
        connections_ended=windows.connections_ended,
        controller_ended=not watched.is_alive(),
        controller_rss_mb=watched.most_rss_mb,
        ids_taken=windows.ids_taken,
        warnings=tuple(warnings),
        rogue_pps=windows.rogue_pps,
    )
