"""What is routed as one."""

from __future__ import annotations

from typing import NamedTuple


class Commodity(NamedTuple):
    """Traffic to `destination`, from `source` or (None) from anywhere.

    Both are positions in `Topology.nodes` where routes are planned, IPv4 addresses where rows are.
    """

    destination: int
    source: int | None = None
