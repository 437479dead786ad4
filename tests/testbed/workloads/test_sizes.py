"""Flow sizes: tables are distributions, and what is drawn from them follows them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.testbed.workloads.decide.sizes import (
    DATA_MINING,
    DISTINCT_SIZES,
    TABLES,
    WEB_SEARCH,
    SizeTable,
    draw_flows,
    draw_sizes,
    find_table,
)
from mininet_topos.errors import BadInputError
from tests.examples import examples

LIMIT = 100_000
tables = pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)


def distance(table: SizeTable, limit_bytes: int, sizes: list[int]) -> float:
    """Kolmogorov's distance; a size is rounded to whole bytes, so it stands for what rounds to it."""
    ordered = np.sort(np.asarray(sizes, dtype=float))
    below = table.share(limit_bytes)
    steps = np.arange(len(ordered) + 1) / len(ordered)
    high = np.array([min(1.0, table.share(each + 0.5) / below) for each in ordered])
    low = np.array([0.0 if each == 1 else table.share(each - 0.5) / below for each in ordered])
    return float(max((steps[1:] - high).max(), (low - steps[:-1]).max()))


@tables
def test_a_table_rises_from_nothing_to_all_flows(table: SizeTable) -> None:
    assert table.points[0] == (0, 0)
    assert table.points[-1][1] == 100
    assert all(early[0] < late[0] and early[1] < late[1] for early, late in pairwise(table.points))


def test_published_points_stand_in_the_tables() -> None:
    # DCTCP: more than half of the flows are at most 80 kB, 30 % are over 1 MB; VL2: half are at most 1,100 bytes.
    assert WEB_SEARCH.share(80e3) == pytest.approx(0.53)
    assert WEB_SEARCH.share(1e6) == pytest.approx(0.7)
    assert DATA_MINING.share(1100) == pytest.approx(0.5)
    assert DATA_MINING.share(100e6) == pytest.approx(0.98)


@tables
@given(share=st.floats(0.0, 1.0))
def test_a_size_that_a_share_of_flows_does_not_exceed_is_its_inverse(table: SizeTable, share: float) -> None:
    size = table.size_at(share)
    assert size >= 1
    assert table.share(size - 1) - 1e-9 <= share <= table.share(size + 1) + 1e-9


@tables
@examples(25)
@given(seed=st.integers(0, 2**32), count=st.integers(50, 3000))
def test_drawn_sizes_stay_within_kolmogorovs_bound_of_their_table(table: SizeTable, seed: int, count: int) -> None:
    sizes = draw_sizes(table, count, LIMIT, seed)
    assert len(sizes) == count
    assert 1 <= min(sizes) <= max(sizes) <= LIMIT
    # Dvoretzky, Kiefer, Wolfowitz, Massart: beyond this once in 10^9 draws.
    assert distance(table, LIMIT, sizes) <= math.sqrt(math.log(2e9) / (2 * count))


def test_the_bound_tells_one_table_from_the_other() -> None:
    assert distance(WEB_SEARCH, LIMIT, draw_sizes(DATA_MINING, 1000, LIMIT, 1)) > math.sqrt(math.log(2e9) / 2000)


@tables
def test_a_seed_decides_sizes_order_and_pauses(table: SizeTable) -> None:
    one, same, other = (draw_flows(table, 2500, LIMIT, 0.002, seed) for seed in (7, 7, 8))
    assert one == same
    assert one.sizes_bytes != other.sizes_bytes
    assert one.pauses_s != other.pauses_s


def test_each_of_a_thousand_sizes_comes_about_as_often() -> None:
    flows = draw_flows(WEB_SEARCH, 2 * DISTINCT_SIZES + 10, LIMIT, 0.002, 3)
    first, second = flows.sizes_bytes[:DISTINCT_SIZES], flows.sizes_bytes[DISTINCT_SIZES : 2 * DISTINCT_SIZES]
    assert sorted(first) == sorted(second) == sorted(draw_sizes(WEB_SEARCH, DISTINCT_SIZES, LIMIT, 3))
    assert first != second
    assert len(flows.pauses_s) == 2 * DISTINCT_SIZES + 10
    assert 0.0018 < np.mean(flows.pauses_s) < 0.0022
    assert min(flows.pauses_s) >= 0.0


def test_a_workload_that_is_not_known_is_named() -> None:
    with pytest.raises(BadInputError, match=r"'cache' is not known: give one of web-search, data-mining"):
        find_table("cache")
    with pytest.raises(BadInputError, match="at most 0 bytes: give a larger limit"):
        draw_sizes(WEB_SEARCH, 10, 0, 1)
