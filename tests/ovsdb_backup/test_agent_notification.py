"""What a switch's agent does about failures that notifications name, and how it notifies others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.toy import figure2, square
from ovsdb_backup.decide.agent import step
from ovsdb_backup.decide.agent_types import ChangeRows, Log, PacketIn, PortStatus, ReleasePacket
from ovsdb_backup.decide.packet import notification_frame, read_packet
from ryu_apps.plan.ids import Table, split_cookie
from ryu_apps.plan.recovery_rows import split_tci
from te_solver.commodity import Commodity
from tests.examples import examples
from tests.ovsdb_backup.world import Site, World, connected_world, site

FLOODED = tuple(
    site(topology, node, planner, notification="flood")
    for topology in (figure2(), square())
    for planner in ("tree", "pair")
    for node in topology.node_names
)


def notify(world: World, tag_id: int) -> None:
    world.tell(PacketIn(read_packet(notification_frame(tag_id))))


def untagged_tags(world: World) -> dict[Commodity, int]:
    """Tag that untagged packets get, by commodity; those that have no row are left out."""
    rules = {commodity: rows[0] for commodity, rows in world.state.rules.items() if 0 in rows}
    return {commodity: split_cookie(row.cookie).tag_id for commodity, row in rules.items()}


def tags_of(where: Site) -> st.SearchStrategy[int]:
    return st.integers(1, len(where.index.sets.masks) - 1)


def collected_by_hand(where: Site, commodity: Commodity, failed: int) -> int | None:
    """Smallest set that a packet collects which meets the links one by one; None where no way is left."""
    known: list[int] = []
    masks = where.index.sets.masks
    while True:
        tag_id = masks.index(sum(1 << number for number in known))
        row = next((row for row in where.plan.backups if row.key == (*commodity, tag_id)), None)
        if row is None:
            return None
        met = [number for number in row.path if failed >> number & 1]
        if not met:
            return tag_id
        known.append(met[0])


@examples(60)
@given(st.sampled_from(FLOODED), st.data())
def test_a_notification_brings_every_commodity_the_tag_that_a_packet_would_collect(where, data):
    world, tag_id = connected_world(where), data.draw(tags_of(where))
    links = where.index.sets.numbers(tag_id)
    if set(links) & set(where.link_numbers):
        return  # a set with a live link of this switch is out of date
    notify(world, tag_id)
    mask = where.index.sets.masks[tag_id]
    wanted = {commodity: collected_by_hand(where, commodity, mask) for commodity in where.index.commodities}
    assert untagged_tags(world) == {commodity: tag for commodity, tag in wanted.items() if tag}
    for commodity, tag in untagged_tags(world).items():
        row = where.index.row(commodity, tag)
        assert not set(row.path) & set(links)
        assert row.crosses  # so a tagged packet would have brought the same row


@examples(40)
@given(st.sampled_from(FLOODED), st.data())
def test_the_order_of_notifications_does_not_matter(where, data):
    tags = data.draw(st.lists(tags_of(where), max_size=3))
    one, other = connected_world(where), connected_world(where)
    for tag_id in tags:
        notify(one, tag_id)
    for tag_id in reversed(tags):
        notify(other, tag_id)
    assert one.flows == other.flows


@examples(40)
@given(st.sampled_from(FLOODED), st.data())
def test_an_answer_is_one_bundle_and_the_same_notification_again_changes_nothing(where, data):
    world, tag_id = connected_world(where), data.draw(tags_of(where))
    event = PacketIn(read_packet(notification_frame(tag_id)))
    state, actions = step(world.state, event, world.now_s)
    assert len([action for action in actions if isinstance(action, ChangeRows)]) == 1
    logs = [(action.event, action.fields.get("tag_id")) for action in actions if isinstance(action, Log)]
    assert logs[-1] == ("notification", tag_id)
    assert step(state, event, world.now_s) == (state, ())


@examples(40)
@given(st.sampled_from(FLOODED), st.data())
def test_when_a_link_returns_its_sets_are_forgotten_and_no_others(where, data):
    """The controller removes all rows whose cookies name a set with the link."""
    world, other = connected_world(where), connected_world(where)
    tags = data.draw(st.lists(tags_of(where), min_size=1, max_size=3, unique=True))
    masks = where.index.sets.masks
    link = data.draw(st.sampled_from([n for tag_id in tags for n in where.index.sets.numbers(tag_id)]))
    for tag_id in tags:
        notify(world, tag_id)
        if not masks[tag_id] >> link & 1:
            notify(other, tag_id)
    for row in list(world.agent_rows.values()):
        if masks[split_cookie(row.cookie).tag_id] >> link & 1:
            world.remove(row)
    world.deliver_notices_at_once()
    world.deliver_notices()
    assert world.agent_rows == other.agent_rows
    assert (world.state.known, world.state.outdated) == (other.state.known, other.state.outdated)


def sent_by(world: World, port_no: int) -> list[tuple[int, ...]]:
    """Failed sets that the agent names in notifications when a port fails."""
    world.state, actions = step(world.state, PortStatus(port_no, False), world.now_s)
    frames = [read_packet(action.handle) for action in actions if isinstance(action, ReleasePacket)]
    return [world.state.index.sets.numbers(split_tci(fields.vlan_tci)[0]) for fields in frames]


@pytest.mark.parametrize("where", [where for where in FLOODED if len(where.ports) > 1])
def test_an_agent_names_each_failed_link_and_all_of_them_together(where):
    world = connected_world(where)
    first, second = where.link_numbers[:2]
    assert sent_by(world, where.ports[0]) == [(first,)]
    assert sent_by(world, where.ports[1]) == [(second,), tuple(sorted((first, second)))]


def test_without_notifications_in_the_plan_none_is_sent_or_heard():
    world = connected_world(site(figure2(), "s4"))
    before = world.state
    notify(world, 1)
    assert world.state == before
    assert sent_by(world, 2) == []


def test_a_notification_that_names_no_set_of_the_plan_is_dropped():
    world = connected_world(FLOODED[0])
    before = world.state
    notify(world, 4000)
    assert world.state == before


def test_what_stops_a_notification_is_replaced_by_a_row_that_names_its_removal():
    where = next(each for each in FLOODED if each.name == "s1")
    world = connected_world(where)
    tag_id = next(
        number for number in range(1, 99) if not set(where.index.sets.numbers(number)) & {*where.link_numbers}
    )
    notify(world, tag_id)
    rows = [row for row in world.agent_rows.values() if row.table_id == Table.NOTIFY]
    assert [(row.apply_actions, row.send_flow_removed) for row in rows] == [((), True)]
    assert rows[0].key not in {row.key for row in where.plan.flows}
    assert rows[0].match == (("vlan_vid", 0x1000 | tag_id, None),)
