"""The table of a comparison inside a page of text, between two marks, of which the first says how it is made."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.comparison.decide.row import HEADER, LEFT, Row, by_scheme, cells
from mininet_topos.errors import BadInputError

BEGIN, END = "<!-- armor compare", "<!-- end of armor compare -->"


def markdown_table(rows: Sequence[Row]) -> str:
    """The table in Markdown."""
    lines = [HEADER, tuple("---" if column in LEFT else "--:" for column in range(len(HEADER)))]
    lines += [cells(stages) for stages in by_scheme(rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def pasted(page: str, table: str, name: str) -> str:
    """The page with the table between its marks.

    Parameters
    ----------
    name
        What the page is called in messages.

    Raises
    ------
    BadInputError
        The page does not have both marks once each, a line of its own, in this order.
    """
    lines = page.splitlines()
    begin = [number for number, line in enumerate(lines) if line.startswith(BEGIN)]
    end = [number for number, line in enumerate(lines) if line == END]
    if len(begin) != 1 or len(end) != 1 or begin > end:
        raise BadInputError(f"{name} needs a line '{BEGIN} ... -->' and, below it, '{END}', each once; add them")
    return "\n".join([*lines[: begin[0] + 1], "", table, "", *lines[end[0] :], ""])
