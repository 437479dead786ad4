"""Brute force: the least number of fields of any tree of tables, for small tables, to measure `search` against.

Every order in which columns can be looked at, columns looked at twice when the first look already acts, every legal
place of every action, every way to group the rests of a split into tables (rests that look at a column again: in one
table). A tree: tables of different splits are not
shared, which `search` does when they happen to be equal, so it can do better. Left out here and there: tables without
a match that only share actions (an indirect group does that), and registers that carry on what one table has found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product

from mininet_topos.errors import PlanError
from ryu_apps.plan.decompose.effects import WAITING, hides, is_sending, may_change_places
from ryu_apps.plan.decompose.logical import LogicalTable, Row
from ryu_apps.plan.decompose.overlap import Terms, are_disjoint, cover_everything
from ryu_apps.plan.decompose.pipeline import Stage, is_sound, stage_fields
from ryu_apps.plan.decompose.search import (
    Pull,
    Split,
    column_step,
    context_after,
    fits_action_set,
    is_steady,
    single_stage,
    without_empty_actions,
)

MAX_COLUMNS, MAX_ROWS = 3, 12


def optimum_fields(table: LogicalTable, *, strict: bool = True, levels: int = 3) -> int:
    """Fewest match fields and actions of any tree of tables that means what the table means.

    Parameters
    ----------
    table
        At most 3 match columns and 12 rows; two terms of a column are the same or do not overlap.
    strict
        As `search.Rules` has it.
    levels
        Tables that one packet may pass.

    Raises
    ------
    PlanError
        A larger table, or one whose terms overlap.
    """
    if len(table.columns) > MAX_COLUMNS or len(table.rows) > MAX_ROWS:
        raise PlanError(
            f"brute force takes {MAX_COLUMNS} columns and {MAX_ROWS} rows at most, not {len(table.columns)} and "
            f"{len(table.rows)}; give a smaller table"
        )
    if not all(are_disjoint([(row.terms[index],) for row in table.rows]) for index in range(len(table.columns))):
        raise PlanError("brute force takes columns whose terms do not overlap; give such a table")
    plain = replace(table, rows=tuple(replace(row, priority=0, cookies=frozenset({0})) for row in table.rows))
    least = _least(plain, strict, levels, first=True)
    if least is None:
        raise PlanError("no pipeline says what the table says; its own rows are not sound")
    return least


@lru_cache(maxsize=200_000)
def _least(table: LogicalTable, strict: bool, levels: int, *, first: bool = False) -> int | None:
    alone = single_stage(table)
    best = stage_fields(alone, first=first) if is_sound(alone, first=first) else None
    for split in _every_split(table, strict=strict) if levels > 1 else ():
        stage = split.stage(table, [single_stage(rest) for rest in split.rests])
        fields = stage_fields(stage, first=first)
        if best is not None and fields + sum(map(_at_least, split.rests)) >= best:
            continue
        if not is_sound(stage, first=first):
            continue
        rests = [_least(rest, strict, levels - 1) for rest in split.rests]
        if None not in rests:
            total = fields + sum(rest for rest in rests if rest is not None)
            best = total if best is None else min(best, total)
    return best


def _at_least(table: LogicalTable) -> int:
    """A bound: every term of every column and every step has to stand somewhere."""
    terms = sum(len({row.terms[index] for row in table.rows}) for index in range(len(table.columns)))
    steps = sum(len({row.steps[index] for row in table.rows} - {None}) for index in range(len(table.actions)))
    return terms + steps


def _every_split(table: LogicalTable, *, strict: bool) -> Iterator[Split]:
    count = len(table.columns)
    for columns in _subsets(range(count)):
        missing = tuple(index for index in range(count) if index not in columns)
        for again in _subsets(columns, empty=True):
            rest_columns = tuple(sorted((*missing, *again)))
            for pull in _every_pull(table, columns, rest_columns) if rest_columns else ():
                if not again or pull != Pull():
                    yield from _every_grouping(table, columns, rest_columns, pull, strict=strict)


def _subsets(indexes: Sequence[int], *, empty: bool = False) -> Iterator[tuple[int, ...]]:
    for size in range(0 if empty else 1, len(indexes) + 1):
        yield from combinations(indexes, size)


def _every_pull(table: LogicalTable, columns: Sequence[int], rest_columns: Sequence[int]) -> Iterator[Pull]:
    """Every choice for every action: stays behind, runs in the first table, waits in the action set."""
    for places in product("stay apply wait".split(), repeat=len(table.actions)):
        applied = tuple(index for index, place in enumerate(places) if place == "apply")
        written = tuple(index for index, place in enumerate(places) if place == "wait")
        if all(_decides(table, columns, index) for index in (*applied, *written)):
            pull = Pull(applied, written)
            if _is_legal(table, rest_columns, pull):
                yield pull


def _decides(table: LogicalTable, columns: Sequence[int], action: int) -> bool:
    known: dict[Terms, object] = {}
    return all(
        known.setdefault(tuple(row.terms[index] for index in columns), row.steps[action]) == row.steps[action]
        for row in table.rows
    )


def _is_legal(table: LogicalTable, rest_columns: Sequence[int], pull: Pull) -> bool:
    """Whether the order in which a packet now meets the actions comes from the old one by allowed swaps alone."""
    steps = [column_step(table, index) for index in range(len(table.actions))]
    ahead = frozenset(name for index in rest_columns for name, _ in table.columns[index])
    if any(is_sending(steps[i]) or hides(steps[i], ahead) or not is_steady(table, i) for i in pull.applied):
        return False
    waiting = pull.written
    if not all(isinstance(steps[i], WAITING) for i in waiting):
        return False
    if waiting and not fits_action_set(steps, waiting[0], waiting[1:]):
        return False
    stay = tuple(index for index in range(len(steps)) if index not in {*pull.applied, *pull.written})
    order = (*pull.applied, *stay, *pull.written)
    return all(
        first < second or may_change_places(steps[first], steps[second]) for first, second in combinations(order, 2)
    )


_Kind = tuple[Terms, frozenset[Row]]
"""The terms that are looked at again, and the rows that follow: keys that agree on both go on to one table."""


def _every_grouping(
    table: LogicalTable, columns: Sequence[int], rest_columns: tuple[int, ...], pull: Pull, *, strict: bool
) -> Iterator[Split]:
    """The splits by these keys: one for every way to let rests share tables."""
    taken = {*pull.applied, *pull.written}
    rest_actions = tuple(index for index in range(len(table.actions)) if index not in taken)
    again = tuple(index for index in columns if index in rest_columns)
    missing = tuple(index for index in rest_columns if index not in columns)
    groups: dict[Terms, list[Row]] = defaultdict(list)
    for row in table.rows:
        groups[_project(row, columns)].append(row)
    sends = any(is_sending(column_step(table, index)) for index in pull.written)
    covered = (cover_everything(_project(row, missing) for row in rows) for rows in groups.values())
    if strict and sends and not all(covered):
        return
    kinds: dict[Terms, _Kind] = {
        key: (_project(rows[0], again), frozenset(_rest(row, rest_columns, rest_actions) for row in rows))
        for key, rows in groups.items()
    }
    parts = tuple(table.columns[index] for index in rest_columns)
    names = tuple(table.actions[index] for index in rest_actions)
    context = context_after(table, pull.applied)
    distinct = list(dict.fromkeys(kinds.values()))
    partitions = _as_one(distinct, strict=strict) if again else _partitions(distinct, strict=strict)
    for partition in partitions:
        rests = [
            sorted(frozenset().union(*(rows for _, rows in block)), key=lambda row: row.terms) for block in partition
        ]
        position = {kind: number for number, block in enumerate(partition) for kind in block}
        keys = tuple((key, rows[0], position[kinds[key]]) for key, rows in groups.items())
        made = (without_empty_actions(LogicalTable(parts, names, tuple(rows), context)) for rows in rests)
        yield Split(tuple(columns), pull, keys, tuple(made))


def _as_one(kinds: Sequence[_Kind], *, strict: bool) -> Iterator[list[list[_Kind]]]:
    """All in one table, if they can be: what is looked at again tells packets apart, so more tables save nothing."""
    if all(_go_together(*pair, strict=strict) for pair in combinations(kinds, 2)):
        yield [list(kinds)]


def _project(row: Row, columns: Sequence[int]) -> Terms:
    return tuple(row.terms[index] for index in columns)


def _rest(row: Row, columns: Sequence[int], actions: Sequence[int]) -> Row:
    return replace(row, terms=_project(row, columns), steps=tuple(row.steps[index] for index in actions))


def _partitions(kinds: Sequence[_Kind], *, strict: bool) -> Iterator[list[list[_Kind]]]:
    """Every way to put kinds into tables so that no table says two things of one packet."""
    if not kinds:
        yield []
        return
    first, rest = kinds[0], kinds[1:]
    for partition in _partitions(rest, strict=strict):
        yield [[first], *partition]
        for number, block in enumerate(partition):
            if all(_go_together(first, other, strict=strict) for other in block):
                yield [*partition[:number], [first, *block], *partition[number + 1 :]]


def _go_together(first: _Kind, second: _Kind, *, strict: bool) -> bool:
    """Whether rests can share a table: packets are distinguished by what is looked at again, or the rests agree."""
    if first[0] != second[0]:
        return True
    said = {row.terms: row.steps for row in first[1]}
    return not strict and all(said.get(row.terms, row.steps) == row.steps for row in second[1])


def tree_fields(stage: Stage, *, first: bool = True) -> int:
    """Match fields and actions of a pipeline whose tables are counted once for every split that leads to them."""
    following = dict.fromkeys(row.following for row in stage.rows if row.following is not None)
    return stage_fields(stage, first=first) + sum(tree_fields(each, first=False) for each in following)
