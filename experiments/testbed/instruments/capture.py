"""Packet taps: one tcpdump for each device, stamping in the kernel, of probe packets and tagged frames only.

Taps can stay open over many measurements: `marks` remembers where the files are, and `slices` copies what has come
since, each slice a capture file of its own; `missed_since` tells what the kernel could not keep meanwhile.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from experiments.analysis.frames import FILE_HEADER_BYTES, CaptureError
from experiments.scenario.traffic.probe import PORT as IRTT_PORT
from experiments.testbed.instruments.processes import end_all, require_running

if TYPE_CHECKING:
    from emulation.network import EmulatedNetwork

# `vlan` shifts the offsets of whatever follows it in a filter, so it stands last.
# Labelled probes are recognised by their bytes behind one to three labels: `mpls` shifts offsets too, and not in turn.
LABELLED_PING = " or ".join(
    f"(ether[12:2] = 0x8847 and ether[{12 + 4 * n}] & 1 = 1 and ether[{23 + 4 * n}] = 1)" for n in (1, 2, 3)
)
_LABELLED_IRTT = " or ".join(
    f"(ether[12:2] = 0x8847 and ether[{12 + 4 * n}] & 1 = 1 and ether[{23 + 4 * n}] = 17 and "
    f"(ether[{34 + 4 * n}:2] = {IRTT_PORT} or ether[{36 + 4 * n}:2] = {IRTT_PORT}))"
    for n in (1, 2, 3)
)
PROBE_FILTER = f"(udp port {IRTT_PORT}) or (icmp) or {LABELLED_PING} or {_LABELLED_IRTT} or vlan"
SNAP_BYTES = 128  # Ethernet, tag, IPv4, UDP, and irtt's header fit
_BUFFER_KIB = 2048
_START_S = 15.0
DRAIN_S = 1.2  # the kernel hands a partly filled block over after a second
_STOP_S = 5.0
_ANSWER_S = 5.0
_POLL_S = 0.01
_DROPPED = re.compile(r"(\d+) packets? dropped by kernel")


@dataclass(frozen=True)
class Tap:
    """A device to listen on: its place ("h2", "s3"), its name there, which frames ("in", "out", "inout", a filter)."""

    place: str
    device: str
    direction: str = "inout"
    wanted: str = PROBE_FILTER

    @property
    def file_name(self) -> str:
        """Name of the capture file."""
        return f"{self.device}-{self.direction}.pcap"

    @property
    def argv(self) -> tuple[str, ...]:
        """The tcpdump that listens; it writes to standard output, since it may drop its rights to files."""
        options = f"-n -p -U -s {SNAP_BYTES} -B {_BUFFER_KIB} --time-stamp-precision=nano -w -".split()
        return "tcpdump", "-i", self.device, "-Q", self.direction, *options, self.wanted


@dataclass(frozen=True)
class Mark:
    """Where a tap stands: bytes in its file, and frames that the kernel could not keep for it so far."""

    size_bytes: int
    missed: int


class Captures:
    """Taps that run while the context lasts; afterwards `files` can be read.

    Parameters
    ----------
    network
        Where.
    taps
        What.
    folder
        Where the capture files go.
    drains
        Wait at the end until the kernel has handed over what it holds.

    Raises
    ------
    CaptureError
        A tcpdump does not start.
    ProgramEndedError
        A tcpdump ends before the context does.
    """

    def __init__(self, network: EmulatedNetwork, taps: Iterable[Tap], folder: Path, *, drains: bool = True) -> None:
        self._network, self._folder, self._drains = network, folder, drains
        self._taps: Sequence[Tap] = tuple(taps)
        self._running: list[tuple[Tap, subprocess.Popen[bytes]]] = []

    @property
    def files(self) -> dict[Tap, Path]:
        """Capture file of every tap."""
        return {tap: self._folder / tap.file_name for tap in self._taps}

    def __enter__(self) -> Captures:
        """Start all taps, and wait until all listen."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            for tap in self._taps:
                self._start(tap)
            self._wait_listening()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the kernel hand over what it holds when asked to, then stop all taps."""
        try:
            if kind is None:
                if self._drains:
                    time.sleep(DRAIN_S)
                require_running(self._named())
        finally:
            self._stop()

    def marks(self) -> dict[Tap, Mark]:
        """Where all taps stand now (raises as `missed_since`)."""
        missed = self._ask_missed()
        return {tap: Mark(path.stat().st_size, missed.get(tap, 0)) for tap, path in self.files.items()}

    def missed_since(self, marks: dict[Tap, Mark]) -> dict[Tap, int]:
        """Frames that the kernel could not keep for a tap since `marks`; only taps that missed.

        Raises
        ------
        ProgramEndedError
            A tcpdump has ended.
        CaptureError
            A tcpdump does not answer.
        """
        now = self._ask_missed()
        return {tap: count for tap, mark in marks.items() if (count := now.get(tap, 0) - mark.missed)}

    def slices(self, marks: dict[Tap, Mark], folder: Path) -> dict[Tap, Path]:
        """Copy what every tap has written since `marks` to files in `folder`.

        tcpdump writes whole batches of frames, so a slice begins with a frame; what the kernel still holds is missing
        for up to `DRAIN_S`.

        Raises
        ------
        ProgramEndedError
            A tcpdump has ended.
        """
        require_running(self._named())
        folder.mkdir(parents=True, exist_ok=True)
        copies = {}
        for tap, path in self.files.items():
            data = path.read_bytes()
            start = max(marks[tap].size_bytes, FILE_HEADER_BYTES)
            copies[tap] = folder / tap.file_name
            copies[tap].write_bytes(data[:FILE_HEADER_BYTES] + data[start:])
        return copies

    def missed(self) -> dict[Tap, int]:
        """Frames that the kernel could not keep for a tap, from what tcpdump has said last; only taps that missed."""
        said = {tap: self._counts(tap) for tap in self._taps}
        return {tap: counts[-1] for tap, counts in said.items() if counts and counts[-1]}

    def _ask_missed(self) -> dict[Tap, int]:
        """As `missed`; a tcpdump that runs says it at the signal SIGUSR1."""
        require_running(self._named())
        answers = {tap: len(self._counts(tap)) for tap, _ in self._running}
        for _, process in self._running:
            process.send_signal(signal.SIGUSR1)
        deadline_s = time.monotonic() + _ANSWER_S
        while silent := [tap for tap, before in answers.items() if len(self._counts(tap)) == before]:
            require_running(self._named())
            if time.monotonic() > deadline_s:
                raise CaptureError(f"tcpdump on {silent[0].device} of {silent[0].place} does not say what it missed")
            time.sleep(_POLL_S)
        return self.missed()

    def _counts(self, tap: Tap) -> list[int]:
        return [int(count) for count in _DROPPED.findall(self._said(tap))]

    def _said(self, tap: Tap) -> str:
        return self._log(tap).read_text(encoding="utf-8", errors="replace")

    def _log(self, tap: Tap) -> Path:
        return self._folder / f"{tap.file_name}.log"

    def _start(self, tap: Tap) -> None:
        with self.files[tap].open("wb") as out, self._log(tap).open("wb") as log:
            self._running.append((tap, self._network.popen(tap.place, tap.argv, stdout=out, stderr=log)))

    def _wait_listening(self) -> None:
        """tcpdump says "listening on" once its socket is open."""
        waiting = dict(self._running)
        deadline = time.monotonic() + _START_S
        while waiting:
            for tap, process in list(waiting.items()):
                said = self._said(tap)
                if "listening on" in said:
                    del waiting[tap]
                elif process.poll() is not None or time.monotonic() > deadline:
                    reason = " ".join(said.split()) or f"no word within {_START_S:g} s"
                    raise CaptureError(f"tcpdump on {tap.device} of {tap.place} does not listen: {reason}")
            time.sleep(_POLL_S)

    def _named(self) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
        return ((f"tcpdump on {tap.device} of {tap.place}", process) for tap, process in self._running)

    def _stop(self) -> None:
        end_all((process for _, process in self._running), signal.SIGINT, _STOP_S)
        self._running.clear()
