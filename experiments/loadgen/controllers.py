"""Controllers to put a load on: ryu-manager with apps, started here or in a namespace, watched, and ended."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from emulation.decide.control_classes import control_queue_setup
from emulation.scratch import scratch
from experiments.loadgen.connection import Target
from experiments.loadgen.decide.link import ONE_QUEUE, LinkClasses
from experiments.loadgen.generator import LoadError
from machine.environment import REPOSITORY, RYU_MANAGER
from machine.places import ENDS_WITH_ITS_PARENT, CommandError, call_inside, inside
from machine.processor_time import processor_seconds
from mininet_topos.errors import BadInputError, MissingRequirementError
from ryu_apps.pmt.rules import PolicyMapTable

Json = dict[str, Any]

PSO_APP = "ryu_apps/pso.py"
RESPONDER = "experiments/loadgen/responder.py"
OPENFLOW_PORT = 6653
_START_S, _STOP_S, _POLL_S, _SAMPLE_S = 60.0, 3.0, 0.05, 0.2
_MOST_BYTES = 2 << 30  # of address space: a controller that a switch drives mad must not take the machine with it
_FETCH_S = 20.0
_MOST_URGENT = -20  # as nice(2) counts
_EXCEPTION = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception|Message|Version|Length))(?::|$)", re.MULTILINE)
_LISTEN = "0A"
# Warnings and worse: a line for each packet-in, as simple_switch_13 writes, would measure the log.
_LOG_LEVEL = "30"


@dataclass(frozen=True)
class Controller:
    """Apps of a controller, and the table by which it gives priority; None: stock Ryu, first come first served.

    `pmt_path` is the table's file; `settings` are environment variables.
    """

    apps: tuple[str, ...]
    table: PolicyMapTable | None = None
    pmt_path: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_priority(self) -> bool:
        """Whether it tells classes apart."""
        return self.table is not None and bool(self.table.rules)

    def targets(self, host: str, port: int, send_buffer_bytes: int = 0) -> tuple[Target, ...]:
        """Connections of each switch: one, or one a class with its mark, the main connection first."""
        if not self.has_priority or self.table is None:
            return (Target(host, port, send_buffer_bytes=send_buffer_bytes),)
        from ryu_apps.control.priority.decide.channels import connections

        rows = connections(self.table, port)
        return tuple(Target(host, row.port, row.dscp, send_buffer_bytes, is_class=not row.is_main) for row in rows)

    def link_classes(self) -> LinkClasses:
        """Classes of its control link: the DSCPs of its connections; none for one that makes no difference."""
        if not self.has_priority or self.table is None:
            return ONE_QUEUE
        setup = control_queue_setup(self.table)
        return LinkClasses(tuple(dscp for dscp, _ in setup.queue_of_dscp if dscp), setup.scheduler, setup.shares)

    def with_metrics(self, port: int) -> Controller:
        """The same, with its counters at that port; stock Ryu has none."""
        return replace(self, settings={**self.settings, "ARMOR_PSO_METRICS_PORT": str(port)})

    def environment(self) -> dict[str, str]:
        """Variables that ryu-manager gets."""
        chosen = dict(self.settings)
        if self.pmt_path is not None:
            chosen["ARMOR_PSO_PMT"] = str(self.pmt_path.resolve())
        return {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore", **chosen}


@dataclass
class Watched:
    """A running controller: what it uses."""

    pid: int
    host: str
    port: int
    log: Path
    most_rss_mb: float = 0.0
    first_rss_mb: float = 0.0

    def cpu_s(self) -> float:
        """Processor time so far, seconds."""
        return processor_seconds(self.pid)

    def sample(self) -> None:
        """Look at its memory once."""
        rss_mb = resident_mb(self.pid)
        if rss_mb is not None:
            self.first_rss_mb = self.first_rss_mb or rss_mb
            self.most_rss_mb = max(self.most_rss_mb, rss_mb)

    def go_first(self) -> None:
        """Let it go before all ordinary processes, where the system allows it.

        Not by real-time priority: from a process that never rests Linux takes back a twentieth of every second
        (sched_rt_runtime_us), which shows as 50 ms of delay in every class.
        """
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.pid, _MOST_URGENT)
            # Where the kernel shares processors among sessions, a process's own number counts within its session only.
            Path(f"/proc/{self.pid}/autogroup").write_text(str(_MOST_URGENT), encoding="ascii")

    def leave_processor(self, processor: int) -> None:
        """Keep it from a processor; processes that it has started already may go on there."""
        with suppress(OSError):
            os.sched_setaffinity(self.pid, os.sched_getaffinity(self.pid) - {processor})

    def is_alive(self) -> bool:
        """Whether it still runs."""
        return resident_mb(self.pid) is not None

    def counters(self, port: int) -> Json | None:
        """What PSO's service has counted; None when it does not tell."""

        def fetch() -> Json:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/pso", timeout=_FETCH_S) as reply:
                found: Json = json.load(reply)
                return found

        try:
            return call_inside(self.pid, fetch)
        except (OSError, ValueError, CommandError):
            return None

    def faults(self, counters: Json | None) -> dict[str, int]:
        """Errors by name: what PSO's service has counted, or the exceptions that stock Ryu has printed."""
        if counters is not None:
            return {str(name): int(count) for name, count in counters["errors"].items() if count}
        return dict(Counter(_EXCEPTION.findall(self.said())))

    def said(self) -> str:
        """Everything that it wrote."""
        return self.log.read_text(encoding="utf-8", errors="replace")


def app_file(name: str) -> str:
    """What ryu-manager is given for an app: a file, or a module of Ryu's own apps.

    Parameters
    ----------
    name
        `simple_switch_13`, `sdfast`, `ryu_apps/shortest.py`, `package.module` or a path.

    Raises
    ------
    BadInputError
        There is no such app.
    """
    if name.endswith(".py"):
        for path in (Path(name), REPOSITORY / name):
            if path.is_file():
                return str(path.resolve())
        raise BadInputError(f"there is no app file {name!r}; give a path, or a name such as simple_switch_13")
    armors = REPOSITORY / "ryu_apps" / f"{name}.py"
    if name.isidentifier() and armors.is_file():
        return str(armors)
    found = next((module for module in (f"ryu.app.{name}", name) if _is_module(module)), None)
    if found is not None:
        return found
    raise BadInputError(f"there is no Ryu app {name!r}; give a file, or a name such as simple_switch_13")


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


@contextmanager
def running(controller: Controller, host: str, port: int, pid: int | None = None) -> Iterator[Watched]:
    """Start a controller and wait until it listens; it ends with the block, and with this program.

    Parameters
    ----------
    host, port : str, int
        Where it listens.
    pid
        A process in whose network namespace it runs; None: here.

    Raises
    ------
    MissingRequirementError
        Ryu is not installed.
    LoadError
        It ends, or does not listen, within 60 s.
    """
    if not RYU_MANAGER.exists():
        raise MissingRequirementError(f"there is no ryu-manager beside {sys.executable}; run make setup")
    options = ("--ofp-listen-host", host, "--ofp-tcp-listen-port", str(port), "--default-log-level", _LOG_LEVEL)
    program = (str(RYU_MANAGER), *options, *map(app_file, controller.apps))
    argv = ["prlimit", f"--as={_MOST_BYTES}", *ENDS_WITH_ITS_PARENT, *program]
    argv = argv if pid is None else inside(pid, argv)
    with scratch("a controller under load") as place:
        log = place.folder / "controller.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**controller.environment(), **place.environment},
                start_new_session=True,  # Ctrl-C on the terminal must reach this program only
            )
        watched = Watched(process.pid, host, port, log)
        stop = threading.Event()
        watcher = threading.Thread(target=_watch, args=(watched, stop), name="memory of the controller", daemon=True)
        try:
            _wait_listening(process, watched)
            watcher.start()
            yield watched
        finally:
            stop.set()
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if watcher.ident is not None:
                watcher.join()


def resident_mb(pid: int) -> float | None:
    """Memory that a process occupies (MB); None when it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return None
    line = next((line for line in text.splitlines() if line.startswith("VmRSS:")), None)
    return None if line is None else int(line.split()[1]) / 1024


def _watch(watched: Watched, stop: threading.Event) -> None:
    while not stop.wait(_SAMPLE_S):
        watched.sample()


def _wait_listening(process: subprocess.Popen[bytes], watched: Watched) -> None:
    deadline = time.monotonic() + _START_S
    while not _listens(watched.pid, watched.port):
        if process.poll() is not None or time.monotonic() > deadline:
            lines = [line for line in watched.said().splitlines() if line.strip()]
            raise LoadError(
                f"the controller does not listen on port {watched.port}: {lines[-1] if lines else 'silent'}"
            )
        time.sleep(_POLL_S)


def _listens(pid: int, port: int) -> bool:
    """Whether a TCP socket listens on that port in the network namespace of a process."""
    try:
        lines = Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    except (FileNotFoundError, ProcessLookupError, OSError):
        return False
    fields = (line.split() for line in lines)
    return any(each[3] == _LISTEN and int(each[1].rpartition(":")[2], 16) == port for each in fields)
