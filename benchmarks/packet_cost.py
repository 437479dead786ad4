"""What tables, groups and learned rules cost a packet, alone: `experiments.testbed.packet_cost` without a campaign.

    python -m benchmarks.packet_cost [--repetitions 12] [--out FILE]

Needs root. Every repetition is a JSON line of the result file.
"""

from __future__ import annotations

import sys

from benchmarks.trial_rows import parser_of, record
from experiments.campaign.parameters import plain
from experiments.testbed.packet_cost import measure, summarise, summary_lines


def main() -> int:
    """Measure, write the rows, print medians and ranges."""
    parser = parser_of("packet_cost", __doc__)
    parser.add_argument("--repetitions", type=int, default=12)
    given = parser.parse_args()
    return record(
        "packet_cost", given.out, measure(given.repetitions), lambda rows: summary_lines(summarise(rows)), plain
    )


if __name__ == "__main__":
    sys.exit(main())
