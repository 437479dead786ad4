"""Shows a run on a terminal while it goes on: from the event log that its processes write, a few times a second."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Protocol, TextIO

from emulation.network import EmulatedNetwork
from experiments.analysis.events import Event
from experiments.analysis.injected import plan_actions
from experiments.live.decide.document import FailureView
from experiments.live.decide.hosts import Packets, apart, flow_counts, packets_of
from experiments.live.decide.log import Log
from experiments.live.decide.log_view import LogReader, links_of_tag
from experiments.live.decide.running import RETURN_SLACK_S
from experiments.live.decide.screen import Line, Tone, Watched, plain_lines, screen_lines
from experiments.live.decide.timeline import event_views
from experiments.live.log_tail import LogTail
from experiments.scenario.values import Scenario, Variation
from experiments.terminal.output import note
from experiments.testbed.runs.folder import Work
from experiments.testbed.runs.run import Planned

REDRAW_S = 0.25
STILL_S = 0.1  # nothing is drawn so shortly before an injection, and after it
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"  # other screen, no cursor; and back
_HOME, _REST_OF_LINE, _REST_OF_SCREEN, _PLAIN = "\x1b[H", "\x1b[K", "\x1b[J", "\x1b[0m"
_TONES: dict[Tone, str] = {"": "", "title": "\x1b[1m", "bad": "\x1b[31m", "good": "\x1b[32m"}


class Display(Protocol):
    """Where a run is shown."""

    def open(self) -> None:
        """Take the terminal."""

    def show(self, watched: Watched) -> None:
        """Show its present state."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Screen:
    """The whole terminal, until `close`.

    Parameters
    ----------
    stream
        A terminal.
    has_colours
        Whether lines may be emphasised.
    """

    def __init__(self, stream: TextIO, *, has_colours: bool) -> None:
        self._stream, self._has_colours = stream, has_colours

    def open(self) -> None:
        """Take the terminal."""
        self._write(_ENTER)

    def show(self, watched: Watched) -> None:
        """Draw it; the terminal may have another size each time."""
        width, height = os.get_terminal_size(self._stream.fileno())
        if not width or not height:  # a terminal that does not know its size
            width, height = shutil.get_terminal_size((80, 24))
        lines = (self._line(line) + _REST_OF_LINE for line in screen_lines(watched, width, height))
        self._write(_HOME + "\n".join(lines) + _REST_OF_SCREEN)

    def close(self) -> None:
        """Give the terminal back."""
        self._write(_LEAVE)

    def _line(self, line: Line) -> str:
        tone = _TONES[line.tone] if self._has_colours else ""
        return f"{tone}{line.text}{_PLAIN}" if tone else line.text

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class PlainLog:
    """Lines, for what is no terminal."""

    def __init__(self) -> None:
        self._before: Watched | None = None

    def open(self) -> None:
        """Nothing to take."""

    def show(self, watched: Watched) -> None:
        """Write what is new."""
        for text in plain_lines(self._before, watched):
            note(text)
        self._before = watched

    def close(self) -> None:
        """Nothing to undo."""


def display() -> Display:
    """A screen on standard error; lines where that is no terminal that can place text."""
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return Screen(sys.stderr, has_colours=not os.environ.get("NO_COLOR"))
    return PlainLog()


class Watch:
    """Shows the runs of a scenario while the context lasts.

    A thread draws, so that a terminal that does not take text delays no injection. An error of it ends the display
    alone; it is named at the end.
    """

    def __init__(self, scenario: Scenario, planned: Planned, shown: Display) -> None:
        self._scenario, self._planned, self._shown = scenario, planned, shown
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._phase = ""
        self._run: _WatchedRun | None = None
        self._thread = threading.Thread(target=self._draw, daemon=True)
        self._error: Exception | None = None

    def __enter__(self) -> Watch:
        """Begin to draw."""
        self._shown.open()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Draw no more, and leave the terminal as it was."""
        self._ended.set()
        try:
            self._thread.join()
        finally:
            with contextlib.suppress(OSError):  # the terminal has been closed
                self._shown.close()
            if self._run is not None:
                self._run.close()
        if self._error is not None:
            note(f"--watch stopped before the run's end: {self._error}")

    def say(self, text: str) -> None:
        """Say what is going on."""
        self._phase = text

    def follow(self, variation: Variation, work: Work, network: EmulatedNetwork) -> None:
        """Show this network from now on."""
        run = _WatchedRun(self._scenario, variation, self._planned, work, network)
        with self._lock:
            before, self._run = self._run, run
        if before is not None:
            before.close()

    def _draw(self) -> None:
        try:
            while not self._ended.wait(REDRAW_S):
                self._draw_once()
            self._draw_once()
        except Exception as error:  # noqa: BLE001 - the measurement goes on without the display
            self._error = error

    def _draw_once(self) -> None:
        with self._lock:
            run = self._run
            if run is None:
                watched = Watched(self._scenario.topology.name, self._phase)
            elif run.is_still(time.monotonic()):
                return
            else:
                watched = run.look(self._phase)
        self._shown.show(watched)


class _WatchedRun:
    """One run: its log, and the counters of its hosts."""

    def __init__(
        self, scenario: Scenario, variation: Variation, planned: Planned, work: Work, network: EmulatedNetwork
    ) -> None:
        self._scenario = scenario
        self._title = f"{scenario.topology.name}: {variation.name}"
        self._links_of_tag = links_of_tag(scenario.topology, planned[variation].plans)
        self._tail = LogTail(work.events)
        self._events: list[Event] = []
        self._zero_s: float | None = None
        self._reader: LogReader | None = None
        streams = [(stream.source, stream.destination) for stream in scenario.traffic]
        self._flows = apart([*streams, *((flow.source, flow.destination) for flow in planned[variation].flows)])
        self._devices = {node: _device(network, node) for pair in self._flows for node in pair}
        self._before: dict[str, Packets] = {}
        self._last: dict[str, Packets] = {}

    def close(self) -> None:
        """Close the log."""
        self._tail.close()

    def is_still(self, now_s: float) -> bool:
        """Whether an injection is so near that drawing could disturb it."""
        if self._zero_s is None:
            return False
        times_s = (self._zero_s + action.at_s for action in plan_actions(self._scenario.failures))
        return any(abs(now_s - at_s) < STILL_S for at_s in times_s)

    def look(self, phase: str) -> Watched:
        """The run now."""
        self._read(self._tail.new_events())
        zero_s, topology, scenario = self._zero_s, self._scenario.topology, self._scenario
        watched = Watched(self._title, phase, n_switches=len(topology.node_names))
        if zero_s is None or self._reader is None:
            return watched
        now_ms = 1000 * (time.monotonic() - zero_s)
        wait_ms = 1000 * (scenario.wait_to_restore_s + RETURN_SLACK_S)
        failures: tuple[FailureView, ...] = self._reader.views(now_ms, wait_ms)
        self._last = self._packets() or self._last
        self._before = self._before or self._last
        return Watched(
            self._title,
            phase,
            now_ms,
            1000 * scenario.duration_s,
            failures,
            event_views(Log(topology, self._events, zero_s), failures),
            flow_counts(self._flows, self._before, self._last),
            len(topology.node_names),
        )

    def _read(self, events: Iterable[Event]) -> None:
        for event in events:
            self._events.append(event)
            if event.name == "zero":
                self._zero_s = event.t_s
                self._reader = LogReader(self._scenario.topology, event.t_s, self._links_of_tag)
            elif self._reader is not None:
                self._reader.read(event)

    def _packets(self) -> dict[str, Packets]:
        """Counters of the hosts; none once they are removed."""
        try:
            return {node: packets_of(path.read_text(), name) for node, (path, name) in self._devices.items()}
        except (FileNotFoundError, ProcessLookupError):
            return {}


def _device(network: EmulatedNetwork, node: str) -> tuple[Path, str]:
    """The counters that a host's device is listed in, and its name there."""
    host = network.hosts[node].name
    return Path(f"/proc/{network.shell_pid(host)}/net/dev"), f"{host}-eth0"
