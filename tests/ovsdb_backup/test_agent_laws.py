"""Laws of the agent that hold after any sequence of events."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from ovsdb_backup.decide.agent import next_deadline_s, step
from ovsdb_backup.decide.agent_ports import is_foreseen
from ovsdb_backup.decide.agent_rules import wanted_rules
from ovsdb_backup.decide.agent_types import (
    AgentState,
    ChangeRows,
    Disconnected,
    PacketIn,
    PlanLoaded,
    PortStatus,
    SecondSource,
    SecondSourceLost,
    Tick,
)
from ovsdb_backup.decide.backup_index import BackupIndex
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import Status
from ryu_apps.plan.rows import Output
from te_solver.commodity import Commodity
from tests.ovsdb_backup.world import SITES, Site, World, connected_world, prepared_bytes, prepared_failure, tagged

Move = tuple[object, ...]


@dataclass(frozen=True)
class MoveSequence:
    """A switch (number in SITES) and what happens to it."""

    site_number: int
    moves: tuple[Move, ...]

    @property
    def site(self) -> Site:
        """The switch."""
        return SITES[self.site_number]


@st.composite
def sequences(draw) -> MoveSequence:
    number = draw(st.integers(0, len(SITES) - 1))
    where = SITES[number]
    destinations = sorted({row.destination for row in where.plan.backups} | set(where.plan.local_ipv4))
    n_sets = len(FailureSets(*where.plan.tag_space).masks)
    port = st.sampled_from(where.ports)
    address = st.sampled_from(destinations)
    moves = st.one_of(
        st.tuples(st.just("port"), port, st.booleans()),
        st.tuples(st.just("prepared port"), port, st.booleans()),
        st.tuples(st.just("second_source"), port, st.booleans()),
        st.tuples(st.just("second liveness source lost")),
        st.tuples(st.just("packet"), address, address, st.integers(0, n_sets + 1), st.sampled_from(Status)),
        st.tuples(st.just("odd packet")),
        st.tuples(st.just("wait"), st.floats(0.0, 30.0)),
        st.tuples(st.just("delete"), st.integers(0, 50)),
        st.tuples(st.just("notice"), st.integers(0, 50)),
        st.tuples(st.just("burst of notices")),
        st.tuples(st.just("delete all")),
        st.tuples(st.just("reconnect")),
        st.tuples(st.just("switch restart")),
        st.tuples(st.just("agent restart")),
    )
    return MoveSequence(number, tuple(draw(st.lists(moves, max_size=25))))


def play(sequence: MoveSequence) -> World:
    world = connected_world(sequence.site)
    for move in sequence.moves:
        play_move(world, sequence.site, *move)
    return world


def play_move(world: World, where: Site, kind: str, *given: object) -> None:
    world.now_s += 0.001
    if kind in ("port", "prepared port"):
        port_no, live = given
        world.live[port_no] = live
        prepared = prepared_failure(world.state, port_no) if kind == "prepared port" else None
        world.tell(PortStatus(port_no, live, prepared))
    elif kind == "second_source":
        world.tell(SecondSource(*given))
    elif kind == "second liveness source lost":
        world.tell(SecondSourceLost())
    elif kind == "packet":
        world.tell(PacketIn(tagged(*given), "handle"))
    elif kind == "odd packet":
        world.tell(PacketIn(None))
    elif kind == "wait":
        wait(world, given[0])
    elif "delete" in kind or "notice" in kind:
        remove_or_notice(world, kind, *given)
    elif kind in ("reconnect", "switch restart"):
        world.tell(Disconnected())
        world.notices.clear()  # what is sent while nobody listens is lost
        if kind == "switch restart":
            world.flows.clear()
        world.read()
    elif kind == "agent restart":
        world.notices.clear()
        world.state = AgentState()
        world.tell(PlanLoaded(where.index))
        world.read()


def remove_or_notice(world: World, kind: str, number: int = 0) -> None:
    rows = list(world.agent_rows.values())
    if kind == "delete" and rows:
        world.remove(rows[number % len(rows)])
    elif kind == "delete all":
        for row in rows:
            world.remove(row)
    elif kind == "notice":
        world.deliver_notice(number)
    elif kind == "burst of notices":
        world.deliver_notices_at_once()


def wait(world: World, seconds: float) -> None:
    """Time passes, and the agent wakes when it asked to."""
    end_s = world.now_s + seconds
    while (due_s := next_deadline_s(world.state)) is not None and due_s <= end_s:
        world.now_s = max(due_s, world.now_s)
        world.tell(Tick())
    world.now_s = end_s


def settle(world: World) -> None:
    """Every port is live, nothing is under way, and the controller has removed what is about other links."""
    world.tell(SecondSourceLost())
    for port_no in world.live:
        world.live[port_no] = True
        world.tell(PortStatus(port_no, True))
    wait(world, 1000.0)
    world.deliver_notices()
    for row in list(world.agent_rows.values()):
        world.remove(row)
    world.deliver_notices()


@given(sequences())
def test_agent_never_loses_track_of_its_rows(sequence):
    world = play(sequence)
    world.deliver_notices()
    assert world.believed_rows == world.agent_rows


@given(sequences())
def test_rows_are_exactly_those_wanted(sequence):
    world = play(sequence)
    world.deliver_notices()
    commodities = {*world.state.index.commodities, *world.state.known, *world.state.outdated, *world.state.rules}
    for commodity in commodities:
        assert wanted_rules(world.state, commodity) == dict(world.state.rules.get(commodity, {}))


@given(sequences())
def test_no_row_sends_to_a_port_that_is_down(sequence):
    world = play(sequence)
    world.deliver_notices()
    down = world.state.down_ports
    for row in world.agent_rows.values():
        assert not any(isinstance(action, Output) and action.port_no in down for action in row.apply_actions)


@given(sequences())
def test_after_every_repair_the_agent_is_as_new(sequence):
    world = play(sequence)
    settle(world)
    assert not world.agent_rows
    left = (world.state.rules, world.state.known, world.state.outdated, world.state.removing)
    assert left == ({}, {}, {}, {})
    assert not world.state.down_ports
    assert not world.state.held_ports
    assert next_deadline_s(world.state) is None


@given(sequences())
def test_primary_rows_are_back_after_a_switch_restart(sequence):
    world = play(sequence)
    world.tell(Disconnected())
    world.flows.clear()
    world.notices.clear()
    world.read()
    assert {row.key for row in sequence.site.plan.flows} <= world.flows.keys()


@given(sequences())
def test_punted_packet_is_released_once_or_there_is_no_way(sequence):
    world = play(sequence)
    for commodity in sorted(world.state.index.commodities):
        source = commodity.source if commodity.source is not None else 12345
        for tag_id in range(1, len(FailureSets(*sequence.site.plan.tag_space).masks)):
            world.released.clear()
            world.tell(PacketIn(tagged(commodity.destination, source, tag_id), "this packet"))
            rule = world.state.rules[commodity][tag_id]
            assert world.released == ([("this packet", rule.apply_actions)] if rule.apply_actions else [])
    world.deliver_notices()
    assert world.believed_rows == world.agent_rows


@given(sequences())
def test_the_same_packet_again_changes_nothing(sequence):
    world = play(sequence)
    commodity = min(world.state.index.commodities)
    packet = tagged(commodity.destination, commodity.source or 12345, 1)
    world.tell(PacketIn(packet, "first"))
    state, installs = world.state, world.installs
    world.tell(PacketIn(packet, "second"))
    assert (world.state, world.installs) == (state, installs)


@given(sequences(), st.data())
def test_packets_answered_together_leave_what_answers_one_by_one_leave(sequence, data):
    one, other = play(sequence), play(sequence)
    destinations = sorted({row.destination for row in sequence.site.plan.backups} | set(sequence.site.plan.local_ipv4))
    address, status = st.sampled_from(destinations), st.sampled_from(Status)
    tag = st.integers(0, len(FailureSets(*sequence.site.plan.tag_space).masks))
    drawn = data.draw(st.lists(st.tuples(address, address, tag, status), max_size=6))
    packets = [PacketIn(tagged(*packet), number) for number, packet in enumerate(drawn)]
    for packet in packets:
        one.tell(packet)
    other.tell_together(packets)
    assert other.state == one.state
    assert other.flows == one.flows
    assert other.released == one.released


@given(sequences(), st.data())
def test_prepared_failure_does_what_the_failure_would_do(sequence, data):
    one, other = play(sequence), play(sequence)
    port_no = data.draw(st.sampled_from(sequence.site.ports))
    one.tell(PortStatus(port_no, False, prepared_failure(one.state, port_no)))
    other.tell(PortStatus(port_no, False))
    assert (one.state, one.flows) == (other.state, other.flows)


@given(sequences(), st.data())
def test_foreseen_change_is_all_that_a_failure_changes(sequence, data):
    """The agent sends these bytes before it asks `step`."""
    world = play(sequence)
    port_no, source = (
        data.draw(st.sampled_from(sequence.site.ports)),
        data.draw(st.sampled_from((PortStatus, SecondSource))),
    )
    prepared = prepared_bytes(world.state, port_no)
    is_sent = is_foreseen(world.state, port_no, prepared.failure)
    _state, actions = step(world.state, source(port_no, False, prepared.failure), world.now_s)
    changes = [action for action in actions if isinstance(action, ChangeRows)]
    assert changes == ([prepared.change] if is_sent and prepared.data else [])


@given(sequences(), st.data())
def test_failure_prepared_for_another_state_is_not_used(sequence, data):
    world = play(sequence)
    port_no = data.draw(st.sampled_from(sequence.site.ports))
    early = prepared_failure(world.state, port_no)
    for move in data.draw(st.lists(st.sampled_from(sequence.moves), max_size=3)) if sequence.moves else []:
        play_move(world, sequence.site, *move)
    world.tell(PortStatus(port_no, False, early))
    world.deliver_notices()
    assert world.believed_rows == world.agent_rows
    for commodity in world.state.index.commodities:
        assert wanted_rules(world.state, commodity) == dict(world.state.rules.get(commodity, {}))


@given(sequences())
def test_learned_mode_plan_makes_the_agent_refill_and_nothing_else(sequence):
    learned = BackupIndex(flows=sequence.site.plan.flows, local_ipv4=frozenset(sequence.site.plan.local_ipv4))
    quiet = Site(sequence.site.name, sequence.site.plan, sequence.site.ports)
    world = connected_world(quiet)
    world.tell(PlanLoaded(learned))
    world.state, installs = world.state, world.installs
    for move in sequence.moves:
        if move[0] not in ("agent restart",):
            play_move(world, quiet, *move)
    assert world.installs == installs
    assert not world.agent_rows


def test_a_sequence_can_install_rows_for_all_sites():
    """The laws above would hold for an agent that does nothing."""
    for where in SITES:
        world = connected_world(where)
        busy = max(where.index.primaries, key=lambda port_no: len(where.index.primaries[port_no]))
        world.tell(PortStatus(busy, False))
        commodity = Commodity(*min(world.state.rules))
        assert world.agent_rows, where
        assert commodity in where.index.commodities
