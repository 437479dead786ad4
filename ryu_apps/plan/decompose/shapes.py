"""The three shapes of a table (Kuijia section 4.3): replicated, two-table and decomposed.

- replicated: the rows as they are, one table (Figure 6(a)).
- two-table: the greedy heuristic, a first table of keys and a table for every different rest (Figure 6(b)).
- decomposed: the same with correspondences: what a key decides is done with the key, so that rests become equal and
  their tables one (Figure 6(c)); rests are taken apart in turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mininet_topos.errors import BadInputError, PlanError
from ryu_apps.plan.choices import DECOMPOSED, REPLICATED, SHAPES, TWO_TABLE
from ryu_apps.plan.decompose.count import count_fields
from ryu_apps.plan.decompose.logical import LogicalTable, Parts, logical_table
from ryu_apps.plan.decompose.pipeline import Stage, flow_rows
from ryu_apps.plan.decompose.search import Rules, best_pipeline, single_stage
from ryu_apps.plan.rows import FlowRow, RulePlan, sorted_flows


def decompose(
    flows: Sequence[FlowRow],
    shape: str,
    spare_tables: Sequence[int],
    *,
    strict: bool = True,
    parts: Parts | None = None,
) -> tuple[FlowRow, ...]:
    """The rows of one table in another shape, with the same meaning; as they are when nothing is saved.

    Parameters
    ----------
    flows
        All rows of one table.
    shape : {"replicated", "two-table", "decomposed"}
    spare_tables
        Ids for further tables, ascending, all above the table's own.
    strict
        Whether packets that no row takes must be dropped as before (`search.Rules`).
    parts : mapping of str to int, optional
        Fields whose low bits mean something of their own (`logical.logical_table`).

    Raises
    ------
    BadInputError
        An unknown shape.
    PlanError
        Rows that cannot be taken apart, or spare tables that do not lie above.
    """
    table = logical_table(flows, parts)
    own = flows[0].table_id
    if list(spare_tables) != sorted(set(spare_tables)) or any(spare <= own for spare in spare_tables):
        raise PlanError(f"spare tables {list(spare_tables)} must rise and lie above table {own}; give other ids")
    if shape == REPLICATED:
        return sorted_flows(flows)
    stage = pipeline_of(table, shape, 1 + len(spare_tables), strict=strict)
    made = flow_rows(stage, (own, *spare_tables))
    return made if count_fields(made) < count_fields(flows) else sorted_flows(flows)


def pipeline_of(table: LogicalTable, shape: str, max_tables: int, *, strict: bool = True) -> Stage:
    """A logical table in a shape.

    Raises
    ------
    BadInputError
        An unknown shape.
    """
    if shape == REPLICATED:
        return single_stage(table)
    if shape == TWO_TABLE:
        return best_pipeline(table, Rules(pulls=False, strict=strict, levels=2, max_tables=max_tables))
    if shape == DECOMPOSED:
        return best_pipeline(table, Rules(strict=strict, max_tables=max_tables))
    raise BadInputError(f"unknown shape {shape!r}; use one of {', '.join(SHAPES)}")


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """What became of one table of a plan.

    Attributes
    ----------
    tables
        Tables that stand in its place.
    rows, fields
        Now.
    kept_because
        Why it could not be taken apart.
    """

    table_id: int
    tables: tuple[int, ...]
    rows: int
    fields: int
    rows_before: int
    fields_before: int
    kept_because: str | None = None


def decompose_plan(
    plan: RulePlan,
    shape: str,
    spare_tables: Sequence[int],
    *,
    only: Sequence[int] | None = None,
    strict: bool = True,
    parts: Parts | None = None,
) -> tuple[RulePlan, tuple[TableOutcome, ...]]:
    """A plan with its tables in another shape.

    Parameters
    ----------
    shape, strict, parts
        As `decompose` takes them.
    spare_tables
        Ids above all tables of the plan; each is used by one table at most.
    only
        Tables to take apart; default: all. Tables that other rows are added to at run time must stay as they are.

    Returns
    -------
    RulePlan
    tuple of TableOutcome
        One for each table of the plan, in order.

    Raises
    ------
    BadInputError
        An unknown shape.
    """
    if shape not in SHAPES:
        raise BadInputError(f"unknown shape {shape!r}; use one of {', '.join(SHAPES)}")
    tables: dict[int, list[FlowRow]] = defaultdict(list)
    for row in plan.flows:
        tables[row.table_id].append(row)
    spare = list(spare_tables)
    flows: list[FlowRow] = []
    outcomes: list[TableOutcome] = []
    for table_id, rows in sorted(tables.items()):
        made, reason = _reshaped(rows, shape, spare, strict=strict, parts=parts)
        if only is not None and table_id not in only:
            made, reason = tuple(rows), "it was not asked for"
        used = tuple(sorted({row.table_id for row in made}))
        spare = [each for each in spare if each not in used]
        flows += made
        outcomes.append(
            TableOutcome(table_id, used, len(made), count_fields(made), len(rows), count_fields(rows), reason)
        )
    return replace(plan, flows=sorted_flows(flows)), tuple(outcomes)


def _reshaped(
    rows: Sequence[FlowRow], shape: str, spare: Sequence[int], *, strict: bool, parts: Parts | None
) -> tuple[tuple[FlowRow, ...], str | None]:
    """The rows in their shape, or as they are with the reason why that cannot be."""
    try:
        return decompose(rows, shape, spare, strict=strict, parts=parts), None
    except PlanError as error:
        return tuple(rows), str(error)
