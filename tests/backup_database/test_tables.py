"""Rule plans become rows and rows become the same plan, without a server."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from ryu_apps.backup_database.decide.tables import (
    COMMIT,
    PLAN_TABLES,
    BackupDataError,
    bridge_row,
    claim_operations,
    discard_operations,
    plan_of_rows,
    plan_rows,
    swap_operations,
    write_operations,
)
from ryu_apps.plan.rows import BackupRow, QueueRow, RulePlan
from tests.ovsdb_backup.plans import PLANS, PORT_LINKS, SMALL_PLAN


def rows_as_selected(plan, ports):
    """What a server would return: sets of one as a bare atom, rows in any order."""
    tables = plan_rows(plan)
    for row in tables["Backup"]:
        for column in ("source", "replaces"):
            members = row[column][1]
            row[column] = members[0] if len(members) == 1 else ["set", list(reversed(members))]
    shuffled = {name: list(reversed(rows)) for name, rows in tables.items()}
    return {**bridge_row(plan, ports), "name": "s1", "generation": 7}, shuffled


@given(PLANS, PORT_LINKS)
def test_plan_of_the_rows_of_a_plan_is_the_plan(plan, ports):
    stored = plan_of_rows(*rows_as_selected(plan, ports))
    assert (stored.generation, stored.plan, stored.ports) == (7, plan, ports)


def test_queues_are_not_kept():
    with_queue = replace(SMALL_PLAN, queues=(QueueRow(2, 1, 1),))
    assert rows_as_selected(with_queue, {}) == rows_as_selected(SMALL_PLAN, {})


@given(PLANS, st.integers(1, 5))
def test_chunks_hold_every_row_once_and_each_ends_in_a_durable_commit(plan, chunk_rows):
    tables = plan_rows(plan)
    chunks = list(write_operations("s1", 3, tables, chunk_rows))
    assert all(chunk[-1] == COMMIT and len(chunk) <= chunk_rows + 1 for chunk in chunks)
    written = [operation for chunk in chunks for operation in chunk[:-1]]
    assert len(written) == sum(map(len, tables.values()))
    assert all(operation["row"]["generation"] == 3 and operation["row"]["bridge"] == "s1" for operation in written)


def test_every_transaction_that_writes_ends_in_a_durable_commit():
    claim_new, _first = claim_operations("s1", None)
    claim_next, number = claim_operations("s1", {"generation": 3, "next_generation": 5})
    assert number == 5
    swap = swap_operations("s1", 1, 2, {})
    for operations in (claim_new, claim_next, swap, discard_operations("s1", 2)):
        assert operations[-1] == {"op": "commit", "durable": True}


def removed_rows(removals) -> set[tuple[str, str]]:
    assert {removal["table"] for removal in removals} == set(PLAN_TABLES)
    return {tuple(map(str, removal["where"])) for removal in removals}


def test_swap_compares_before_it_swaps_and_removes_all_others():
    wait, update, *removals, _commit = swap_operations("s1", 4, 6, {"digest": "x"})
    assert (wait["op"], wait["timeout"]) == ("wait", 0)
    assert wait["rows"] == [{"generation": 4, "next_generation": 7}]
    assert update["row"] == {"digest": "x", "generation": 6}
    assert removed_rows(removals) == {("['bridge', '==', 's1']", "['generation', '!=', 6]")}


def test_claim_compares_before_it_claims_and_removes_all_that_is_not_current():
    (wait, update, *removals, _commit), mine = claim_operations("s1", {"generation": 4, "next_generation": 6})
    assert wait["rows"] == [{"generation": 4, "next_generation": 6}]
    assert (mine, update["row"]) == (6, {"next_generation": 7})
    assert removed_rows(removals) == {("['bridge', '==', 's1']", "['generation', '!=', 4]")}


@pytest.mark.parametrize("replaces", [(2, 1), (1, 1)])
def test_a_set_that_the_database_could_not_give_back_is_refused(replaces):
    plan = RulePlan(1, "s1", backups=(BackupRow(1, None, 3, 2, 1, True, replaces),))
    with pytest.raises(BadInputError, match="ascending"):
        plan_rows(plan)
    with pytest.raises(BadInputError, match="ascending"):
        plan_rows(RulePlan(1, "s1", local_ipv4=replaces))


def test_a_missing_row_is_noticed():
    bridge, tables = rows_as_selected(SMALL_PLAN, {})
    tables["Backup"].pop()
    with pytest.raises(BackupDataError, match="the controller writes the plan again"):
        plan_of_rows(bridge, tables)


def test_an_edited_row_is_noticed():
    bridge, tables = rows_as_selected(SMALL_PLAN, {})
    tables["Backup"][0]["out_port"] += 1
    with pytest.raises(BackupDataError, match="generation 7"):
        plan_of_rows(bridge, tables)


@pytest.mark.parametrize(
    ("table", "column", "value", "words"),
    [
        ("Flow", "row", "{", "row 0 of table Flow of bridge s1 cannot be read"),
        ("Flow", "row", "[" * 100_000, "row 0 of table Flow of bridge s1 cannot be read"),
        ("Flow", "row", '{"table_id": []}', "row 0 of table Flow of bridge s1 cannot be read"),
        ("Backup", "replaces", ["set"], "row 0 of table Backup of bridge s1 cannot be read"),
        ("Bridge", "dpid", "zz", "the row of table Bridge of bridge s1 cannot be read"),
        ("Bridge", "ports", ["map"], "the row of table Bridge of bridge s1 cannot be read"),
    ],
)
def test_a_row_that_says_nothing_is_named(table, column, value, words):
    bridge, tables = rows_as_selected(SMALL_PLAN, {})
    rows = {**tables, "Bridge": [bridge]}[table]
    next(row for row in rows if row.get("position", 0) == 0)[column] = value
    with pytest.raises(BackupDataError, match=words):
        plan_of_rows(bridge, tables)


def test_plans_that_differ_in_anything_have_different_digests():
    one = bridge_row(SMALL_PLAN, {2: "s1-s2"})["digest"]
    assert one != bridge_row(replace(SMALL_PLAN, tag_space=(9, 1)), {2: "s1-s2"})["digest"]
    assert one != bridge_row(SMALL_PLAN, {2: "s1-s3"})["digest"]
