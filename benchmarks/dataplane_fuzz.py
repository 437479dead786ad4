"""Hold the packet programs to their models on many random packets, honest, damaged and hostile; the tests try 5,000.

    python -m benchmarks.dataplane_fuzz [--packets 100000] [--seed 1]

Needs root (the kernel's test runs), but no network. Ends at the first packet on which a program and its model differ.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from dataplane.model.sequence import Egress
from tests.dataplane.hostile import compare, random_flows
from tests.dataplane.test_sqr_program import PORT, open_ring, random_frames

RECEIVING_ENDS = {
    "paper's window": Egress(),
    "numbers that wrap": Egress(last=(1 << 32) - 100),
    "history of 100": Egress(last=(1 << 32) - 100, history=100),
    "history of 960": Egress(history=960),
    "window of 1,000, history of 64": Egress(window=1000, history=64),
}


def main() -> int:
    """Try the packets, print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for name, fresh in RECEIVING_ENDS.items():
        began_s = time.monotonic()
        fates, counters = compare(given.packets, given.seed, fresh)
        counts = ", ".join(f"{fate.name.lower()} {count}" for fate, count in sorted(fates.items(), key=str))
        print(
            f"1+1, {name}: {given.packets} packets alike ({counts}) in {time.monotonic() - began_s:.0f} s; {counters}"
        )
    dice, tables, began_s = random.Random(given.seed), max(1, given.packets // 1000), time.monotonic()
    for _ in range(tables):
        compare(1000, dice.randrange(1 << 30), Egress(), random_flows(dice))
    print(f"1+1, random prefixes and ranges: {tables} tables, 1000 packets each, in {time.monotonic() - began_s:.0f} s")
    ring = open_ring(PORT)
    with ring.loaded:
        random_frames(ring, given.packets, given.seed)
    print(f"SQR: {given.packets} frames alike, slot by slot")
    return 0


if __name__ == "__main__":
    sys.exit(main())
