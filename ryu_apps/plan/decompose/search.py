"""Taking a logical table apart: split its match columns, pull forward what the first part decides, share what is left.

A split looks at some columns first (the keys) and goes on to a table for the rest. Keys whose rests are equal share
that table. The greedy heuristic (Kuijia's Figure 6(b)) leaves all actions to the rest, so that rests differ by an
action that the key alone decides; using correspondences (Figure 6(c)) pulls such actions into the first table, and
rests become equal that were not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ryu_apps.plan.decompose.effects import WAITING, Step, hides, is_sending, may_change_places
from ryu_apps.plan.decompose.logical import LogicalTable, Row
from ryu_apps.plan.decompose.overlap import Terms, are_disjoint, cover_everything, overlapping_pairs
from ryu_apps.plan.decompose.pipeline import Stage, StageRow, is_sound, stage_fields, tables_of
from ryu_apps.plan.fields import ETH_MPLS
from ryu_apps.plan.rows import Group, Output, PopMpls, PopVlan, PushMpls, PushVlan

_WIDE = 6  # more columns than this: only small keys, and rests of small width, are tried


@dataclass(frozen=True, slots=True)
class Rules:
    """What a decomposition may do.

    Attributes
    ----------
    pulls
        Use correspondences: pull actions forward that a key decides.
    strict
        Packets that no logical row takes must be dropped too. Otherwise only packets that some row takes count: no
        other reaches the table, or what becomes of it does not matter. Open vSwitch carries out the action set even
        when a later table has no row (tried), so without it more actions can be pulled forward.
    levels
        Tables that one packet may pass.
    max_tables
        Tables in all.
    """

    pulls: bool = True
    strict: bool = True
    levels: int = 8
    max_tables: int = 64


@dataclass(frozen=True, slots=True)
class Pull:
    """Action columns that the first table takes over: carried out there, or put into the action set."""

    applied: tuple[int, ...] = ()
    written: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A pipeline and what it costs: match fields and actions, then tables."""

    stage: Stage
    cost: tuple[int, int]


def best_pipeline(table: LogicalTable, rules: Rules) -> Stage:
    """The cheapest pipeline that the rules allow; one table when nothing is saved."""
    # What drops all other packets is good enough where they do not matter, and sharing more is not always cheaper.
    allowed = (rules,) if rules.strict else (rules, replace(rules, strict=True))
    return min((_within_tables(table, each) for each in allowed), key=lambda found: found.cost).stage


def _within_tables(table: LogicalTable, rules: Rules) -> Found:
    limit = rules.max_tables
    while limit > 1:
        # A split makes at most as many tables as allowed, but splits of splits can add up: then each may make fewer.
        found = _best(table, replace(rules, max_tables=limit), rules.levels, first=True)
        if found is not None and found.cost[1] <= rules.max_tables:
            return found
        limit //= 2
    alone = single_stage(table)
    return Found(alone, (stage_fields(alone, first=True), 1))


def single_stage(table: LogicalTable) -> Stage:
    """The table as it is."""
    rows = (
        StageRow(row.priority, row.terms, _present(row.steps, range(len(table.actions))), cookies=row.cookies)
        for row in table.rows
    )
    return Stage(table.columns, tuple(rows), table.context)


def _best(table: LogicalTable, rules: Rules, levels: int, *, first: bool = False) -> Found | None:
    """The cheapest pipeline whose rows a switch takes; None when there is none."""
    best = _priced(single_stage(table), first=first)
    for split in splits(table, rules) if levels > 1 else ():
        rests = [_best(rest, rules, levels - 1) for rest in split.rests]
        known = [rest for rest in rests if rest is not None]
        if len(known) < len(rests):
            continue
        found = _priced(split.stage(table, [rest.stage for rest in known]), first=first)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
    return best


def _priced(stage: Stage, *, first: bool) -> Found | None:
    """What a pipeline costs, each table once; None when its first table is unsound."""
    if not is_sound(stage, first=first):
        return None
    tables = tables_of(stage)
    fields = sum(stage_fields(each, first=first and each is stage) for each in tables)
    return Found(stage, (fields, len(tables)))


@dataclass(frozen=True, slots=True)
class Split:
    """A first table and the tables for what is left.

    Attributes
    ----------
    columns
        Match columns of the first table.
    keys : tuple of (Terms, Row, int)
        For each row of the first table its terms, a logical row that has what it pulls, and the position of its rest.
    """

    columns: tuple[int, ...]
    pull: Pull
    keys: tuple[tuple[Terms, Row, int], ...]
    rests: tuple[LogicalTable, ...]

    def stage(self, table: LogicalTable, following: Sequence[Stage]) -> Stage:
        """The first table, leading to these."""
        rows = (
            StageRow(
                row.priority,
                terms,
                _present(row.steps, self.pull.applied),
                _present(row.steps, self.pull.written),
                following[rest],
                row.cookies,
            )
            for terms, row, rest in self.keys
        )
        return Stage(tuple(table.columns[index] for index in self.columns), tuple(rows), table.context)


def splits(table: LogicalTable, rules: Rules) -> Iterator[Split]:
    """Every split that keeps the meaning of the table, under the rules."""
    for columns in _column_choices(len(table.columns)):
        groups: dict[Terms, list[Row]] = defaultdict(list)
        for row in table.rows:
            groups[tuple(row.terms[index] for index in columns)].append(row)
        rest_columns = tuple(index for index in range(len(table.columns)) if index not in columns)
        if not keeps_precedence(groups, rest_columns):
            continue
        for pull in _pulls(table, rest_columns, groups) if rules.pulls else (Pull(),):
            split = make_split(table, columns, groups, pull, rules)
            if split is not None:
                yield split


def make_split(
    table: LogicalTable, columns: tuple[int, ...], groups: dict[Terms, list[Row]], pull: Pull, rules: Rules
) -> Split | None:
    """The split by these keys and pulled actions; None when it makes too many tables or lets a packet slip."""
    rest_columns = tuple(index for index in range(len(table.columns)) if index not in columns)
    taken = {*pull.applied, *pull.written}
    rest_actions = tuple(index for index in range(len(table.actions)) if index not in taken)
    rests = {key: _rest_rows(rows, rest_columns, rest_actions) for key, rows in groups.items()}
    sends = any(is_sending(step) for step in column_steps(table, pull.written))
    if rules.strict and sends and not all(cover_everything(row.terms for row in rest) for rest in rests.values()):
        return None
    chosen, classes = share_rests(rests, rules)
    if len(classes) >= rules.max_tables:
        return None
    context = context_after(table, pull.applied)
    ordered = are_disjoint(groups)
    top = max(row.priority for row in table.rows)
    keys = tuple((key, _key_row(rows, top if ordered else None), chosen[key]) for key, rows in groups.items())
    parts = tuple(table.columns[index] for index in rest_columns)
    names = tuple(table.actions[index] for index in rest_actions)
    made = tuple(without_empty_actions(LogicalTable(parts, names, rows, context)) for rows in classes)
    return Split(columns, pull, keys, made)


def without_empty_actions(table: LogicalTable) -> LogicalTable:
    """The table without action columns that hold nothing."""
    used = [index for index in range(len(table.actions)) if any(row.steps[index] is not None for row in table.rows)]
    rows = (replace(row, steps=tuple(row.steps[index] for index in used)) for row in table.rows)
    return replace(table, actions=tuple(table.actions[index] for index in used), rows=tuple(rows))


def _key_row(rows: Sequence[Row], priority: int | None) -> Row:
    cookies = frozenset().union(*(row.cookies for row in rows))
    return replace(rows[0], priority=rows[0].priority if priority is None else priority, cookies=cookies)


def _column_choices(count: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, count):
        if count <= _WIDE or size <= 2 or size == count - 1:
            yield from combinations(range(count), size)


def keeps_precedence(groups: dict[Terms, list[Row]], rest_columns: Sequence[int]) -> bool:
    """Whether looking at the keys first finds the same row.

    It does when no packet meets two keys. When one can, the key of higher priority must go on for every packet for
    which the other would: every term of the lower one's rest stands in the higher one's rest.
    """
    for first, second in overlapping_pairs(groups):
        high, low = sorted((groups[first], groups[second]), key=lambda rows: -rows[0].priority)
        levels = {row.priority for row in high}, {row.priority for row in low}
        if len(levels[0]) > 1 or len(levels[1]) > 1 or levels[0] == levels[1]:
            return False
        terms = [{tuple(row.terms[index] for index in rest_columns) for row in rows} for rows in (high, low)]
        if not terms[1] <= terms[0]:
            return False
    return True


def _pulls(table: LogicalTable, rest_columns: Sequence[int], groups: dict[Terms, list[Row]]) -> Iterable[Pull]:
    """Ways to pull actions forward: none, all that the key decides, or those that the rest does not decide too."""
    decided = [
        index
        for index in range(len(table.actions))
        if all(len({row.steps[index] for row in rows}) == 1 for rows in groups.values())
    ]
    by_rest: dict[Terms, list[Row]] = defaultdict(list)
    for row in table.rows:
        by_rest[tuple(row.terms[index] for index in rest_columns)].append(row)
    needed = [i for i in decided if any(len({row.steps[i] for row in rows}) > 1 for rows in by_rest.values())]
    found = {
        legal_pull(table, rest_columns, wanted, waiting=waiting)
        for wanted in (tuple(decided), tuple(needed))
        for waiting in (False, True)
    }
    return sorted({Pull(), *found}, key=lambda pull: (pull.applied, pull.written))


def legal_pull(table: LogicalTable, rest_columns: Sequence[int], wanted: Sequence[int], *, waiting: bool) -> Pull:
    """As many of the wanted actions as can run in the first table, and (waiting) as can wait in the action set.

    An action runs early when it sends nothing, changes nothing that is still to be matched, and changes places with
    every earlier action that stays behind. It may wait when it changes places with every later one that runs before.
    """
    ahead = frozenset(name for index in rest_columns for name, _ in table.columns[index])
    steps = [column_step(table, index) for index in range(len(table.actions))]
    applied: list[int] = []
    for index in wanted:
        left = [steps[other] for other in range(index) if other not in applied]
        free = all(may_change_places(steps[index], other) for other in left)
        if free and not is_sending(steps[index]) and not hides(steps[index], ahead) and is_steady(table, index):
            applied.append(index)
    written: list[int] = []
    for index in reversed(wanted if waiting else ()):
        later = [steps[other] for other in range(index + 1, len(steps)) if other not in written]
        can_wait = index not in applied and isinstance(steps[index], WAITING) and fits_action_set(steps, index, written)
        if can_wait and all(may_change_places(steps[index], other) for other in later):
            written.insert(0, index)
    return Pull(tuple(applied), tuple(written))


def fits_action_set(steps: Sequence[Step], index: int, written: Sequence[int]) -> bool:
    """Whether an action may join later ones in the action set: in its order, one of a kind, no group with an output."""
    ranks = [WAITING.index(type(steps[other])) for other in (index, *written)]
    kinds = {type(steps[other]) for other in (index, *written)}
    return ranks == sorted(set(ranks)) and not {Group, Output} <= kinds


def is_steady(table: LogicalTable, index: int) -> bool:
    """Whether all rows agree about a push or pop, so that later tables know what headers a packet has."""
    if not isinstance(column_step(table, index), PushMpls | PopMpls | PushVlan | PopVlan):
        return True
    return len({row.steps[index] for row in table.rows}) == 1


def context_after(table: LogicalTable, applied: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """What later tables know of the packet's headers."""
    context = dict(table.context)
    for step in column_steps(table, applied):
        if isinstance(step, PushMpls | PopMpls):
            context = {"eth_type": ETH_MPLS if isinstance(step, PushMpls) else step.eth_type}
    return tuple(sorted(context.items()))


def column_step(table: LogicalTable, index: int) -> Step:
    """A step of a column; all of a column read and write the same."""
    return next(step for row in table.rows if (step := row.steps[index]) is not None)


def column_steps(table: LogicalTable, indexes: Iterable[int]) -> list[Step]:
    """A step of each of these columns."""
    return [column_step(table, index) for index in indexes]


def _present(steps: Sequence[Step | None], indexes: Iterable[int]) -> tuple[Step, ...]:
    return tuple(step for index in indexes if (step := steps[index]) is not None)


def _rest_rows(rows: Sequence[Row], columns: Sequence[int], actions: Sequence[int]) -> tuple[Row, ...]:
    """What is left of a key's rows, in a canonical order."""
    rest = (
        Row(
            row.priority,
            tuple(row.terms[index] for index in columns),
            tuple(row.steps[index] for index in actions),
            row.cookies,
        )
        for row in rows
    )
    return tuple(sorted(rest, key=lambda row: (-row.priority, row.terms)))


def share_rests(
    rests: dict[Terms, tuple[Row, ...]], rules: Rules
) -> tuple[dict[Terms, int], tuple[tuple[Row, ...], ...]]:
    """Tables for the rests, as few as meaning allows.

    Returns
    -------
    dict of Terms to int
        Position of the table of each key.
    tuple of tuple of Row
        The tables.
    """
    loose = not rules.strict and are_disjoint({row.terms for rest in rests.values() for row in rest})
    tables: list[dict[Terms, Row]] = []
    by_meaning: dict[tuple[tuple[int, Terms, tuple[Step | None, ...]], ...], int] = {}
    chosen: dict[Terms, int] = {}
    for key, rest in rests.items():
        meaning = _meaning(rest)
        if meaning not in by_meaning:
            by_meaning[meaning] = _fitting(tables, rest) if loose else len(tables)
        chosen[key] = by_meaning[meaning]
        tables += [{}] if chosen[key] == len(tables) else []
        _pour(tables[chosen[key]], rest)
    return chosen, tuple(_levelled(table.values()) for table in tables)


def _meaning(rest: Sequence[Row]) -> tuple[tuple[int, Terms, tuple[Step | None, ...]], ...]:
    """What two rests must have in common to share a table: order of rows counts only where rows overlap."""
    if are_disjoint([row.terms for row in rest]):
        return tuple(sorted(((0, row.terms, row.steps) for row in rest), key=lambda each: each[1]))
    ranks = {priority: rank for rank, priority in enumerate(sorted({row.priority for row in rest}))}
    return tuple((ranks[row.priority], row.terms, row.steps) for row in rest)


def _fitting(tables: Sequence[dict[Terms, Row]], rest: Sequence[Row]) -> int:
    """First table that says nothing else about the terms of a rest; the next new one when there is none."""
    for number, table in enumerate(tables):
        if all(row.terms not in table or table[row.terms].steps == row.steps for row in rest):
            return number
    return len(tables)


def _pour(table: dict[Terms, Row], rest: Iterable[Row]) -> None:
    """Add the rows of a rest to its table; rows that stand there take note of the cookies."""
    for row in rest:
        held = table.get(row.terms)
        table[row.terms] = row if held is None else replace(held, cookies=held.cookies | row.cookies)


def _levelled(rows: Iterable[Row]) -> tuple[Row, ...]:
    """One priority for all rows where no two overlap."""
    held = sorted(rows, key=lambda row: (-row.priority, row.terms))
    if are_disjoint([row.terms for row in held]):
        return tuple(replace(row, priority=held[0].priority) for row in held)
    return tuple(held)
