"""Processes of a run: started, recorded, watched, started again when they end, ended at the close."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emulation.runfile import RunFile
from emulation.send_buffers import SendBufferError, widen_send_buffer
from machine.event_log import EventLog
from machine.processor_time import processor_seconds
from mininet_topos.errors import ArmorError

MAX_RESTARTS, RESTART_WINDOW_S = (
    5,
    10.0,
)  # a process that ends more often than this is left stopped, and a problem says so
_TERMINATE_WAIT_S = 1.0
_KILL_WAIT_S = 30.0  # a limit for what cannot be, not a claim about speed


class ProcessError(ArmorError):
    """A process of the run is missing, or does not start."""


@dataclass(frozen=True)
class ProcessSpec:
    """A process to keep: what it is ("agent"), whose (a place), and how it starts.

    `gentle` processes get SIGTERM and a moment before SIGKILL; `realtime` gives real-time priority;
    `send_buffer_bytes` is what the packet socket of an ovs-vswitchd must hold (0: as it is); `after_restart` is called
    in a thread of its own each time the process was started again.
    """

    process: str
    place: str
    argv: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    gentle: bool = False
    realtime: bool = False
    send_buffer_bytes: int = 0
    after_restart: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        """Name for people: agent@s3."""
        return f"{self.process}@{self.place}"


@dataclass(frozen=True, slots=True)
class Restart:
    """A process that ended and was started again; `pid` is the new one, `outage_s` the time without it."""

    process: str
    place: str
    pid: int
    t_monotonic_s: float
    outage_s: float


class Supervisor:
    """Starts processes and, when asked to, starts them again when they end.

    Parameters
    ----------
    run_file
        Every process is written down there.
    events
        Every end and restart is an event.
    restart
        Whether processes that end are started again.
    """

    def __init__(self, run_file: RunFile, events: EventLog, *, restart: bool) -> None:
        self._run_file, self._events, self._restart = run_file, events, restart
        self._specs: dict[tuple[str, str], ProcessSpec] = {}
        self._running: dict[tuple[str, str], subprocess.Popen[bytes]] = {}
        self._held: dict[tuple[str, str], float] = {}  # since when
        self._killed: set[tuple[str, str]] = set()  # by `kill`, and not yet seen to have ended
        self._recent: dict[tuple[str, str], deque[float]] = {}
        self._lock = threading.RLock()
        self._poll = select.poll()
        self._watched: dict[int, tuple[str, str]] = {}
        self._wake_read, self._wake_write = os.pipe()
        self._poll.register(self._wake_read, select.POLLIN)
        self._closing = False
        self.restarts: list[Restart] = []
        self.problems: list[str] = []
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._thread.start()

    def start(self, spec: ProcessSpec) -> int:
        """Start a process and keep it; returns its id.

        Raises
        ------
        ProcessError
            It is already there, the program cannot be run, or the network ends.
        """
        key = (spec.process, spec.place)
        with self._lock:
            if self._closing:
                raise ProcessError(f"{spec.name} is not started: the network ends")
            if key in self._running:
                raise ProcessError(f"{spec.name} already runs; stop it first")
            self._specs[key] = spec
            self._held.pop(key, None)
            return self._spawn(spec)

    def _spawn(self, spec: ProcessSpec) -> int:
        key = (spec.process, spec.place)
        environment = {**os.environ, **spec.environment, **self._run_file.environment}
        try:
            with spec.log.open("ab") as log:
                process = subprocess.Popen(
                    spec.argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    start_new_session=True,  # Ctrl-C on the terminal must reach this program only
                )
        except OSError as error:
            raise ProcessError(f"cannot start {spec.name} ({spec.argv[0]}): {error.strerror}") from error
        self._run_file.add_process(process.pid, spec.process, spec.place)
        if spec.realtime:
            self._make_realtime(process.pid)
        if spec.send_buffer_bytes:
            threading.Thread(target=self._widen, args=(process, spec), name=f"widen-{spec.name}", daemon=True).start()
        self._running[key] = process
        descriptor = os.pidfd_open(process.pid)
        self._watched[descriptor] = key
        self._poll.register(descriptor, select.POLLIN)
        os.write(self._wake_write, b".")
        return process.pid

    def _make_realtime(self, pid: int) -> None:
        """Give a process the lowest real-time priority; its threads, started later, inherit it."""
        try:
            os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
        except PermissionError:
            problem = "the system refuses real-time priority, so a busy machine may fake link failures"
            if problem not in self.problems:
                self.problems.append(problem)
        except ProcessLookupError:
            return  # it has ended already, which the watcher sees

    def _widen(self, process: subprocess.Popen[bytes], spec: ProcessSpec) -> None:
        """Widen the send buffer of a process once it sends; in a thread, since that takes a while."""
        try:
            widen_send_buffer(process.pid, spec.send_buffer_bytes)
        except SendBufferError as error:
            if self._running.get((spec.process, spec.place)) is process and not self._closing:
                self.problems.append(f"{spec.name}: {error}")

    def _spawn_again(self, spec: ProcessSpec) -> int:
        pid = self._spawn(spec)
        if spec.after_restart is not None:
            threading.Thread(target=self._after_restart, args=(spec,), name=f"after-{spec.name}", daemon=True).start()
        return pid

    def _after_restart(self, spec: ProcessSpec) -> None:
        """Do what belongs to a restart; a process that has ended meanwhile is not its fault."""
        try:
            if spec.after_restart is not None:
                spec.after_restart()
        except ArmorError as error:
            if self.is_running(spec.process, spec.place) and not self._closing:
                self.problems.append(f"{spec.name} was started again, but {error}")

    def _watch(self) -> None:
        while not self._closing:
            for descriptor, _ in self._poll.poll():
                if descriptor == self._wake_read:
                    os.read(self._wake_read, 4096)
                    continue
                with self._lock:
                    self._ended(descriptor)

    def _ended(self, descriptor: int) -> None:
        key = self._watched.pop(descriptor, None)
        if key is None:
            return
        self._poll.unregister(descriptor)
        os.close(descriptor)
        process = self._running.pop(key)
        status, ended_s = process.wait(), time.monotonic()
        was_asked = key in self._killed
        self._killed.discard(key)
        if self._closing or key in self._held:
            return
        name = self._specs[key].name
        self._note("error", ended_s, message=f"{name} ended", status=status)
        if not self._restart:
            self.problems.append(f"{name} ended with status {status}")
        elif not was_asked and self._too_often(key, ended_s):
            self.problems.append(f"{name} ended {MAX_RESTARTS} times within {RESTART_WINDOW_S:g} s; left stopped")
        else:
            self._start_again(key, ended_s)

    def _too_often(self, key: tuple[str, str], now_s: float) -> bool:
        recent = self._recent.setdefault(key, deque(maxlen=MAX_RESTARTS))
        recent.append(now_s)
        return len(recent) == MAX_RESTARTS and now_s - recent[0] < RESTART_WINDOW_S

    def _start_again(self, key: tuple[str, str], ended_s: float) -> None:
        try:
            pid = self._spawn_again(self._specs[key])
        except (ProcessError, OSError) as error:
            self.problems.append(str(error))
            self._note("error", message=str(error))
            return
        now = time.monotonic()
        self.restarts.append(Restart(*key, pid, now, now - ended_s))
        self._note_restart(key, pid, now, ended_s)

    def _note_restart(self, key: tuple[str, str], pid: int, now: float, ended_s: float) -> None:
        self._note("restart", now, process=key[0], node=key[1], pid=pid, outage_s=now - ended_s)

    def _note(self, event: str, t_monotonic_s: float | None = None, **fields: str | int | float | bool) -> None:
        """Write an event; a full disk must not end the watching."""
        try:
            self._events.write(event, t_monotonic_s, **fields)
        except OSError as error:
            self.problems.append(f"the event log cannot be written ({error.strerror}); make room and run this again")

    def pid_of(self, process: str, place: str) -> int:
        """Id of a running process.

        Raises
        ------
        ProcessError
            No such process runs now.
        """
        with self._lock:
            found = self._running.get((process, place))
            if found is None:
                known = ", ".join(sorted(spec.name for spec in self._specs.values())) or "nothing"
                raise ProcessError(f"{process}@{place} does not run; the run has {known}")
            return found.pid

    def processor_seconds(self) -> dict[str, float]:
        """Processor time that the processes that run now have used so far, seconds, by name over all places."""
        found: dict[str, float] = defaultdict(float)
        with self._lock:  # so that none that has ended is gone
            for (process, _), running in self._running.items():
                found[process] += processor_seconds(running.pid)
        return found

    def is_running(self, process: str, place: str) -> bool:
        """Whether a process runs now."""
        with self._lock:
            return (process, place) in self._running

    @property
    def stopped(self) -> tuple[str, ...]:
        """Names of processes that do not run now though nobody holds them."""
        with self._lock:  # between an end and the start after it the lock is taken
            missing = self._specs.keys() - self._running.keys() - self._held.keys()
            return tuple(sorted(self._specs[key].name for key in missing))

    def kill(self, process: str, place: str) -> None:
        """Send SIGKILL to a process, which is started again like one that ended, however often this is asked for."""
        with self._lock:
            os.kill(self.pid_of(process, place), signal.SIGKILL)
            self._killed.add((process, place))

    def hold(self, process: str, place: str) -> None:
        """End a process and leave it stopped until `release`.

        Raises
        ------
        ProcessError
            It does not end.
        """
        with self._lock:
            self._held[process, place] = time.monotonic()
            if (process, place) in self._running:
                os.kill(self._running[process, place].pid, signal.SIGKILL)
        if not self._wait_for(lambda: not self.is_running(process, place), _KILL_WAIT_S):
            raise ProcessError(f"{process}@{place} does not end after SIGKILL; look at it by hand")

    def release(self, process: str, place: str) -> None:
        """Start a held process again."""
        key = (process, place)
        with self._lock:
            held_s = self._held.pop(key, time.monotonic())
            if key in self._specs and key not in self._running:
                pid, now = self._spawn_again(self._specs[key]), time.monotonic()
                self._note_restart(key, pid, now, held_s)

    def close(self) -> None:
        """End every process, gentle ones first, and stop watching.

        Real-time processes end before the remaining ones, so that no ovs-vswitchd outlives its ovsdb-server: it would
        never rest. As many of them as there are processors let nothing else run for up to a second at a time
        (docs/decisions/unread-frames.md).
        """
        with self._lock:
            self._closing = True
        os.write(self._wake_write, b".")
        self._thread.join()
        gentle = [process for key, process in self._running.items() if self._specs[key].gentle]
        for process in gentle:
            process.terminate()
        self._wait_for(lambda: all(process.poll() is not None for process in gentle), _TERMINATE_WAIT_S)
        for key in sorted(self._running, key=lambda key: not self._specs[key].realtime):
            self._running[key].kill()
        for process in self._running.values():
            process.wait()
        self._running.clear()
        for descriptor in [*self._watched, self._wake_read, self._wake_write]:
            os.close(descriptor)
        self._watched.clear()

    @staticmethod
    def _wait_for(done: Callable[[], bool], timeout_s: float) -> bool:
        """Whether it was done in time."""
        deadline = time.monotonic() + timeout_s
        while not (is_done := done()) and time.monotonic() < deadline:
            time.sleep(0.005)
        return is_done
