"""Drills with requests across one link: it fails, or it flaps, and how long nobody gets an answer is measured."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from emulation.decide.options import BFD_MULT
from experiments.scenario.traffic.ping import PACED_PING, Ping
from experiments.testbed.instruments.processes import end_all, require_running
from experiments.torture.decide.drills import INTERVAL_S, SLACK_MS, Outage, detection_bound_ms, longest_gap_ms
from experiments.torture.decide.faults import Fault, steps_of
from experiments.torture.network import TorturedNetwork
from mininet_topos.errors import ArmorError
from mininet_topos.topology import LinkId

Json = dict[str, Any]
_BEFORE_S, _AFTER_S = 0.3, 1.0  # requests before the failure, and after the bound
_ANSWER_S, _PAYLOAD_BYTES = "1", "64"
_MINUTE_S = 60.0
_STOP_S = 2.0
_TIME = re.compile(r"[0-9.]+\n")


class DrilledNetwork(TorturedNetwork):
    """A network that is asked across one link at a time."""

    @property
    def bound_ms(self) -> float:
        """Detection of a silent failure at the BFD interval that the network has, and slack."""
        return detection_bound_ms(self._network.bfd_interval_ms, BFD_MULT) + SLACK_MS

    @property
    def interval_ms(self) -> int:
        """BFD's."""
        return self._network.bfd_interval_ms

    def fail_link(self, name: str) -> Outage:
        """Requests between the hosts at both ends; the link fails silently, and is repaired after their end."""
        link = self._scenario.topology.parse_link(name)
        seconds = _BEFORE_S + self.bound_ms / 1000 + _AFTER_S
        try:
            with self._requests(link, seconds) as (program, began_s):
                time.sleep(_BEFORE_S)
                failed = self._injection.silent(link)
                said = _said(program)
        finally:
            self._injection.restore_all()
        span_s = (failed.before_s, began_s + seconds)
        unanswered_s = [sent_s for _, sent_s in Ping.unanswered(said)]
        return Outage.of(name, span_s, _counts(said)[0], unanswered_s, late_ms=Ping.latest_ms(said))

    def flap(self, name: str, seconds: float, period_s: float) -> Json:
        """The link flaps; the longest time without answers, and rule changes in each minute at all switches."""
        link = self._scenario.topology.parse_link(name)
        changes = [0]
        with self._changes() as count, self._requests(link, seconds) as (program, began_s):
            for step in steps_of([Fault(0.0, "flap", name, seconds)], period_s):
                time.sleep(max(0.0, began_s + step.at_s - time.monotonic()))
                if step.at_s >= _MINUTE_S * len(changes):
                    changes.append(count())
                (self._injection.silent if step.begins else self._injection.restore)(link)
            said = _said(program)
            changes.append(count())
        requests, answered = _counts(said)
        return {
            "link": name,
            "seconds": seconds,
            "period_s": period_s,
            "requests": requests,
            "lost": requests - answered,
            "longest_gap_ms": round(longest_gap_ms(Ping.unanswered(said)), 1),
            "late_ms": Ping.latest_ms(said),
            "changes_a_minute": [after - before for before, after in pairwise(changes)],
        }

    def changes_of_a_failure(self, name: str) -> int:
        """Rule changes at all switches while a link fails once and its usual routes return."""
        with self._changes() as count:
            self.fail_link(name)
            self.calm()
            return count()

    @contextmanager
    def _requests(self, link: LinkId, seconds: float) -> Iterator[tuple[subprocess.Popen[str], float]]:
        """Requests between the hosts at both ends, once they are answered, and when the first left."""
        source, target = self._network.hosts[link.a], self._network.hosts[link.b]
        words = [sys.executable, "-I", "-S", str(PACED_PING), target.address, str(INTERVAL_S)]
        words += [str(round(seconds / INTERVAL_S)), _ANSWER_S, _PAYLOAD_BYTES]
        program = self._network.popen(source.name, words, stdout=subprocess.PIPE, text=True)
        try:
            assert program.stdout is not None
            first = program.stdout.readline()
            if not _TIME.fullmatch(first):
                raise ArmorError(f"no request across {link} was answered before its failure")
            yield program, float(first)
        finally:
            program.kill()
            program.wait()

    @contextmanager
    def _changes(self) -> Iterator[Callable[[], int]]:
        """Counts the changes of rows at all switches so far (Open vSwitch's flow monitor)."""
        programs: list[subprocess.Popen[bytes]] = []
        files = [self._work.path / f"changes-{node}" for node in self._network.sites]
        try:
            for file, (node, site) in zip(files, self._network.sites.items(), strict=True):
                words = ["stdbuf", "-oL", "ovs-ofctl", "--unixctl=none", "-OOpenFlow13", "monitor"]
                words += [f"unix:{site.mgmt_socket}", "watch:!initial"]
                with file.open("wb") as out:
                    programs.append(self._network.popen(node, words, stdout=out, stderr=out))
            yield lambda: sum(file.read_bytes().count(b" event=") for file in files)
            require_running(
                (f"ovs-ofctl monitor of {node}", program)
                for node, program in zip(self._network.sites, programs, strict=True)
            )
        finally:
            end_all(programs, signal.SIGTERM, _STOP_S)


def _said(program: subprocess.Popen[str]) -> str:
    """What the requests say at their end."""
    try:
        said: str = program.communicate(timeout=_MINUTE_S)[0]
    except subprocess.TimeoutExpired as error:
        raise ArmorError(f"the requests did not end within {_MINUTE_S:g} s; run this again") from error
    return said


def _counts(said: str) -> tuple[int, int]:
    """Requests and answers."""
    found = Ping.own_counts(said)
    assert found is not None, f"the requests ended without a count: {said!r}"
    return found
