"""A comparison as a page that fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.comparison.decide import measured
from experiments.comparison.decide.measured import Measured
from experiments.comparison.decide.row import HEADER, RIGHT, Row, by_scheme, cells
from experiments.report.blocks import Block, Grid, Page, Picture, Section, Text
from mininet_topos.wording import counted

KEY = (
    "A case is an ordered pair of hosts and failed links that hit its path. Delivered, in percent of the cases that "
    "still have a path: first, right after the failure, whatever part of the switches knows of it; updating, while a "
    "controller rewrites any switches; settled, once all have acted. Loops: cases that may loop, first or settled. "
    "Stretch: links crossed over the fewest that are left. Crankback: hops that a first packet goes back, at most. "
    "Rows and groups: in the fullest switch, and on average. Header bits: what rows write into packets. Needs: who "
    "acts after a failure."
)


MEASURED_KEY = (
    "One link of an emulated network fails silently, pings go across it; medians of the rounds with the least and the "
    "most. Outage: of the pair with the longest. Lost and backtracked: packets of all pairs, after the failure."
)


def comparison_page(topology: str, rows: Sequence[Row], found: Sequence[Measured], drawing: bytes) -> Page:
    """Tables and picture.

    Parameters
    ----------
    drawing
        SVG file.
    """
    lines = by_scheme(rows)
    grid = Grid(f"{topology}: schemes side by side", HEADER, tuple(cells(each) for each in lines), right=RIGHT)
    alt = f"Delivered cases, stretch and rows of each scheme on {topology}; the numbers are those of the table."
    blocks: list[Block] = [Text(KEY), grid, Picture(alt, drawing, ".svg")]
    if found:
        header = measured.HEADER
        lines_measured = tuple(measured.cells(each) for each in found)
        blocks += [Text(MEASURED_KEY), Grid("Measured", header, lines_measured, right=tuple(range(1, len(header))))]
    lead = f"{counted(len({(row.scheme, row.mode) for row in rows}), 'scheme')} (each mode is one) on {topology}."
    return Page("Armor: recovery schemes compared", lead, (Section("Comparison", "comparison", tuple(blocks)),))
