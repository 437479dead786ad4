"""What a decomposition is: stages, each a flow table, and how they become rows that a switch can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from mininet_topos.errors import PlanLimitError
from ryu_apps.plan.check_actions import action_faults, header_of
from ryu_apps.plan.decompose.count import field_count, needs_of, needs_of_actions
from ryu_apps.plan.decompose.effects import GoTo, Step
from ryu_apps.plan.decompose.logical import Part, Term, match_of
from ryu_apps.plan.ids import KIND_MASK, SCHEME_MASK
from ryu_apps.plan.rows import Action, FlowRow, Load, Match, Resubmit, sorted_flows


@dataclass(frozen=True, slots=True)
class StageRow:
    """One row of a stage.

    Attributes
    ----------
    applied, written
        Done at once, and kept in the action set until the last table is done.
    following
        Where packets go on; None: this was the last table.
    cookies
        Cookies of the logical rows that it serves; they tell nothing about what the row does.
    """

    priority: int
    terms: tuple[Term, ...]
    applied: tuple[Step, ...]
    written: tuple[Step, ...] = ()
    following: Stage | None = None
    cookies: frozenset[int] = field(default=frozenset(), compare=False)


@dataclass(frozen=True)
class Stage:
    """One table of a pipeline.

    Attributes
    ----------
    context : tuple of (str, int)
        Fields that packets surely have here; rows name those that their fields or actions need.
    """

    columns: tuple[tuple[Part, ...], ...]
    rows: tuple[StageRow, ...]
    context: tuple[tuple[str, int], ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Kept, because every row that leads to a stage would hash it again."""
        return hash((self.columns, self.rows, self.context))


def tables_of(stage: Stage) -> tuple[Stage, ...]:
    """All tables of a pipeline, each once, the first first, later ones after those that lead to them."""
    found: dict[Stage, None] = {}
    todo = [stage]
    while todo:
        level: dict[Stage, None] = {}
        for each in todo:
            found.pop(each, None)
            found[each] = None
            level |= dict.fromkeys(row.following for row in each.rows if row.following is not None)
        todo = list(level)
    return tuple(found)


def flow_rows(stage: Stage, table_ids: Sequence[int]) -> tuple[FlowRow, ...]:
    """A pipeline as rows.

    Parameters
    ----------
    stage
        Its first table.
    table_ids
        Tables to use, in ascending order; the first is the one that packets come to.

    Raises
    ------
    PlanLimitError
        More stages than table ids.
    """
    tables = tables_of(stage)
    if len(tables) > len(table_ids):
        raise PlanLimitError(f"the pipeline has {len(tables)} tables and {len(table_ids)} ids are given; give more ids")
    ids = dict(zip(tables, table_ids, strict=False))
    return sorted_flows(_flow_row(each, row, ids, first=each is stage) for each in tables for row in each.rows)


@lru_cache(maxsize=1 << 16)
def stage_fields(stage: Stage, *, first: bool = False) -> int:
    """Match fields and actions of one table, as `count.count_fields` counts its rows."""
    return sum(field_count(_flow_row(stage, row, None, first=first)) for row in stage.rows)


def is_sound(stage: Stage, *, first: bool = False) -> bool:
    """Whether every row of a table says enough for its actions: a switch refuses a pop where it sees no tag matched."""
    rows = (_flow_row(stage, row, None, first=first) for row in stage.rows)
    return not any(
        fault
        for row in rows
        for fault in action_faults((*row.apply_actions, *row.write_actions), header_of(row.match), None)
    )


def _flow_row(stage: Stage, row: StageRow, ids: dict[Stage, int] | None, *, first: bool) -> FlowRow:
    """The row; without ids its table and goto are stand-ins, good for counting."""
    table_id = 0 if ids is None else ids[stage]
    applied, goto = _applied(row.applied, table_id)
    written = tuple(step for step in row.written if not isinstance(step, GoTo))
    if row.following is not None:
        goto = 1 if ids is None else ids[row.following]
    fields = _with_context(match_of(stage.columns, row.terms), (*applied, *written), stage, first=first)
    return FlowRow(table_id, row.priority, fields, applied, written, goto, common_cookie(row.cookies))


def _applied(steps: Sequence[Step], table_id: int) -> tuple[tuple[Action, ...], int | None]:
    """Actions and goto; a goto that would lead back is a resubmit (as Kuijia's Figure 7 goes back to a table)."""
    actions = _joined_loads([step for step in steps if not isinstance(step, GoTo)])
    targets = [step.table_id for step in steps if isinstance(step, GoTo)]
    if not targets:
        return actions, None
    return (actions, targets[0]) if targets[0] > table_id else ((*actions, Resubmit(targets[0])), None)


def _joined_loads(steps: Sequence[Action]) -> tuple[Action, ...]:
    """Loads of neighbouring bits, one after the other, as one."""
    joined: list[Action] = []
    for step in steps:
        last = joined[-1] if joined else None
        if (
            isinstance(step, Load)
            and isinstance(last, Load)
            and (last.field, last.first_bit + last.n_bits) == (step.field, step.first_bit)
        ):
            bits = last.n_bits + step.n_bits
            joined[-1] = Load(last.field, last.first_bit, bits, last.value | step.value << last.n_bits)
        else:
            joined.append(step)
    return tuple(joined)


def _with_context(fields: Match, actions: Sequence[Action], stage: Stage, *, first: bool) -> Match:
    needed = {need for name, _, _ in fields for need, _ in needs_of(name)} | needs_of_actions(actions).keys()
    pinned = tuple((name, value, None) for name, value in stage.context if first or name in needed)
    return tuple(sorted((*fields, *pinned)))


def common_cookie(cookies: frozenset[int]) -> int:
    """Cookie of a row that serves several logical rows of one owner: theirs when it is one, else scheme and kind."""
    return next(iter(cookies)) if len(cookies) == 1 else next(iter(cookies)) & (SCHEME_MASK | KIND_MASK)
