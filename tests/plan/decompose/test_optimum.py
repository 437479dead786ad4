"""How far the greedy heuristic and the search are from the least tree of tables, by brute force."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from mininet_topos.errors import PlanError
from ryu_apps.plan.choices import DECOMPOSED, TWO_TABLE
from ryu_apps.plan.decompose.count import count_fields
from ryu_apps.plan.decompose.logical import LogicalTable, logical_table
from ryu_apps.plan.decompose.optimum import optimum_fields, tree_fields
from ryu_apps.plan.decompose.pipeline import tables_of
from ryu_apps.plan.decompose.shapes import decompose, pipeline_of
from ryu_apps.plan.fields import ETH_IPV4
from ryu_apps.plan.ids import SPARE_TABLES
from ryu_apps.plan.rows import FlowRow, Output, PopMpls, SetQueue, match
from tests.plan.decompose.tables import figure6, transit

SIZES = ((2, 2, 2), (2, 2, 3), (1, 3, 3), (1, 2, 4))


def small_table(seed: int) -> list[FlowRow]:
    """Ports, labels and classes; some cells missing in some tables, some queues off their rule in some."""
    random = Random(seed)
    ports, labels, classes = random.choice(SIZES)
    cells = list(product(range(1, 1 + ports), range(16, 16 + labels), range(classes)))
    if random.random() < 0.6:
        cells = random.sample(cells, random.randint(len(cells) // 2, len(cells)))
    port_of = {pair: random.randint(1, 4) for pair in product(range(1, 3), range(16, 19))}
    queue_of = [random.randint(0, 2) for _ in range(classes)]
    noisy = random.random() < 0.3
    popped = [label for label in range(16, 19) if random.random() < 0.3]
    return [
        transit(
            in_port,
            label,
            tc,
            *((PopMpls(ETH_IPV4),) if label in popped else ()),
            SetQueue(3 if noisy and random.random() < 0.2 else queue_of[tc]),
            Output(port_of[in_port, label]),
        )
        for in_port, label, tc in cells
    ]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("seed", range(25))
def test_the_search_comes_within_five_percent_of_the_least_tree(seed: int, strict: bool) -> None:
    rows = small_table(seed)
    least = optimum_fields(logical_table(rows), strict=strict)
    found = count_fields(decompose(rows, DECOMPOSED, SPARE_TABLES, strict=strict))
    assert found <= 1.05 * least
    assert tree_fields(pipeline_of(logical_table(rows), DECOMPOSED, len(SPARE_TABLES), strict=strict)) >= least


def test_the_greedy_heuristic_is_a_quarter_above_the_least_tree_and_rarely_reaches_it() -> None:
    excess, reached = [], 0
    for seed in range(40):
        rows = small_table(seed)
        least = optimum_fields(logical_table(rows))
        excess.append(count_fields(decompose(rows, TWO_TABLE, SPARE_TABLES)) / least - 1)
        reached += excess[-1] <= 0
    assert 0.15 < sum(excess) / len(excess) < 0.45
    assert reached < 20


@pytest.mark.parametrize(("strict", "least"), [(True, 15), (False, 14)])
def test_figure_6c_is_the_optimum(strict: bool, least: int) -> None:
    assert optimum_fields(logical_table(figure6()), strict=strict) == least
    assert count_fields(decompose(figure6(), DECOMPOSED, SPARE_TABLES, strict=strict)) == least


def test_a_table_without_structure_cannot_be_made_smaller() -> None:
    rows = [transit(1, 16, 0, SetQueue(0), Output(2)), transit(2, 17, 1, SetQueue(1), Output(3))]
    assert optimum_fields(logical_table(rows)) == count_fields(rows)
    assert decompose(rows, DECOMPOSED, SPARE_TABLES) == tuple(rows)


def test_tables_shared_between_splits_count_once_and_can_beat_the_least_tree() -> None:
    rows = small_table(88)
    stage = pipeline_of(logical_table(rows), DECOMPOSED, len(SPARE_TABLES))
    made = decompose(rows, DECOMPOSED, SPARE_TABLES)
    assert count_fields(made) < optimum_fields(logical_table(rows)) <= tree_fields(stage)
    assert len(tables_of(stage)) == len({row.table_id for row in made})


def too_many(n_rows: int) -> LogicalTable:
    return logical_table([FlowRow(0, 1, match(in_port=port), (Output(port),)) for port in range(1, n_rows + 1)])


def test_brute_force_refuses_what_it_cannot_enumerate() -> None:
    with pytest.raises(PlanError, match="3 columns and 12 rows at most, not 1 and 13"):
        optimum_fields(too_many(13))
    overlapping = [FlowRow(0, 2, match(in_port=1), (Output(2),)), FlowRow(0, 1, match(), (Output(3),))]
    with pytest.raises(PlanError, match="do not overlap"):
        optimum_fields(logical_table(overlapping))
