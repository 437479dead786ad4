"""Tables in Markdown, and the part of a page between two markers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mininet_topos.errors import BadInputError

MARKER = "<!-- "


def table(header: Sequence[str], lines: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """A table without an end of line after its last line.

    Parameters
    ----------
    right
        Columns that are aligned to the right.

    Examples
    --------
    >>> print(table(("scheme", "rows"), [("cb", "7")], right=(1,)))
    | scheme | rows |
    | --- | --: |
    | cb | 7 |
    """
    rule = ["--:" if column in right else "---" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines))


def put_between(page: str, begin: str, end: str, text: str, name: str) -> str:
    """The page with a text between two markers, in place of what stood there.

    Parameters
    ----------
    begin
        What the line of the first marker begins with.
    name
        What the page is called in messages.

    Raises
    ------
    BadInputError
        The first marker is not there exactly once, or the next marker below it is not `end`, on a line of its own.
    """
    lines = page.splitlines(keepends=True)
    first = [number for number, line in enumerate(lines) if line.startswith(begin)]
    if len(first) != 1:
        raise BadInputError(f"{name} has {len(first)} lines that begin with '{begin}'; leave one")
    below = first[0] + 1
    marked = [number for number, line in enumerate(lines) if number >= below and line.startswith(MARKER)]
    if not marked or lines[marked[0]].rstrip() != end:
        raise BadInputError(f"nothing ends in {name} what begins with '{begin}'; write '{end}' below it")
    return "".join([*lines[:below], text, "\n", *lines[marked[0] :]])
