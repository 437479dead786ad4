"""Who knows of which failed link: rows of every kind, ports, and nothing once all links have returned."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.knowledge import Known, Source, knowledge, known_from_rows
from ryu_apps.control.decide.live_topology import Expected
from ryu_apps.control.decide.returning import ReturnState, begin_return, end_return, ports_known
from ryu_apps.openflow.messages import FlowStat
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import Kind, Table, cookie

SQUARE = load_topology("square")
SPACE = (len(SQUARE.link_ids), 2)
SETS = FailureSets(*SPACE)
FIRST, SECOND = SQUARE.link_ids[:2]
BOTH = SETS.tag_id_of[0b11]
ENDS = Expected(SQUARE).link_ends


def stat(table_id, kind, tag_id, age_s):
    return FlowStat(None, table_id, 0, cookie(2, kind, tag_id), b"", 0, 0, age_s, 0)


@pytest.mark.parametrize("kind", [Kind.LEARNED, Kind.AGENT])
def test_rows_that_drop_notifications_name_every_link_of_their_set(kind):
    found = known_from_rows("s3", [stat(Table.NOTIFY, kind, BOTH, 2.0)], SPACE, SQUARE, 10.0)
    assert found == tuple(Known("s3", link, Source.NOTIFICATION, 8.0) for link in sorted((FIRST, SECOND)))


@pytest.mark.parametrize(("kind", "table"), list(product([Kind.LEARNED, Kind.AGENT], [Table.LEARNED, Table.CLASSIFY])))
def test_other_recovery_rows_count_as_packets_unless_a_notification_named_the_link(kind, table):
    one = SETS.tag_id_of[0b1]
    rows = [stat(table, kind, BOTH, 5.0), stat(Table.NOTIFY, kind, one, 1.0)]
    found = {known.link: (known.source, known.since_s) for known in known_from_rows("s3", rows, SPACE, SQUARE, 10.0)}
    assert found == {FIRST: (Source.NOTIFICATION, 9.0), SECOND: (Source.PACKETS, 5.0)}


def test_the_oldest_row_says_since_when():
    rows = [stat(Table.NOTIFY, Kind.LEARNED, SETS.tag_id_of[0b1], age_s) for age_s in (1.0, 4.0, 2.0)]
    assert [known.since_s for known in known_from_rows("s3", rows, SPACE, SQUARE, 10.0)] == [6.0]


def test_planned_rows_and_sets_of_another_plan_say_nothing():
    rows = [stat(Table.NOTIFY, Kind.PLANNED, BOTH, 1.0), stat(Table.NOTIFY, Kind.LEARNED, len(SETS.masks), 1.0)]
    assert known_from_rows("s3", rows, SPACE, SQUARE, 10.0) == ()


def up():
    return ports_known(ReturnState(ENDS), dict.fromkeys((end for ends in ENDS.values() for end in ends), True), 0.0)


def test_a_switch_knows_of_its_own_port_first_and_of_nothing_once_the_link_has_returned():
    near, far = ENDS[FIRST]
    rows = {
        near[0]: (Known(near[0], FIRST, Source.NOTIFICATION, 3.0),),
        "s4": (Known("s4", FIRST, Source.PACKETS, 4.0),),
    }
    assert knowledge(up(), rows) == ()
    failed = ports_known(up(), {near: False}, 2.0)
    assert set(knowledge(failed, rows)) == {Known(near[0], FIRST, Source.PORT, 2.0), *rows["s4"]}
    both = ports_known(failed, {far: False}, 2.5)
    assert Known(far[0], FIRST, Source.PORT, 2.0) in knowledge(both, rows)
    back = ports_known(both, {near: True, far: True}, 5.0)
    assert set(knowledge(back, rows)) == {*rows[near[0]], *rows["s4"]}
    returning = begin_return(back, [FIRST])
    assert knowledge(returning, rows) == knowledge(back, rows)
    assert knowledge(end_return(returning, [FIRST]), rows) == ()


def test_a_port_that_was_never_up_has_no_time():
    state = replace(ReturnState(ENDS), live={ENDS[FIRST][0]: False})
    assert knowledge(state, {}) == (Known(ENDS[FIRST][0][0], FIRST, Source.PORT, None),)
