"""What tables, groups and learned rules cost a packet, alone: `experiments.testbed.packet_cost` without a campaign.

    python -m benchmarks.packet_cost [--repetitions 12] [--out FILE]

Needs root. Every repetition is a JSON line of the result file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.environment import environment
from experiments.campaign.kinds.cost import CostMeasured
from experiments.campaign.parameters import plain
from experiments.testbed.packet_cost import measure, summarise, summary_lines

RESULTS = Path(__file__).parent / "results" / "packet_cost.jsonl"


def main() -> int:
    """Measure, write the rows, print medians and ranges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=12)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[CostMeasured] = []
    with given.out.open("w", encoding="utf-8") as out:
        first = {"command": ["benchmarks.packet_cost", *sys.argv[1:]], **environment()}
        print(json.dumps(first), file=out, flush=True)
        for row in measure(given.repetitions):
            rows.append(row)
            print(json.dumps(plain(row)), file=out, flush=True)
    print("\n".join(summary_lines(summarise(rows))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
