"""Breaks the path between two nodes again and again, and recovers as SB', LRR, or either with SQR."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType

from dataplane.cost_trial import PATHS, S1_ADDRESS, S2_ADDRESS
from dataplane.decide.sqr import STATE_BACKUP, STATES, SqrPort
from dataplane.model.marking import Marking
from dataplane.protect import ProtectNode
from dataplane.sqr import SqrSwitch
from dataplane.two_paths import TwoPaths
from experiments.testbed.workloads.decide.breaking import FailureModel, Recovery
from experiments.testbed.workloads.decide.flows import Outage, WorkloadError
from mininet_topos.errors import ArmorError

_SLOTS = 4096
_POLL_US = 100
_PRIORITY = 3  # above the replay agent, whose clock this is
_RETURN_SHARE = 0.4  # of the interval between failures: traffic that was led around the failed path returns then


@dataclass(frozen=True)
class BrokenPath:
    """Both nodes of a testbed with their two paths, as a way of recovery has them."""

    nodes: tuple[ProtectNode, ProtectNode]
    switches: tuple[SqrSwitch, ...]
    recovery: Recovery | None

    def shut(self) -> None:
        """Fail the first path silently, in both directions."""
        for node in self.nodes:
            node.lead(PATHS[0], None)

    def open(self) -> None:
        """Let the first path work again."""
        for node in self.nodes:
            node.lead(PATHS[0], "h")

    def notify(self) -> None:
        """What happens when the failure is detected."""
        for switch in self.switches:
            switch.fail("h")
        if not self.switches and self.recovery and not self.recovery.same_port:
            self._lead(PATHS[1])

    def give_back(self) -> None:
        """Give the first path its traffic back, where that was led around it.

        Raises
        ------
        WorkloadError
            A replay is not over.
        """
        if self.recovery is None or self.recovery.same_port:
            return
        for switch in self.switches:
            if switch.state("h") != STATES[STATE_BACKUP]:
                raise WorkloadError(f"a replay is not over when the path returns (the port is {switch.state('h')})")
            switch.restore("h")
        if not self.switches:
            self._lead(PATHS[0])

    def _lead(self, path: str) -> None:
        for node in self.nodes:
            node.lead("h", path)


@contextmanager
def broken_path(
    testbed: TwoPaths, recovery: Recovery | None, model: FailureModel, protected_ports: Sequence[int]
) -> Iterator[BrokenPath]:
    """Set both nodes of a testbed up; everything is taken away again.

    Parameters
    ----------
    recovery
        None: the path does not fail.
    protected_ports
        TCP ports that SQR protects; other packets go by the way that is in use.
    """
    with ExitStack() as stack:
        nodes = (
            stack.enter_context(ProtectNode(testbed.s1, S1_ADDRESS)),
            stack.enter_context(ProtectNode(testbed.s2, S2_ADDRESS)),
        )
        for node in nodes:
            for path in PATHS:
                node.between(path, plain="h", paths=PATHS, program="forward")
                # What is asked for once does not delay a failure later.
                node.lead(path, "h")
        switches: tuple[SqrSwitch, ...] = ()
        if recovery is None or not recovery.replays:
            for node in nodes:
                node.between("h", plain=PATHS[0], paths=PATHS, program="forward")
                node.lead("h", PATHS[0])
        else:
            port = _port(recovery, model, protected_ports)
            switches = tuple(
                stack.enter_context(SqrSwitch(pid, [port], poll_us=_POLL_US, realtime=True))
                for pid in (testbed.s1, testbed.s2)
            )
        yield BrokenPath(nodes, switches, recovery)


def _port(recovery: Recovery, model: FailureModel, protected_ports: Sequence[int]) -> SqrPort:
    return SqrPort(
        "h",
        PATHS[0],
        PATHS[0] if recovery.same_port else PATHS[1],
        slots=_SLOTS,
        delta_ms=model.bound_ms,
        reconfiguration_ms=model.hold_ms(recovery),
        in_send=False,
        marking=Marking(tcp_ports=tuple(protected_ports)),
    )


@dataclass
class Breaker:
    """A thread that breaks a path at given times; entered and left as a context.

    Raises
    ------
    ArmorError
        At the end: a replay was not over in time, or the path cannot be changed.
    """

    path: BrokenPath
    model: FailureModel
    times_s: Sequence[float]  # CLOCK_MONOTONIC
    outages: list[Outage] = field(default_factory=list)
    notified_ms: list[float] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _errors: list[ArmorError] = field(default_factory=list)

    def __enter__(self) -> Breaker:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop breaking; a failure that has begun is repaired first."""
        self._over.set()
        self._thread.join()
        if self._errors and error is None:
            raise self._errors[0]

    def _run(self) -> None:
        # Where the system refuses real-time priority, failures are only less punctual, and the row says how late.
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
        try:
            for at_s in self.times_s:
                if self._over.wait(max(0.0, at_s - time.monotonic())):
                    return
                self._break()
        except ArmorError as error:
            self._errors.append(error)

    def _break(self) -> None:
        model, path = self.model, self.path
        if path.recovery is None:
            shut_ns = time.monotonic_ns()
            self.outages.append(Outage(shut_ns, shut_ns + round(model.down_ms * 1e6)))
            return
        path.shut()
        shut_ns = time.monotonic_ns()
        _sleep_until(shut_ns, model.detection_ms)
        path.notify()
        notified_ns = time.monotonic_ns()
        _sleep_until(shut_ns, model.down_ms)
        path.open()
        usable_ns = time.monotonic_ns() if path.recovery.same_port else notified_ns
        self.outages.append(Outage(shut_ns, usable_ns))
        self.notified_ms.append((notified_ns - shut_ns) / 1e6)
        _sleep_until(shut_ns, _RETURN_SHARE * model.interval_ms)
        path.give_back()


def _sleep_until(began_ns: int, after_ms: float) -> None:
    time.sleep(max(0.0, (began_ns - time.monotonic_ns()) / 1e9 + after_ms / 1000))
