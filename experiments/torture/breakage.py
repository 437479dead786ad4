"""How each kind of fault is begun and ended in a running network."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from emulation.decide.switch import CONTROLLER_APP
from emulation.decide.wiring import CONTROLLER
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from emulation.supervisor import ProcessError
from experiments.testbed.runs.controller_environment import write_topology
from experiments.torture.decide.faults import CLOCK_KINDS, LINK_KINDS, Fault, Step
from machine.jumping_clock import JumpingClocks
from machine.small_disk import fill_disk, free_disk

_LOSS_PERCENT = 30.0
_SLOW_KBYTES_PER_S = 20
_CLOCK_JUMP_S = 3600.0


class Breakage:
    """What is broken in a network just now.

    Parameters
    ----------
    clocks
        Of the network's processes.
    folder
        Holds the controller's topology file.
    """

    def __init__(
        self, network: EmulatedNetwork, injection: FailureInjection, clocks: JumpingClocks, folder: Path
    ) -> None:
        self._network, self._injection, self._clocks, self._folder = network, injection, clocks, folder
        self._topology = network.topology
        self._stopped: dict[Fault, int] = {}
        self._wrong_clocks: dict[Fault, int] = {}
        self._direction_of = {str(link.direction): link.direction for link in self._topology.links}

    def restore_all(self) -> None:
        """Repair what is left; a topology ends with its fault."""
        self._injection.restore_all()
        self.continue_all()
        for fault in tuple(self._wrong_clocks):
            self._reset_clock(fault)
        free_disk(self._network.run_dir)

    def carry_out(self, step: Step) -> None:
        """Begin or end a fault."""
        fault, injection = step.fault, self._injection
        if fault.kind in ("kill", "stop", *CLOCK_KINDS):
            self._at_process(step)
        elif fault.kind == "disk-full":
            (fill_disk if step.begins else free_disk)(self._network.run_dir)
        elif fault.kind == "topology":
            self._start_controller_with(lacking=fault.target if step.begins else None)
        elif not step.begins:
            injection.restore(CONTROLLER if fault.kind == "control-all" else fault.target)
        elif fault.kind in LINK_KINDS:
            link = self._topology.parse_link(fault.target)
            (injection.carrier if fault.kind == "carrier" else injection.silent)(link)
        elif fault.kind == "one-way":
            injection.one_way(self._direction_of[fault.target])
        elif fault.kind == "lossy":
            injection.lossy(self._topology.parse_link(fault.target), _LOSS_PERCENT)
        else:
            self._break_at_switches(fault)

    def _break_at_switches(self, fault: Fault) -> None:
        injection = self._injection
        if fault.kind == "node":
            injection.node(fault.target)
        elif fault.kind == "control-slow":
            injection.slow_controller(fault.target, _SLOW_KBYTES_PER_S)
        elif fault.kind == "control-part":
            injection.partition(fault.target.split("+"))
        else:
            injection.controller(None if fault.kind == "control-all" else fault.target)

    def _start_controller_with(self, *, lacking: str | None) -> None:
        """Start the controller again with its topology, whole or without a link; it may refuse that, and end."""
        left = tuple(link for link in self._topology.links if str(self._topology.link_id(link.direction)) != lacking)
        self._network.hold(CONTROLLER_APP)
        try:
            write_topology(self._folder, replace(self._topology, links=left))
        finally:
            self._network.release(CONTROLLER_APP)

    def _at_process(self, step: Step) -> None:
        """Kill a process, or stop it or set its clock until its fault ends; one that is not there is left alone."""
        fault = step.fault
        process, _, node = fault.target.partition("@")
        if not step.begins:
            self._continue(fault)
            self._reset_clock(fault)
            return
        with suppress(ProcessError, ProcessLookupError):
            if fault.kind == "kill":
                self._network.kill(process, node or None)
                return
            pid = self._network.pid_of(process, node or None)
            if fault.kind == "stop":
                self._stopped[fault] = pid
                os.kill(pid, signal.SIGSTOP)
            else:
                self._wrong_clocks[fault] = pid
                self._clocks.set(pid, _CLOCK_JUMP_S if fault.kind == "clock-ahead" else -_CLOCK_JUMP_S)

    def _continue(self, fault: Fault) -> None:
        pid = self._stopped.pop(fault, None)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _reset_clock(self, fault: Fault) -> None:
        pid = self._wrong_clocks.pop(fault, None)
        if pid is not None:
            self._clocks.set(pid, 0.0)

    def continue_all(self) -> None:
        """Let stopped processes run."""
        for fault in tuple(self._stopped):
            self._continue(fault)
