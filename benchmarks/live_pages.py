"""Whether pages of `armor live` that look on change how fast its network recovers.

    sudo .venv/bin/python -m benchmarks.live_pages [--failures 12] [--pages 10] [--topology darkstrand] [--out FILE]

One network under the real `armor live`; the links of the shown path fail, each while no page is open and while
PAGES readers follow the server-sent events, as a browser's page does. A trial is one failure: echo requests 5 ms
apart between the hosts of the shown pair, the failure 0.5 s after their start, the lost ones counted as the outage,
then repair and return of the usual routes. The order of the two variants turns round each time (0, 10, 10, 0, ...), so
that a machine that slows down favours neither. The readers' own processor time counts as part of what is measured: they
run on the same machine, as a browser would. Every trial is a line of the result file.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.trial_rows import parser_of, record
from emulation.runfile import STATE_VARIABLE, list_runs
from experiments.campaign.statistics import change_interval, median_interval
from experiments.scenario.traffic.ping import PACED_PING, Ping

Json = dict[str, Any]
Row = dict[str, Any]
BFD_INTERVAL_MS = 20
PING_MS, PINGS, FAIL_AFTER_S, PAYLOAD_BYTES = 5, 800, 0.5, 56
READY_S, RETURN_S, REQUEST_S, END_S = 300.0, 150.0, 60.0, 60.0
_DOCUMENT = re.compile(r'<script type="application/json" id="document">(.*?)</script>', re.DOTALL)


class Live:
    """A running `armor live`, asked as its pages ask it."""

    def __init__(self, url: str, state: Path) -> None:
        self.url, self._state = url, state

    def document(self) -> Json:
        """What a page that opens now would show; nothing stays open."""
        with urllib.request.urlopen(self.url, timeout=REQUEST_S) as answer:
            found = _DOCUMENT.search(answer.read().decode())
        assert found is not None, "the page holds no document"
        document: Json = json.loads(found.group(1))
        return document

    def run(self) -> Json:
        """The network."""
        run: Json = self.document()["runs"][0]
        return run

    def host(self, node: str) -> str:
        """Name of a switch's host."""
        return next(str(each["host"]) for each in self.document()["topology"]["nodes"] if each["name"] == node)

    def ask(self, **wanted: str) -> None:
        """Have something done (`RuntimeError`: it is refused)."""
        data = json.dumps(wanted).encode()
        request = urllib.request.Request(f"{self.url}act", data, {"Content-Type": "application/json"}, method="POST")
        with urllib.request.urlopen(request, timeout=REQUEST_S) as answer:
            error = json.load(answer)["error"]
        if error:
            raise RuntimeError(error)

    def within(self, host: str) -> list[str]:
        """Beginning of a command line that runs in a host."""
        (run,) = list_runs(self._state)
        pids = [each["pid"] for each in run.of_kind("process") if (each["name"], each["place"]) == ("shell", host)]
        return ["nsenter", "--target", str(pids[0]), "--net"]

    def address(self, host: str) -> str:
        """IPv4 address of a host."""
        words = [*self.within(host), "ip", "-json", "-4", "address", "show", "dev", f"{host}-eth0"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return str(json.loads(shown)[0]["addr_info"][0]["local"])


@contextmanager
def live(topology: str, folder: Path) -> Iterator[Live]:
    """`armor live` on a topology, ready."""
    words = [sys.executable, "-m", "experiments", "live", topology, "--bfd-interval-ms", str(BFD_INTERVAL_MS)]
    environment_with = {**os.environ, STATE_VARIABLE: str(folder)}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment_with)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError("armor live did not start; see what it said above")
        found = Live(url, folder)
        until(lambda: process.poll() is not None or not found.run()["error"], "the network is ready", READY_S)
        yield found
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(END_S)
        finally:
            process.kill()


@contextmanager
def open_pages(url: str, count: int) -> Iterator[list[int]]:
    """Readers of the events; the list receives how many bytes each has read."""
    read_bytes, over = [0] * count, threading.Event()

    def follow(number: int) -> None:
        with suppress(TimeoutError), urllib.request.urlopen(f"{url}events", timeout=REQUEST_S) as stream:
            while not over.is_set() and (line := stream.readline()):
                read_bytes[number] += len(line)

    threads = [threading.Thread(target=follow, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: all(read_bytes), "every page has the state", REQUEST_S)
        yield read_bytes
    finally:
        over.set()  # the network changes twice a second, so every reader gets a line and ends
        for thread in threads:
            thread.join(REQUEST_S)


def until(condition: Callable[[], object], what: str, timeout_s: float) -> None:
    """Wait for a condition (`RuntimeError`: it does not come)."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"not within {timeout_s:g} s: {what}")
        time.sleep(0.5)


def trial(found: Live, pair: tuple[str, str], link: str, pages: int) -> Row:
    """One failure while so many pages are open; afterwards everything is as before."""
    known = len(found.run()["failures"])

    def detected() -> Json | None:
        """The failure, once somebody has detected it."""
        later = found.run()["failures"][known:]
        return later[0] if later and "detect" in later[0]["stages"] else None

    with open_pages(found.url, pages) as read_bytes:
        before = sum(read_bytes)
        words = [sys.executable, "-I", "-S", str(PACED_PING), found.address(pair[1])]
        words += [str(PING_MS / 1000), str(PINGS), "1", str(PAYLOAD_BYTES)]
        began_s = time.monotonic()
        with subprocess.Popen([*found.within(pair[0]), *words], stdout=subprocess.PIPE, text=True) as pings:
            time.sleep(FAIL_AFTER_S)
            found.ask(do="fail", link=link, kind="silent")
            said = pings.communicate(timeout=REQUEST_S)[0]
        took_s, after = time.monotonic() - began_s, sum(read_bytes)
    try:
        until(detected, "the failure is detected", REQUEST_S)
    finally:
        found.ask(do="repair", link=link)
    repaired_ms = found.run()["end_ms"]
    until(lambda: has_returned(found.run()["events"], link, repaired_ms), "the usual routes are back", RETURN_S)
    run = found.run()
    failure = run["failures"][known]
    if others := others_down(run["events"], link, failure["down"][0]):
        return {"status": "failed", "error": f"the machine was busy: BFD took ports of {others} as failed"}
    counts = Ping.own_counts(said)
    if counts is None or counts[0] != PINGS or counts[0] == counts[1]:
        return {"status": "failed", "error": f"no outage was measured: ping says {said.strip()!r}"}
    return {
        "status": "ok",
        "outage_ms": (counts[0] - counts[1]) * PING_MS,
        "detect_ms": failure["stages"]["detect"] - failure["down"][0][0],
        "page_bytes_per_s": 0.0 if not pages else (after - before) / pages / took_s,
        "load": os.getloadavg()[0],
    }


def has_returned(events: Sequence[Json], link: str, since_ms: float) -> bool:
    """Whether the controller has said that a link's usual routes are back; a link that fails often waits longer."""
    later = (event for event in events if event["kind"] == "return_done" and event["t_ms"] > since_ms)
    return any(link in re.findall(r"[^\s,]+", event["text"]) for event in later)


def others_down(events: Sequence[Json], link: str, down: Sequence[float]) -> str:
    """Switches that took a port as failed meanwhile though nothing of theirs had failed."""
    start_ms, end_ms = down
    return ", ".join(
        sorted(
            {
                event["node"]
                for event in events
                if event["kind"] == "port_down"
                and start_ms <= event["t_ms"] <= end_ms
                and event["node"] not in link.split("-")
            }
        )
    )


def variants(failures: int, pages: int) -> Iterator[tuple[int, int]]:
    """(number of the pair of trials, pages open), with the order turned round from pair to pair.

    Examples
    --------
    >>> list(variants(2, 10))
    [(0, 0), (0, 10), (1, 10), (1, 0)]
    """
    for number in range(failures):
        order = (0, pages) if number % 2 == 0 else (pages, 0)
        yield from ((number, count) for count in order)


def measurements(topology: str, failures: int, pages: int) -> Iterator[Row]:
    """A row for each trial; a pair of trials before them warms up and is left out."""
    with TemporaryDirectory(prefix="alp-") as folder, live(topology, Path(folder)) as found:
        first = found.run()["pairs"][0]
        usual = next(path for path in first["paths"] if not path["failed"])["settled"]
        pair, links = (found.host(first["source"]), found.host(first["destination"])), usual["links"]
        for count in (0, pages):
            attempt(found, pair, links[0], count)
        for number, count in variants(failures, pages):
            link = links[number % len(links)]  # not always the same one, whose return would wait longer each time
            row = {"trial": number, "pages": count, "topology": topology, "link": link}
            yield {**row, **attempt(found, pair, link, count)}


def attempt(found: Live, pair: tuple[str, str], link: str, pages: int) -> Row:
    """A trial; one that fails says why, and the network goes on."""
    try:
        return trial(found, pair, link, pages)
    except RuntimeError as error:
        return {"status": "failed", "error": str(error)}


def summary(rows: Sequence[Row]) -> list[str]:
    """Medians with quartiles for each number of pages, and the ratio of the means, paired trial by trial."""
    lines, counts = [], sorted({int(row["pages"]) for row in rows})
    for name in ("outage_ms", "detect_ms"):
        by_count = {
            count: {row["trial"]: float(row[name]) for row in rows if row["pages"] == count and row["status"] == "ok"}
            for count in counts
        }
        for count, values in by_count.items():
            if values:
                middle, low, high = median_interval(list(values.values()))
                spread = f"quartiles {low:.1f} to {high:.1f}, {min(values.values()):.1f} to {max(values.values()):.1f}"
                lines.append(f"{name}, {count:2} pages: median {middle:.1f} ms, {spread}, {len(values)} failures")
        change = change_interval(by_count[counts[0]], by_count[counts[-1]], seed=1)
        if change is not None and change.low is not None and change.high is not None:
            value, low, high = (1 + each / 100 for each in (change.value, change.low, change.high))
            lines.append(f"{name}, ratio of means {counts[-1]}/{counts[0]} pages: {value:.3f} [{low:.3f}, {high:.3f}]")
    lines.append(f"failed trials: {sum(row['status'] != 'ok' for row in rows)} of {len(rows)}")
    return lines


def main() -> int:
    """Measure, write the rows, print a summary."""
    parser = parser_of("live_pages", __doc__)
    parser.add_argument("--failures", type=int, default=12, help="of each variant (default: 12)")
    parser.add_argument("--pages", type=int, default=10, help="pages open in the second variant (default: 10)")
    parser.add_argument("--topology", default="darkstrand")
    given = parser.parse_args()
    return record("live_pages", given.out, measurements(given.topology, given.failures, given.pages), summary)


if __name__ == "__main__":
    sys.exit(main())
