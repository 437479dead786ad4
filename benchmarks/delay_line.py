"""How exactly the delay line delays, and what it costs: error and processor time against links and packet rate.

    python -m benchmarks.delay_line [--trials 3] [--seconds 3] [--delay-ms 5] [--out FILE]

Needs root, and the kernel need not have netem. Frames of 86 bytes carry the time of their sending; the kernel stamps
them when they arrive at the far end. The error is the time between less the delay asked for, so the sender's and the
kernel's own work are in it; it is taken on one link while all are loaded. Frames of one half millisecond leave back to
back, which is harder for the line than an even stream. `late` is what the line says itself of all links: from when a
frame was due to when it was sent. Every trial is a JSON line of the result file, failed ones too.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.trial_rows import parser_of, record
from emulation.decide.delay_line import PROGRAM_NAME, trial_of
from emulation.delay_line import find_delay_line
from emulation.delay_trial import DelayTestbed, delay_testbed, errors_us, send_stamped
from mininet_topos.errors import ArmorError, MissingRequirementError

CASES = tuple((links, rate_pps) for rate_pps in (1000, 10_000) for links in (1, 8, 28))
SENDER_PPS = 90_000  # what one Python process can send


def send_from_processes(testbed: DelayTestbed, links: int, rate_pps: int, seconds: float) -> int:
    """Load every link of a testbed from as many processes as that needs; frames sent into each link."""
    workers = -(-links * rate_pps // SENDER_PPS)
    groups = [range(first, links, workers) for first in range(workers)]
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        sent = pool.starmap(send_stamped, [(testbed.shell_pid, group, rate_pps, seconds) for group in groups])
    return min(sent)


def trial(program: Path, links: int, rate_pps: int, delay_ms: float, seconds: float) -> dict[str, object]:
    """One row: errors on the first link, and what the line says of all."""
    with delay_testbed(program, links, delay_ms) as testbed, testbed.receiver(0) as receiver:
        began_cpu_s, began_s = testbed.cpu_s(), time.monotonic()
        sent = send_from_processes(testbed, links, rate_pps, seconds)
        took_s = time.monotonic() - began_s
        time.sleep(delay_ms / 1000 + 0.2)
        cpu_s = testbed.cpu_s() - began_cpu_s
        report = testbed.report()
        seen = trial_of(delay_ms, sent, errors_us(receiver, delay_ms))
    relayed = sum(line.relayed for line in report.lines)
    return {
        "status": "ok",
        "sent_pps": sent / took_s,
        "error_us": {"p50": seen.error_p50_us, "p99": seen.error_p99_us, "max": seen.error_max_us},
        "late_us": {"p50": report.late_p50_us, "p99": report.late_p99_us, "max": report.late_max_us},
        "relayed": relayed,
        "lost": sum(line.ring_full + line.send_failed + line.truncated for line in report.lines),
        "cores": cpu_s / took_s,
        "cpu_us_per_frame": cpu_s / relayed * 1e6,
        "realtime": report.realtime,
        "load": os.getloadavg()[0],
    }


def trials(program: Path, count: int, delay_ms: float, seconds: float) -> Iterator[dict[str, object]]:
    """Rows of all cases, case after case and trial after trial, so that drift hits all alike."""
    for number in range(count):
        for links, rate_pps in CASES:
            case = {"links": links, "rate_pps": rate_pps, "delay_ms": delay_ms, "trial": number}
            try:
                yield {**case, **trial(program, links, rate_pps, delay_ms, seconds)}
            except ArmorError as error:
                yield {**case, "status": "failed", "error": str(error)}


def summary(rows: list[dict[str, object]]) -> Iterator[str]:
    """One line a case, for people."""
    yield "links   pps   error p50   p99     max us   lost of relayed     cores   us a frame"
    for links, rate_pps in CASES:
        mine = [row for row in rows if (row["links"], row["rate_pps"]) == (links, rate_pps) and row["status"] == "ok"]
        if not mine:
            yield f"{links:5} {rate_pps:6}   every trial failed"
            continue
        p50, p99, most = (median(row["error_us"][key] for row in mine) for key in ("p50", "p99", "max"))  # type: ignore[index]
        lost, relayed = (sum(int(str(row[key])) for row in mine) for key in ("lost", "relayed"))
        cores, each = (median(float(str(row[key])) for row in mine) for key in ("cores", "cpu_us_per_frame"))
        yield (
            f"{links:5} {rate_pps:6}   {p50:8.0f} {p99:6.0f} {most:8.0f}   "
            f"{lost:6} of {relayed:9}   {cores:5.2f}   {each:8.2f}"
        )


def main() -> int:
    """Run the cases, write the rows, print a summary."""
    parser = parser_of("delay_line", __doc__)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--delay-ms", type=float, default=5.0)
    given = parser.parse_args()
    program = find_delay_line()
    if program is None:
        raise MissingRequirementError(f"{PROGRAM_NAME} was not built; run make setup")
    return record("delay_line", given.out, trials(program, given.trials, given.delay_ms, given.seconds), summary)


if __name__ == "__main__":
    sys.exit(main())
