"""Rows of a comparison, and the table that people read."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from itertools import groupby

from ryu_apps.plan.choices import NO_MODE

FIRST, UPDATING, SETTLED = STAGES = ("first", "updating", "settled")
"""Right after the failure, whatever part of the switches knows; while a controller rewrites; once all have acted."""


@dataclass(frozen=True, slots=True)
class Row:
    """One scheme in one mode, with so many failed links at once, at one stage; the keys of `--json` and of the CSV.

    Attributes
    ----------
    mode
        "none" for a scheme without modes.
    stage
        One of `STAGES`; the numbers that a stage does not change stand in each of its rows.
    cases
        Ordered pairs and failed links that hit their path.
    parted
        Cases whose pair has no path left, whatever becomes of the packets.
    micro_loops
        Cases that loop only while a controller rewrites; None where none does.
    first_stretch, mean_stretch
        Hops over the fewest that are left: of first packets, and of settled ones; None where none arrives.
    longest_crankback
        Hops that a first packet goes back, at most.
    flows_most, groups_most, flows_mean, groups_mean
        Rows and groups of a switch.
    header_bits
        Of each packet that meets a failure (header_bits.py).
    needs
        Who must act after a failure beside the switches: "controller", "agent" or "nobody".
    """

    scheme: str
    mode: str
    failures: int
    stage: str
    cases: int
    parted: int
    delivered: int
    looped: int
    dropped: int
    micro_loops: int | None
    first_stretch: float | None
    mean_stretch: float | None
    longest_crankback: int
    flows_most: int
    groups_most: int
    header_bits: int
    flows_mean: float
    groups_mean: float
    needs: str

    @property
    def served(self) -> int:
        """Cases that have a path left."""
        return self.cases - self.parted


HEADER = (
    "scheme", "failed", "cases", "first %", "updating %", "settled %", "no path %", "loops", "micro-loops",
    "first stretch", "settled stretch", "crankback hops", "most rows", "mean rows", "most groups", "mean groups",
    "header bits", "needs",
)  # fmt: skip
LEFT = (0, len(HEADER) - 1)
RIGHT = tuple(column for column in range(len(HEADER)) if column not in LEFT)


def label(row: Row) -> str:
    """Scheme and mode."""
    return row.scheme if row.mode == NO_MODE else f"{row.scheme} ({row.mode})"


def by_scheme(rows: Sequence[Row]) -> list[dict[str, Row]]:
    """Rows of each scheme, mode and number of failures, by stage; in their order."""
    groups = groupby(rows, lambda row: (row.scheme, row.mode, row.failures))
    return [{row.stage: row for row in found} for _, found in groups]


def cells(stages: dict[str, Row]) -> tuple[str, ...]:
    """One line of the table, in the order of `HEADER`."""
    settled = stages[SETTLED]
    loops = max(stages[FIRST].looped, settled.looped)
    return (
        label(settled),
        str(settled.failures),
        f"{settled.cases:,}",
        *(percent(stages[each].delivered, stages[each].served) if each in stages else "-" for each in STAGES),
        percent(settled.parted, settled.cases),
        f"{loops:,}",
        "-" if settled.micro_loops is None else f"{settled.micro_loops:,}",
        _stretch(settled.first_stretch),
        _stretch(settled.mean_stretch),
        str(settled.longest_crankback),
        f"{settled.flows_most:,}",
        f"{settled.flows_mean:,.1f}",
        f"{settled.groups_most:,}",
        f"{settled.groups_mean:,.1f}",
        str(settled.header_bits),
        settled.needs,
    )


def percent(part: int, whole: int) -> str:
    """Share in percent, cut off after two digits, so that only all of them are 100.

    Examples
    --------
    >>> percent(3676, 3676), percent(199999, 200000), percent(0, 0)
    ('100', '99.99', '-')
    """
    if whole == 0:
        return "-"
    hundredths = 10_000 * part // whole
    return "100" if part == whole else f"{hundredths / 100:.2f}"


def csv_text(rows: Sequence[Row]) -> str:
    """All rows with the names of their columns; what does not apply is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Row))
    writer.writerows(astuple(row) for row in rows)
    return text.getvalue()


def _stretch(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
