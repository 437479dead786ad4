"""The small parts of the agent: packets, rate limit, index, damping, bytes."""

from __future__ import annotations

import math
import os
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovsdb_backup.decide.agent import step
from ovsdb_backup.decide.agent_batch import in_one_go
from ovsdb_backup.decide.agent_types import (
    AgentState,
    ChangeRows,
    FlowsRemoved,
    Log,
    PacketIn,
    PlanLoaded,
    PortStatus,
    Refill,
    ReleasePacket,
    SwitchRead,
)
from ovsdb_backup.decide.agent_wire import (
    Reading,
    bytes_of,
    event_of,
    note_port,
    read_further,
)
from ovsdb_backup.decide.backup_index import BackupIndex
from ovsdb_backup.decide.packet import PacketFields, read_packet
from ovsdb_backup.urgency import Urgency
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType, WireError, header, split_messages
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import Kind, cookie
from ryu_apps.plan.recovery_rows import OWNER
from ryu_apps.plan.rows import Bucket, FlowRow, Group, GroupRow, Output, match
from te_solver.commodity import Commodity
from tests.ovsdb_backup.running import ipv4_frame
from tests.ovsdb_backup.world import SITES, connected_world, prepared_bytes

# ---- packets

IPV4 = st.integers(0, 2**32 - 1)


@given(IPV4, IPV4, st.integers(0, 0xFFFF))
def test_packet_is_read_as_it_was_built(source, destination, tci):
    tci = tci | 0x1000 if tci else 0
    assert read_packet(ipv4_frame(source, destination, tci)) == PacketFields(tci, source, destination)


@given(st.binary(max_size=80))
def test_reading_a_packet_is_total(data):
    read_packet(data)


@given(IPV4, IPV4, st.integers(0, 40))
def test_packet_that_is_cut_off_is_no_packet(source, destination, length):
    frame = ipv4_frame(source, destination, 0x1003)[:length]
    assert (read_packet(frame) is None) == (length < 38)


def test_ipv6_and_arp_are_no_packets_of_ours():
    frame = ipv4_frame(1, 2)
    assert read_packet(frame[:12] + b"\x86\xdd" + frame[14:]) is None
    assert read_packet(frame[:14] + b"\x65" + frame[15:]) is None


# ---- damping


@given(st.lists(st.floats(0, 1000), max_size=50).map(sorted), st.floats(0, 100), st.floats(1, 100))
def test_wait_grows_with_failures_and_stays_within_its_bounds(downs, wait_s, window_s):
    damping = Damping(wait_s, window_s, 60.0)
    now_s = max(downs, default=0.0)
    waits = [damping.required_s(tuple(downs[:count]), now_s) for count in range(len(downs) + 1)]
    assert waits == sorted(waits)
    assert wait_s <= waits[0] <= waits[-1] <= max(wait_s, 60.0)
    assert set(damping.remembered(tuple(downs), now_s)) == {down for down in downs if now_s - down <= window_s}


@given(st.floats(0.1, 100), st.integers(1, 50))
def test_a_wait_with_damping_lasts_at_most_twelve_times_as_long(wait_s, flaps):
    damping = Damping.of_wait(wait_s)
    assert damping.required_s((0.0,) * flaps, 0.0) == min(2 ** (flaps - 1), 12) * wait_s
    assert Damping.of_wait(Damping().wait_s) == Damping()


def test_a_port_that_flaps_for_ever_has_a_finite_wait():
    assert math.isfinite(Damping().required_s(tuple([1.0] * 5000), 1.0))


# ---- index


@pytest.mark.parametrize("where", SITES, ids=lambda where: where.name)
def test_index_finds_every_row_and_nothing_else(where):
    index = where.index
    for row in where.plan.backups:
        commodity = Commodity(row.destination, row.source)
        assert index.row(commodity, row.tag_id) == row
        assert index.commodity_of(row.destination, row.source or 99) == commodity
        assert index.row(commodity, 4095) is None
    for extension in where.plan.extensions:
        assert index.larger_tag(extension.tag_id, extension.port_no) == extension.new_tag_id
    assert index.commodity_of(1, 2) is None
    assert sum(map(len, index.primaries.values())) == sum(row.tag_id == 0 for row in where.plan.backups)


@pytest.mark.parametrize("where", SITES, ids=lambda where: where.name)
def test_tags_of_a_port_are_the_sets_that_hold_its_link(where):
    sets = FailureSets(*where.plan.tag_space)
    numbers = dict(zip(where.ports, where.link_numbers, strict=True))
    assert set(where.index.primaries) <= set(where.index.tags_of_port) <= set(where.ports)
    for port_no, tags in where.index.tags_of_port.items():
        assert tags == {tag for tag in range(len(sets.masks)) if numbers[port_no] in sets.numbers(tag)}
        assert where.index.holds_live_link(min(tags), ())
        assert not where.index.holds_live_link(min(tags), where.ports)


def test_learned_mode_plan_gives_an_index_for_refilling_only():
    plan = SITES[0].plan
    quiet = BackupIndex.from_plan(
        type(plan)(plan.dpid, plan.node, plan.flows[:1], backups=plan.backups, extensions=plan.extensions)
    )
    assert (quiet.backups, quiet.extensions, quiet.flows) == ((), (), plan.flows[:1])


# ---- bytes

ROW = FlowRow(
    1, 30000, match(eth_type=0x800, vlan_vid=0x1003, ipv4_dst=7), (Output(3),), cookie=5, send_flow_removed=True
)


def kinds(data: bytes) -> list[int]:
    messages, rest = split_messages(data)
    assert rest == b""
    return [header(message).msg_type for message in messages]


def test_change_is_one_bundle_with_deletions_first():
    data = bytes_of(ChangeRows((ROW,), (ROW,)), 9)
    assert kinds(data) == [MsgType.EXPERIMENTER] * 4
    assert data == encode.bundle(9, [encode.flow_delete(ROW), encode.flow_add(ROW)], xid=9)


def test_refill_adds_groups_before_what_leads_to_them():
    chain = GroupRow(2, "ff", (Bucket((Output(2),), watch_port=2), Bucket((), watch_group=9)))
    always = GroupRow(9, "all", (Bucket(()),))
    flow = FlowRow(0, 1, (), (Group(2),))
    data = bytes_of(Refill((chain, always), (flow,)), 4)
    assert data == encode.bundle(4, [encode.group_add(always), encode.group_add(chain), encode.flow_add(flow)], xid=4)


def test_only_a_frame_can_be_released():
    assert header(bytes_of(ReleasePacket(b"frame", (Output(2),)), 9)).msg_type == MsgType.PACKET_OUT
    with pytest.raises(WireError, match="frame as bytes"):
        bytes_of(ReleasePacket("text", ()), 9)


@pytest.mark.parametrize("where", SITES, ids=lambda where: where.name)
def test_prepared_bytes_are_those_of_the_failure_itself(where):
    state = connected_world(where).state
    for port_no in where.ports:
        prepared = prepared_bytes(state, port_no, 77)
        _state, actions = step(state, PortStatus(port_no, False), 0.0)
        changes = [action for action in actions if isinstance(action, ChangeRows)]
        if not changes:
            assert (prepared.change, prepared.data) == (ChangeRows(()), b"")
            continue
        assert (set(prepared.change.install), prepared.change.delete) == (set(changes[0].install), ())
        assert prepared.data == bytes_of(prepared.change, 77)
        _state, with_prepared = step(state, PortStatus(port_no, False, prepared.failure), 0.0)
        assert with_prepared[0] == prepared.change


def multipart(kind: int, body: bytes, more: bool) -> bytes:
    payload = kind.to_bytes(2, "big") + int(more).to_bytes(2, "big") + b"\0" * 4 + body
    return b"\x04\x13" + (8 + len(payload)).to_bytes(2, "big") + b"\0\0\0\x01" + payload


def port_body(port_no: int, state: int) -> bytes:
    return port_no.to_bytes(4, "big") + b"\0" * 28 + b"\0" * 4 + state.to_bytes(4, "big") + b"\0" * 24


def port_status(reason: int, port_no: int, state: int) -> bytes:
    payload = bytes([reason]) + b"\0" * 7 + port_body(port_no, state)
    return b"\x04\x0c" + (8 + len(payload)).to_bytes(2, "big") + b"\0" * 4 + payload


LIVE, DOWN, LOCAL_PORT = 4, 1, 0xFFFFFFFE


def test_reading_is_finished_when_all_three_answers_are_whole():
    reading = Reading()
    reading = read_further(reading, multipart(13, port_body(2, LIVE), more=True))
    reading = read_further(reading, multipart(7, b"\0\x08\0\0\0\0\0\x05", more=False))
    reading = read_further(reading, multipart(1, b"", more=False))
    reading = read_further(reading, multipart(4, b"", more=False))
    assert reading.event is None
    reading = note_port(reading, PortStatus(3, False))
    reading = read_further(reading, multipart(13, port_body(3, LIVE) + port_body(LOCAL_PORT, LIVE), more=False))
    assert reading.event == SwitchRead({2: True, 3: False}, (), frozenset({5}))


@pytest.mark.parametrize(
    ("message", "event"),
    [
        (port_status(2, 3, LIVE), PortStatus(3, True)),
        (port_status(2, 3, DOWN), PortStatus(3, False)),
        (port_status(1, 3, LIVE), PortStatus(3, False)),
        (port_status(2, LOCAL_PORT, LIVE), None),
        (encode.barrier_request(), None),
    ],
)
def test_message_stands_for_its_event(message, event):
    assert event_of(message) == event


TUNNEL_ID = struct.pack("!HBBQ", 1, 16 << 1, 8, 42)  # NXM_NX_TUN_ID, which Armor does not know


def reported(kind: int, fields: bytes, oxms: bytes, rest: bytes = b"") -> bytes:
    """A message that ends in a match, and what follows that."""
    oxm_match = struct.pack("!HH", 1, 4 + len(oxms)) + oxms
    body = fields + oxm_match + bytes(-len(oxm_match) % 8) + rest
    return struct.pack("!BBHI", 4, kind, 8 + len(body), 0) + body


def test_a_packet_that_came_through_a_tunnel_is_a_packet():
    frame = ipv4_frame(1, 2)
    fields = struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), 0, 0, 0)
    assert event_of(reported(10, fields, TUNNEL_ID, b"\0\0" + frame)) == PacketIn(read_packet(frame), frame)


@pytest.mark.parametrize(("owner", "is_event"), [(cookie(OWNER, Kind.AGENT), True), (78, False)])
def test_only_rows_of_the_agent_are_missed_when_they_go(owner, is_event):
    fields = struct.pack("!QHBBIIHHQQ", owner, 5, 2, 1, 0, 0, 0, 0, 0, 0)
    event = event_of(reported(11, fields, b"" if is_event else TUNNEL_ID))
    assert event == (FlowsRemoved((FlowRow(1, 5, (), cookie=owner),)) if is_event else None)


def test_agent_survives_events_without_a_plan():
    state = AgentState()
    for event in (
        PortStatus(2, False),
        PacketIn(None),
        FlowsRemoved((ROW,)),
        SwitchRead({2: True}),
        PlanLoaded(BackupIndex()),
    ):
        state, actions = step(state, event, 0.0)
        assert not any(isinstance(action, ChangeRows) for action in actions)


# ---- answers to packets that came together


def row_to(destination: int, port_no: int) -> FlowRow:
    """Some row."""
    return FlowRow(1, 30000, match(ipv4_dst=destination), (Output(port_no),))


def test_answers_put_together_are_packets_then_one_bundle_then_log_lines():
    first, second = ReleasePacket(b"1", (Output(2),)), ReleasePacket(b"2", (Output(3),))
    said = Log("agent_install", {"rows": 1}), Log("agent_release", {})
    answers = (ChangeRows((row_to(7, 2),)), said[0], first, said[1], ChangeRows((row_to(8, 3),)), second)
    assert in_one_go(answers) == (first, second, ChangeRows((row_to(7, 2), row_to(8, 3))), *said)


def test_of_two_answers_about_one_row_the_later_counts():
    answers = (ChangeRows((row_to(7, 2), row_to(8, 2))), ChangeRows((row_to(7, 3),)))
    assert in_one_go(answers) == (ChangeRows((row_to(7, 3), row_to(8, 2))),)


def test_answers_that_delete_keep_their_order():
    answers = (ChangeRows((row_to(7, 2),)), ChangeRows((), (row_to(7, 2),)), ChangeRows((row_to(7, 3),)))
    assert in_one_go(answers) == answers


def test_no_answers_are_no_actions():
    assert in_one_go(()) == ()


# ---- urgency


def calls_to_scheduler(monkeypatch: pytest.MonkeyPatch, refusal: type[OSError] | None = None) -> list[tuple[int, int]]:
    """What is asked of the scheduler from now on: (policy, priority)."""
    asked: list[tuple[int, int]] = []

    def set_scheduler(_pid: int, policy: int, parameters: os.sched_param) -> None:
        asked.append((policy, parameters.sched_priority))
        if refusal is not None:
            raise refusal

    monkeypatch.setattr(os, "sched_setscheduler", set_scheduler)
    return asked


def test_urgency_is_taken_up_and_given_up_once_each_however_often_it_is_asked_for(monkeypatch):
    asked = calls_to_scheduler(monkeypatch)
    urgency = Urgency(wanted=True)
    asked.clear()
    for urgent in (True, True, False, False, True):
        urgency.set(urgent)
    assert asked == [(os.SCHED_RR, 1), (os.SCHED_OTHER, 0), (os.SCHED_RR, 1)]


def test_an_agent_starts_with_ordinary_priority(monkeypatch):
    asked = calls_to_scheduler(monkeypatch)
    assert Urgency(wanted=True).is_granted
    assert asked[-1] == (os.SCHED_OTHER, 0)


def test_urgency_that_the_system_refuses_is_not_asked_for_again(monkeypatch):
    asked = calls_to_scheduler(monkeypatch, PermissionError)
    urgency = Urgency(wanted=True)
    urgency.set(True)
    assert not urgency.is_granted
    assert len(asked) == 1


def test_urgency_that_is_not_wanted_leaves_the_scheduler_alone(monkeypatch):
    asked = calls_to_scheduler(monkeypatch)
    Urgency(wanted=False).set(True)
    assert asked == []


# ---- start


@pytest.mark.parametrize("agent", ["agent", "tunnel_agent"])
def test_an_agent_starts_without_libraries_that_compute(agent):
    """A machine that emulates a network starts one for each switch."""
    argv = [sys.executable, "-X", "importtime", "-m", f"ovsdb_backup.{agent}", "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "import time:" in line}
    assert f"ovsdb_backup.{'agent_loop' if agent == 'agent' else 'decide.tunnel_agent'}" in imported
    assert not imported & {"networkx", "scipy", "eventlet", "prometheus_client", "ryu"}
