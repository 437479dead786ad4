"""The table of a comparison inside a page of text, between two markers, of which the first says how it is made."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.comparison.decide.row import HEADER, RIGHT, Row, by_scheme, cells
from experiments.report.decide.markdown import put_between, table

BEGIN, END = "<!-- armor compare", "<!-- end of armor compare -->"


def pasted(page: str, rows: Sequence[Row], name: str) -> str:
    """The page with the table between its markers.

    Parameters
    ----------
    name
        What the page is called in messages.

    Raises
    ------
    BadInputError
        The page lacks one of the markers, or has more than one table.
    """
    return put_between(page, BEGIN, END, table(HEADER, map(cells, by_scheme(rows)), RIGHT), name)
