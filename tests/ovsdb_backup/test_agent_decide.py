"""The agent's decisions one by one: failures, punted packets, tags out of date."""

from __future__ import annotations

import pytest

from ovsdb_backup.decide.agent import (
    REACTIONS,
    TRANSITIONS,
    next_deadline_s,
    packet_status_monitor,
)
from ovsdb_backup.decide.agent_ports import link_status_monitor
from ovsdb_backup.decide.agent_rules import rule_changer, rule_grabber
from ovsdb_backup.decide.agent_types import (
    OUTDATED_TAG_TIMEOUT_S,
    Disconnected,
    Event,
    PacketIn,
    PacketStatus,
    PortHealth,
    PortStatus,
    SecondSource,
    SecondSourceLost,
)
from ovsdb_backup.decide.backup_index import BackupIndex
from ovsdb_backup.decide.liveness import NEW
from ovsdb_backup.decide.packet import PacketFields
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import Status
from ryu_apps.plan.recovery_rows import deliver_seen_row, tagged_row, untagged_row
from ryu_apps.plan.rows import ExtensionRow
from tests.ovsdb_backup.small_plan import (
    AROUND_0,
    AROUND_01,
    AROUND_3,
    AROUND_13,
    AROUND_34,
    INDEX,
    LOCAL,
    PASSING_4,
    PRIMARY,
    REVERSE_3,
    TO_T,
    S,
    T,
    pass_time,
    punt,
    rows_of,
    small_world,
)
from tests.ovsdb_backup.world import World, prepared_failure, tagged

NONE_DOWN: frozenset[int] = frozenset()


@pytest.fixture
def world() -> World:
    return small_world()


# ---- tables


def test_every_event_has_a_transition():
    assert set(TRANSITIONS) == set(Event.__args__)


def test_every_packet_status_has_a_reaction_at_and_before_the_destination():
    assert set(REACTIONS) == {(status, is_here) for status in PacketStatus for is_here in (False, True)}


def test_a_larger_set_has_a_larger_id():
    """What `rule_changer` relies on when it lets the row that knows more win."""
    sets = FailureSets(6, 3)
    assert all(smaller < tag_id for tag_id in range(len(sets.masks)) for smaller in sets.subsets(tag_id))


# ---- rule grabber, rule changer, monitors


@pytest.mark.parametrize(
    ("tag_id", "down", "held", "row"),
    [
        (0, (), (), PRIMARY),
        (0, (2,), (), AROUND_0),
        (0, (2, 3), (), AROUND_01),
        (0, (2, 3, 4), (), None),
        (4, (3,), (), AROUND_13),
        (2, (), (), None),
        (0, (2,), (3,), AROUND_01),
        (0, (2, 4), (3,), AROUND_0),
        (0, (), (2, 3, 4), PRIMARY),
    ],
)
def test_rule_grabber_avoids_failed_ports_and_uses_held_ones_only_when_it_must(tag_id, down, held, row):
    assert rule_grabber(INDEX, TO_T, tag_id, frozenset(down), frozenset(held)) == row


def test_rule_grabber_does_not_loop_for_ever():
    index = BackupIndex((PRIMARY, AROUND_0), (ExtensionRow(0, 2, 1), ExtensionRow(1, 3, 1)), tag_space=(5, 2))
    assert rule_grabber(index, TO_T, 0, frozenset({2, 3}), NONE_DOWN) is None


def test_rule_changer_serves_every_tag_that_the_row_takes_over():
    assert rule_changer(TO_T, {15: AROUND_34}, 9) == {
        15: tagged_row(AROUND_34, 15, 9),
        0: untagged_row(AROUND_34, 9),
        4: tagged_row(AROUND_34, 4, 9),
    }


def test_rule_changer_lets_the_row_that_knows_more_win_in_any_order():
    one = rule_changer(TO_T, {4: AROUND_3, 15: AROUND_34}, 0)
    assert one == rule_changer(TO_T, {15: AROUND_34, 4: AROUND_3}, 0)
    assert one[4] == tagged_row(AROUND_34, 4)


def test_rule_changer_drops_what_has_no_way_left():
    (row,) = rule_changer(TO_T, {7: None}, 0).values()
    assert row.apply_actions == ()
    assert row.send_flow_removed
    assert ("vlan_vid", 0x1007, None) in row.match


@pytest.mark.parametrize(
    ("vlan_tci", "status"),
    [
        (0, PacketStatus.REGULAR),
        (0x1000, PacketStatus.REGULAR),
        (0x2004, PacketStatus.REGULAR),
        (0x3004, PacketStatus.CRANKBACK),
        (0x5004, PacketStatus.RECOVERED),
        (0xF004, PacketStatus.REGULAR),
    ],
)
def test_packet_status_is_read_from_the_tag(vlan_tci, status):
    assert packet_status_monitor(PacketFields(vlan_tci, 1, 2)) == status


def test_first_up_is_no_return_and_later_ones_wait_longer_while_it_flaps():
    damping = Damping(wait_s=5.0, window_s=60.0, max_wait_s=15.0)
    health = link_status_monitor(PortHealth(switch_live=False), damping, 0.0, switch_live=True)
    assert (health.state is NEW, health.held_until_s) == (False, None)
    waits = []
    for time_s in (10.0, 20.0, 30.0, 40.0, 500.0):
        health = link_status_monitor(health, damping, time_s, switch_live=False)
        assert health.held_until_s is None
        health = link_status_monitor(health, damping, time_s + 1.0, switch_live=True)
        waits.append(health.held_until_s - time_s - 1.0)
    assert waits == [5.0, 10.0, 15.0, 15.0, 5.0]


# ---- local failure


def test_local_failure_moves_backup_rows_in_and_return_moves_them_out(world):
    world.tell(PortStatus(2, False))
    reverse_stays = rows_of(untagged_row(AROUND_0))
    assert world.agent_rows == reverse_stays, "no row is planned for S without link 0: packets are dropped"
    world.tell(PortStatus(2, True))
    assert world.agent_rows == reverse_stays
    pass_time(world, 4.9)
    assert world.agent_rows == reverse_stays
    pass_time(world, 0.2)
    assert world.agent_rows == {}
    assert next_deadline_s(world.state) is None


def test_second_failure_replaces_the_row_in_place(world):
    world.tell(PortStatus(2, False))
    world.tell(PortStatus(3, False))
    assert world.agent_rows == rows_of(untagged_row(AROUND_01))
    world.tell(PortStatus(4, False))
    assert world.agent_rows == {}, "no way is left: the plain row sends to a failed port"
    world.tell(PortStatus(3, True))
    assert world.agent_rows == rows_of(untagged_row(AROUND_0)), "a port that waits is better than none"


def test_failure_that_was_prepared_before_another_failure_is_worked_out_anew(world):
    early = prepared_failure(world.state, 2)
    world.tell(PortStatus(3, False))
    world.tell(PortStatus(2, False, early))
    assert world.agent_rows == rows_of(untagged_row(AROUND_01))


def test_a_second_source_may_fail_a_port_and_both_must_trust_it(world):
    world.tell(SecondSource(2, False))
    world.tell(PortStatus(2, False))
    assert world.agent_rows == rows_of(untagged_row(AROUND_0))
    world.tell(PortStatus(2, True))
    pass_time(world, 100.0)
    assert world.agent_rows == rows_of(untagged_row(AROUND_0))
    world.tell(SecondSource(2, True))
    pass_time(world, 100.0)
    assert world.agent_rows == {}


def test_a_second_source_that_is_lost_counts_no_more(world):
    world.tell(SecondSource(2, False))
    world.tell(SecondSourceLost())
    pass_time(world, 100.0)
    assert world.state.down_ports == frozenset()
    assert world.agent_rows == {}


def test_nothing_is_installed_while_the_switch_is_away_and_all_when_it_is_back(world):
    world.tell(Disconnected())
    world.tell(SecondSource(2, False))
    assert world.agent_rows == {}
    world.read()
    assert world.agent_rows == rows_of(untagged_row(AROUND_0))


# ---- remote failure


def test_tagged_packet_brings_its_rows_and_is_released_by_them(world):
    punt(world, 4)
    assert world.agent_rows == rows_of(tagged_row(AROUND_3), untagged_row(AROUND_3))
    assert world.released == [("frame", tagged_row(AROUND_3).apply_actions)]


def test_row_that_does_not_cross_the_set_leaves_untagged_packets_alone(world):
    punt(world, 5)
    assert world.agent_rows == rows_of(tagged_row(PASSING_4))


def test_packet_whose_way_is_down_gets_the_larger_set(world):
    world.tell(PortStatus(3, False))
    punt(world, 4)
    assert world.agent_rows == rows_of(tagged_row(AROUND_13, 4), untagged_row(AROUND_13))
    assert world.released == [("frame", tagged_row(AROUND_13, 4).apply_actions)]


def test_second_failure_does_not_shut_the_first_out_and_the_larger_set_wins(world):
    for tag_id in (15, 4):
        punt(world, tag_id)
    rows = tagged_row(AROUND_34), tagged_row(AROUND_34, 4), untagged_row(AROUND_34)
    assert world.agent_rows == rows_of(*rows)
    assert world.released == [("frame", rows[0].apply_actions), ("frame", rows[1].apply_actions)]


def test_packet_without_a_way_is_dropped_here_from_then_on(world):
    punt(world, 9)
    assert world.released == []
    assert [row.apply_actions for row in world.agent_rows.values()] == [()]


def test_packets_that_nobody_plans_for_change_nothing(world):
    for packet in (None, PacketFields(0, S, T), tagged(0x01020304, S, 4), PacketFields(0x1004, S, T)):
        world.tell(PacketIn(packet, "frame"))
    assert (world.agent_rows, world.released) == ({}, [])


def test_recovered_packet_at_its_destination_switches_the_reverse_path_over_once(world):
    punt(world, 4, Status.RECOVERED, LOCAL, S)
    assert world.agent_rows == rows_of(deliver_seen_row(4, S, LOCAL), tagged_row(REVERSE_3), untagged_row(REVERSE_3))
    assert world.released == [], "what the agent gets at the destination is a copy"
    installs = world.installs
    punt(world, 4, Status.RECOVERED, LOCAL, S)
    assert world.installs == installs


def test_a_source_that_no_row_serves_leaves_no_row_here(world):
    for source in range(0x0A000100, 0x0A000110):
        punt(world, 4, Status.RECOVERED, LOCAL, source)
    assert world.agent_rows == {}


@pytest.mark.parametrize(("tag_id", "status"), [(4, Status.CRANKBACK), (5, Status.RECOVERED)])
def test_reverse_path_stays_when_the_packet_did_not_recover_or_replies_do_not_cross_its_set(world, tag_id, status):
    punt(world, tag_id, status, LOCAL, S)
    assert world.agent_rows == rows_of(deliver_seen_row(tag_id, S, LOCAL))


# ---- what is out of date


def test_tag_that_names_a_live_link_of_ours_is_passed_on_for_a_while_and_not_believed(world):
    punt(world, 1)
    assert world.agent_rows == rows_of(tagged_row(AROUND_0, 1, OUTDATED_TAG_TIMEOUT_S))
    assert len(world.released) == 1


def test_tag_that_ran_ahead_of_our_own_detection_is_believed_after_it(world):
    punt(world, 1)
    world.tell(PortStatus(2, False))
    assert world.agent_rows == rows_of(tagged_row(AROUND_0), untagged_row(AROUND_0))


def test_sets_with_a_link_that_has_returned_are_forgotten(world):
    world.tell(PortStatus(2, False))
    punt(world, 1)
    assert world.agent_rows == rows_of(tagged_row(AROUND_0), untagged_row(AROUND_0))
    world.tell(PortStatus(2, True))
    pass_time(world, 5.1)
    assert world.agent_rows == {}
    assert world.state.known == {}
