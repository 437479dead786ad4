"""SQR on the ports of one switch: a packet program before each port, and one replay agent for all of them."""

from __future__ import annotations

import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from dataplane.decide.sqr import (
    AGENT_PROGRAM,
    FIELDS,
    REQUEST_FAIL,
    REQUEST_RESTORE,
    STATE_BACKUP,
    STATES,
    SqrAgentError,
    SqrCounters,
    SqrEvent,
    SqrPort,
    agent_command,
    chosen_keys,
    first_control,
    read_counters,
    read_field,
    whole_events,
)
from dataplane.devices import has_queue, interface_index
from dataplane.loader import BpfMap, LoadedObject, RunTime, attach_ingress, detach_ingress, find_program_object
from dataplane.model.switch import Backstop
from machine.places import CommandError, call_inside, inside
from mininet_topos.errors import BadInputError, MissingRequirementError

PROGRAM_OBJECT = "sqr"
_PROGRAM = "sqr"
_INDEX = struct.Struct("=I")
_START_S = 10.0
_END_S = 5.0
_POLL_S = 0.002


def find_agent() -> Path:
    """The replay agent, beside this Python (where `make setup` puts it) or on the search path.

    Raises
    ------
    MissingRequirementError
        It was not built.
    """
    beside = Path(sys.executable).with_name(AGENT_PROGRAM)
    found = str(beside) if beside.exists() else shutil.which(AGENT_PROGRAM)
    if found is None:
        raise MissingRequirementError(f"{AGENT_PROGRAM} was not built; run make setup")
    return Path(found)


@dataclass(frozen=True)
class _Ring:
    """A port's program with its memory, and the interface that it stands on."""

    port: SqrPort
    index: int
    loaded: LoadedObject
    control: mmap.mmap
    ids: tuple[int, int]


class SqrSwitch:
    """Protected ports of a switch in a network namespace, with their replay agent; all goes when it is closed.

    Parameters
    ----------
    pid
        A process in the namespace.
    ports
        At least one; their interfaces are there.
    backstop
        When caching pauses on all ports; default: never, the rings bound the memory.
    log
        Where the agent writes its events; default: a file in memory.
    poll_us
        How often the agent looks at the ports.
    realtime
        Whether the agent asks for real-time priority.
    start
        False if a supervisor starts `command` in the namespace, with its standard output going to the end of `log`.

    Raises
    ------
    MissingRequirementError
        Program or agent were not built, or libbpf is not installed.
    PacketProgramError
        The kernel refuses.
    BadInputError
        An interface is not there, or two ports are on one.
    SqrAgentError
        The agent does not start.
    """

    def __init__(
        self,
        pid: int,
        ports: Sequence[SqrPort],
        *,
        backstop: Backstop | None = None,
        log: Path | None = None,
        poll_us: int = 1000,
        realtime: bool = False,
        start: bool = True,
    ) -> None:
        if len({port.device for port in ports}) < len(ports) or not ports:
            raise BadInputError(f"{len(ports)} protected ports on {sorted(port.device for port in ports)}: one on each")
        self._pid, self._agent = pid, None
        self._rings: dict[str, _Ring] = {}
        with ExitStack() as undo:
            undo.callback(self._detach)
            for port in ports:
                self._rings[port.device] = _open_ring(pid, port, undo)
            self.log = log or _log_in_memory(undo)
            maps = [ring.ids for ring in self._rings.values()]
            self.command = agent_command(find_agent(), maps, backstop, poll_us, realtime=realtime)
            if start:
                self._agent = self._start()
                undo.callback(self._end)
            self._undo = undo.pop_all()

    # ---- the agent
    def _start(self) -> subprocess.Popen[bytes]:
        """Start the agent and wait until it watches; it ends with this thread, so that nothing outlives the program."""
        with self.log.open("ab") as out:
            earlier = len(self.events())
            command = inside(self._pid, self.command)
            agent = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
        try:
            deadline = time.monotonic() + _START_S
            while not any(event.event == "ready" for event in self.events()[earlier:]):
                if agent.poll() is not None or time.monotonic() > deadline:
                    agent.kill()
                    said = agent.communicate()[1].decode(errors="replace").strip()
                    raise SqrAgentError(f"the replay agent does not start: {said or 'no answer in time'}")
                time.sleep(_POLL_S)
        except BaseException:
            agent.kill()
            agent.communicate()
            raise
        return agent

    def _end(self) -> None:
        if self._agent is not None:
            self._agent.send_signal(signal.SIGTERM)
            try:
                self._agent.communicate(timeout=_END_S)
            except subprocess.TimeoutExpired:
                self._agent.kill()
                self._agent.communicate()
            self._agent = None

    def events(self) -> list[SqrEvent]:
        """All that the agent has said so far."""
        return whole_events(self.log.read_text(encoding="utf-8"))

    def wait_for(self, enough: Callable[[Sequence[SqrEvent]], bool], timeout_s: float) -> list[SqrEvent]:
        """Wait until the events satisfy a condition, and return them.

        Raises
        ------
        SqrAgentError
            They do not in time.
        """
        deadline = time.monotonic() + timeout_s
        while not enough(events := self.events()):
            if time.monotonic() > deadline:
                said = ", ".join(event.event for event in events) or "nothing"
                raise SqrAgentError(f"the replay agent said {said} within {timeout_s:g} s; see {self.log}")
            time.sleep(_POLL_S)
        return events

    # ---- the ports
    def state(self, device: str) -> str:
        """State of a port: up, hold, backup, or turning from up to hold."""
        return STATES[read_field(self._ring(device).control, "state")]

    def counters(self, device: str) -> SqrCounters:
        """What a port has done with packets."""
        return read_counters(self._ring(device).control)

    def run_time(self, device: str) -> RunTime:
        """How long a port's program has run, while the kernel counted (`loader.run_time_statistics`)."""
        return self._ring(device).loaded.program(_PROGRAM).run_time()

    def map(self, device: str, name: str) -> BpfMap:
        """A map of a port's program: `ring`, `controls` or `chosen`."""
        return self._ring(device).loaded.map(name)

    def fail(self, device: str) -> None:
        """Say that the primary of a port has failed (heard of elsewhere); the window is what it sent within delta."""
        self._ask(device, REQUEST_FAIL)

    def restore(self, device: str) -> None:
        """Let a port send by its primary again.

        Raises
        ------
        BadInputError
            Packets wait for their replay: newer ones would overtake them by the primary.
        """
        if self.state(device) != STATES[STATE_BACKUP]:
            raise BadInputError(f"port {device} is {self.state(device)}, not on its backup: let the replay end first")
        self._ask(device, REQUEST_RESTORE)

    def _ask(self, device: str, request: int) -> None:
        pattern, offset = FIELDS["request"]
        struct.pack_into(pattern, self._ring(device).control, offset, request)

    def _ring(self, device: str) -> _Ring:
        if device not in self._rings:
            raise BadInputError(f"{device} is no protected port here: {', '.join(self._rings)} are")
        return self._rings[device]

    def _detach(self) -> None:
        try:
            call_inside(self._pid, lambda: detach_ingress(ring.index for ring in self._rings.values()))
        except CommandError:
            return  # the namespace is gone, and its interfaces with it

    def close(self) -> None:
        """End the agent, which sends what still waits; take the programs away."""
        self._undo.close()

    def __enter__(self) -> SqrSwitch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it; without an agent nothing was replayed (SqrAgentError)."""
        try:
            if kind is None and self._agent is not None and self._agent.poll() is not None:
                raise SqrAgentError(f"the replay agent ended before its time (status {self._agent.returncode})")
        finally:
            self.close()


def _log_in_memory(undo: ExitStack) -> Path:
    """A file that is gone with this program, however that ends."""
    descriptor = os.memfd_create("sqr-events")
    undo.callback(os.close, descriptor)
    return Path(f"/proc/{os.getpid()}/fd/{descriptor}")


def _open_ring(pid: int, port: SqrPort, undo: ExitStack) -> _Ring:
    """Load a port's program with a ring of its size, and attach it."""
    index, primary, backup = (interface_index(pid, name) for name in (port.device, port.primary, port.backup))
    loaded = undo.enter_context(LoadedObject(find_program_object(PROGRAM_OBJECT), {"ring": port.slots}))
    for key in chosen_keys(port.marking)[1]:
        loaded.map("chosen").set(_INDEX.pack(key), _INDEX.pack(1))
    controls, slots = loaded.map("controls"), loaded.map("ring")
    controls.set(_INDEX.pack(0), first_control(port, primary, backup, queued=has_queue(pid, port.primary)))
    control = undo.enter_context(controls.memory())
    call_inside(pid, lambda: attach_ingress(loaded.program(_PROGRAM), index))
    return _Ring(port, index, loaded, control, (controls.id(), slots.id()))
