"""What the agent forgets and what it finds again: removed rows, restarts, new plans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ovsdb_backup.decide.agent import next_deadline_s, step
from ovsdb_backup.decide.agent_types import (
    OUTDATED_TAG_TIMEOUT_S,
    AgentState,
    FlowsRemoved,
    PlanLoaded,
    PortStatus,
)
from ryu_apps.plan.ids import Status
from ryu_apps.plan.recovery_rows import deliver_seen_row, tagged_row, untagged_row
from ryu_apps.plan.rows import FlowRow, match
from tests.ovsdb_backup.small_plan import (
    AROUND_0,
    AROUND_3,
    AROUND_13,
    AROUND_34,
    INDEX,
    LOCAL,
    S,
    pass_time,
    punt,
    rows_of,
    small_world,
)
from tests.ovsdb_backup.world import World


@pytest.fixture
def world() -> World:
    return small_world()


# ---- rows that go


def test_removed_row_takes_along_what_it_rested_on(world):
    punt(world, 4)
    world.remove(tagged_row(AROUND_3))
    world.deliver_notices()
    assert world.agent_rows == {}
    assert world.state.known == {}
    punt(world, 4)
    assert world.agent_rows == rows_of(tagged_row(AROUND_3), untagged_row(AROUND_3))


def test_notice_of_a_deletion_of_our_own_does_not_hit_the_row_that_came_after_it(world):
    world.tell(PortStatus(2, False))
    world.tell(PortStatus(2, True))
    pass_time(world, 5.1)
    assert len(world.notices) == 1, "the notice of the agent's own deletion is late"
    world.tell(PortStatus(2, False))
    row = rows_of(untagged_row(AROUND_0))
    assert world.agent_rows == row
    installs = world.installs
    world.deliver_notices()
    assert (world.agent_rows, world.believed_rows) == (row, row)
    assert world.installs == installs, "nothing had to be mended"


def test_late_notice_of_another_deletion_leaves_no_row_that_nobody_knows_of(world):
    punt(world, 1)
    world.remove(tagged_row(AROUND_0, 1, OUTDATED_TAG_TIMEOUT_S))
    world.tell(PortStatus(2, False))
    world.deliver_notices()
    assert world.believed_rows == world.agent_rows


def test_late_notice_about_a_row_that_was_replaced_changes_nothing(world):
    punt(world, 4)
    world.remove(tagged_row(AROUND_3))
    world.tell(PortStatus(3, False))
    rows = rows_of(tagged_row(AROUND_13, 4), untagged_row(AROUND_13))
    assert world.agent_rows == rows
    state = world.state
    world.deliver_notices()
    assert (world.agent_rows, world.state) == (rows, state)


def test_one_flow_that_is_seen_no_more_leaves_the_others_alone(world):
    for tag_id in (4, 5):
        punt(world, tag_id, Status.CRANKBACK, LOCAL, S)
    world.remove(deliver_seen_row(4, S, LOCAL))
    world.deliver_notices()
    assert world.agent_rows == rows_of(deliver_seen_row(5, S, LOCAL))
    assert world.installs == 2


def test_removal_by_the_controller_ends_the_wait_of_a_port_that_is_up(world):
    world.tell(PortStatus(2, False))
    world.tell(PortStatus(2, True))
    world.remove(untagged_row(AROUND_0))
    world.deliver_notices()
    assert world.agent_rows == {}
    assert next_deadline_s(world.state) is None


def test_removal_while_the_port_is_down_is_mended_at_once(world):
    world.tell(PortStatus(2, False))
    world.remove(untagged_row(AROUND_0))
    world.deliver_notices()
    assert world.agent_rows == rows_of(untagged_row(AROUND_0))


def test_notice_about_somebody_elses_row_is_nobodys_business(world):
    world.tell(FlowsRemoved((FlowRow(0, 1, match(eth_type=0x800), cookie=77),)))
    world.tell(FlowsRemoved((tagged_row(AROUND_34),)))
    assert world.agent_rows == {}


# ---- start and restart


def test_agent_that_starts_during_remote_and_local_failures_takes_its_rows_over(world):
    punt(world, 5)
    punt(world, 4, Status.RECOVERED, LOCAL, S)
    world.tell(PortStatus(2, False))
    before, known, installs = world.agent_rows, world.state.known, world.installs
    world.state = AgentState()
    world.live[2] = False
    world.tell(PlanLoaded(INDEX))
    world.read()
    assert (world.agent_rows, world.state.known, world.installs) == (before, known, installs)


def test_agent_that_starts_after_the_return_waits_before_it_removes_rows(world):
    world.tell(PortStatus(2, False))
    rows = world.agent_rows
    world.state = AgentState()
    world.tell(PlanLoaded(INDEX))
    world.read()
    assert world.agent_rows == rows
    pass_time(world, 5.1)
    assert world.agent_rows == {}


def test_agent_without_a_plan_touches_nothing(world):
    world.tell(PortStatus(2, False))
    rows = world.agent_rows
    world.state = AgentState()
    world.read()
    assert world.agent_rows == rows


def test_rows_of_an_older_plan_are_removed_unless_the_new_plan_has_them(world):
    punt(world, 4)
    moved = tuple(replace(row, out_port=4) if row == AROUND_3 else row for row in INDEX.backups)
    world.tell(PlanLoaded(replace(INDEX, backups=moved)))
    assert world.agent_rows == {}


def test_what_packets_said_under_an_older_plan_is_forgotten_before_the_switch_is_read(world):
    punt(world, 4)
    assert world.state.known
    state, _ = step(world.state, PlanLoaded(replace(INDEX, backups=INDEX.backups[1:])), 0.0)
    assert (state.known, state.outdated) == ({}, {})


def test_port_that_is_no_longer_there_is_down(world):
    del world.live[2]
    world.read()
    assert world.agent_rows == rows_of(untagged_row(AROUND_0))


def test_empty_switch_is_refilled_and_a_half_filled_one_is_left_to_its_writer():
    flows = (FlowRow(0, 5, match(eth_type=0x800), cookie=2 << 56), FlowRow(0, 4, (), cookie=2 << 56))
    index = replace(INDEX, flows=flows)
    for present, wanted in (((), set(flows)), (flows[:1], set(flows[:1]))):
        world = World(AgentState(), live={1: True, 2: True}, flows=rows_of(*present))
        world.tell(PlanLoaded(index))
        world.read()
        assert set(world.flows.values()) >= wanted
        assert (set(flows) <= set(world.flows.values())) == (not present)
