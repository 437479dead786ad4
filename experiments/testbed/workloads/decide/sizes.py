"""Flow sizes of data centres, from published distributions, and sequences of flows drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mininet_topos.errors import BadInputError

DISTINCT_SIZES = 1000


@dataclass(frozen=True)
class SizeTable:
    """A distribution of flow sizes: straight lines between points (bytes, per cent of flows that are not larger)."""

    name: str
    title: str
    source: str
    points: tuple[tuple[float, float], ...]

    def share(self, size_bytes: float) -> float:
        """Share of flows (0 to 1) that are not larger.

        Examples
        --------
        >>> WEB_SEARCH.share(65_000), round(DATA_MINING.share(100), 4)
        (0.465, 0.0556)
        """
        sizes, percent = zip(*self.points, strict=True)
        return float(np.interp(size_bytes, sizes, percent)) / 100.0

    def size_at(self, share: float) -> int:
        """The size that this share of flows does not exceed, in whole bytes and at least one.

        Examples
        --------
        >>> WEB_SEARCH.size_at(0.465), DATA_MINING.size_at(0.0)
        (65000, 1)
        """
        sizes, percent = zip(*self.points, strict=True)
        return max(1, round(float(np.interp(100.0 * share, percent, sizes))))


WEB_SEARCH = SizeTable(
    "web-search",
    "web search",
    "M. Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, Figure 4",
    (
        (0, 0),
        (10e3, 15),
        (20e3, 20),
        (30e3, 30),
        (50e3, 40),
        (80e3, 53),
        (200e3, 60),
        (1e6, 70),
        (2e6, 80),
        (5e6, 90),
        (10e6, 97),
        (30e6, 100),
    ),
)
DATA_MINING = SizeTable(
    "data-mining",
    "data mining",
    "A. Greenberg et al., VL2: A Scalable and Flexible Data Center Network, SIGCOMM 2009, Figure 2",
    (
        (0, 0),
        (180, 10),
        (216, 20),
        (560, 30),
        (900, 40),
        (1100, 50),
        (1870, 60),
        (3160, 70),
        (10e3, 80),
        (400e3, 90),
        (3.16e6, 95),
        (100e6, 98),
        (1e9, 100),
    ),
)
TABLES = {table.name: table for table in (WEB_SEARCH, DATA_MINING)}


def find_table(name: str) -> SizeTable:
    """A table by its name.

    Raises
    ------
    BadInputError
        There is none of that name.
    """
    if name not in TABLES:
        raise BadInputError(f"workload {name!r} is not known: give one of {', '.join(TABLES)}")
    return TABLES[name]


def draw_sizes(table: SizeTable, count: int, limit_bytes: int, seed: int) -> list[int]:
    """Sizes of short flows, in bytes.

    Parameters
    ----------
    limit_bytes
        Larger flows are left out; the others keep their shares among each other.

    Raises
    ------
    BadInputError
        No flow is that small.
    """
    below = table.share(limit_bytes)
    if below <= 0:
        raise BadInputError(f"no flow of {table.name} has at most {limit_bytes} bytes: give a larger limit")
    return [table.size_at(below * each) for each in np.random.default_rng(seed).random(count)]


@dataclass(frozen=True)
class FlowSequence:
    """Flows one after another: the size of each, and the pause after it."""

    sizes_bytes: tuple[int, ...]
    pauses_s: tuple[float, ...]


def draw_flows(table: SizeTable, count: int, limit_bytes: int, pause_s: float, seed: int) -> FlowSequence:
    """Flows of a thousand different sizes, each about as often, with pauses of an exponential distribution.

    Parameters
    ----------
    count
        Number of flows.
    limit_bytes
        Largest size.
    pause_s
        Mean pause after a flow.
    seed
        Decides sizes, their order and pauses.

    Raises
    ------
    BadInputError
        No flow is that small.
    """
    sizes = draw_sizes(table, DISTINCT_SIZES, limit_bytes, seed)
    order = np.random.default_rng((seed, 1))
    chosen = [int(each) for _ in range(-(-count // DISTINCT_SIZES)) for each in order.permutation(DISTINCT_SIZES)]
    pauses = np.random.default_rng((seed, 2)).exponential(pause_s, count)
    return FlowSequence(tuple(sizes[each] for each in chosen[:count]), tuple(pauses.tolist()))
