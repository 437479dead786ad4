"""What 1+1 protection and SQR cost a packet, beside plain forwarding on the same way.

    python -m benchmarks.dataplane_cost [--repetitions 9] [--frames 6000] [--out FILE]

Needs root. Frames of h1 go to h2 through two nodes, everything on one processor and as fast as it takes them, so the
time from one to the next is the processor time of the whole way, Python's sending included. Then the same with
the kernel counting how long programs run. Variants and frame lengths take turns, forwards and backwards, so that drift
hits all alike. Every trial is a JSON line of the result file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from statistics import median, quantiles

from benchmarks.trial_rows import parser_of, record
from dataplane.cost_trial import VARIANTS, Cost, measure
from dataplane.two_paths import two_paths
from mininet_topos.errors import ArmorError

FRAME_BYTES = (64, 1400)


def trials(repetitions: int, frames: int) -> Iterator[dict[str, object]]:
    """Rows of all variants; a testbed is built for each repetition."""
    processor = max(os.sched_getaffinity(0))
    cases = [(variant, size) for size in FRAME_BYTES for variant in VARIANTS]
    for repetition in range(repetitions):
        with two_paths() as testbed:
            for variant, size in cases if repetition % 2 == 0 else reversed(cases):
                row = {"repetition": repetition, "load": os.getloadavg()[0]}
                try:
                    yield {**row, "status": "ok", **asdict(measure(testbed, variant, size, frames, processor))}
                except ArmorError as error:
                    yield {**row, "status": "failed", "variant": variant, "frame_bytes": size, "error": str(error)}


def spread(values: list[float]) -> str:
    """Median, and the middle half of the values."""
    low, _, high = quantiles(values, n=4, method="inclusive")
    return f"{median(values):7.0f} ({low:6.0f} - {high:6.0f})"


def summary(rows: list[dict[str, object]]) -> Iterator[str]:
    """One line a case, for people."""
    yield "bytes  variant           whole way, ns             s1's program, ns          s2's program, ns          lost"
    names = ("variant", "frame_bytes", "frames", "whole_ns", "first_node_ns", "second_node_ns", "lost")
    done = [Cost(**{name: row[name] for name in names}) for row in rows if row["status"] == "ok"]  # type: ignore[arg-type]
    for size in FRAME_BYTES:
        for variant in VARIANTS:
            mine = [cost for cost in done if (cost.variant, cost.frame_bytes) == (variant, size)]
            if len(mine) < 2:
                yield f"{size:5}  {variant:12}  {len(mine)} of its trials did not fail"
                continue
            parts = (spread([getattr(cost, name) for cost in mine]) for name in names[3:6])
            lost = sum(cost.lost for cost in mine)
            yield f"{size:5}  {variant:12}  {'  '.join(parts)}  {lost} of {sum(2 * cost.frames for cost in mine)}"


def main() -> int:
    """Run the variants, write the rows, print a summary."""
    parser = parser_of("dataplane_cost", __doc__)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--frames", type=int, default=6000)
    given = parser.parse_args()
    return record("dataplane_cost", given.out, trials(given.repetitions, given.frames), summary)


if __name__ == "__main__":
    sys.exit(main())
