"""Commands of a trial of kind "commands": what depends on what, and what an order of arrival comes to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.campaign.kinds.commands import (
    ACROSS,
    BARRIERS,
    DEPENDENT,
    FLOW_MODS,
    INDEPENDENT,
    NONE,
    PACKET_OUTS,
    CommandsParameters,
)
from experiments.figures.pso.setup import LINK_PARAMETERS
from experiments.loadgen.commands import measure_commands
from experiments.loadgen.decide.commands import (
    FIRST_XID,
    FLOOD_BYTES,
    LAST_XID,
    Command,
    Report,
    Taken,
    extra_barriers,
    flood,
    reordered,
    step,
    summed_up,
    violations,
)
from experiments.loadgen.decide.load import HIGH, LOW
from machine.environment import REPOSITORY
from ryu_apps.control.priority.decide.footprint import footprint
from ryu_apps.openflow.wire import MsgType
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.parse import parse_pmt

STREAMS = (INDEPENDENT, DEPENDENT, ACROSS, BARRIERS)
PMT = "examples/pmt/every_message.yaml"
CLASS_IDS = {HIGH: 2, LOW: 3}  # of the table's rules for UDP port 20000 and for the rest of type 2
PSO_XID = 0xF5000000


def sent(stream: str, n_steps: int) -> dict[int, Command]:
    return {xid: each for number in range(n_steps) for xid, each in step(stream, number).items()}


def conflict(one: Command, other: Command) -> bool:
    return one.kind is None or other.kind is None or bool(one.touches & other.touches)


def overlap(one: Command, other: Command) -> bool:
    """Whether PSO takes two commands for dependent."""
    first, second = footprint(one.message), footprint(other.message)
    both = [(a, b) for a in (*first.reads, *first.writes) for b in second.writes]
    both += [(a, b) for a in first.writes for b in second.reads]
    return any(a[: len(b)] == b or b[: len(a)] == a for a, b in both)


@given(stream=st.sampled_from(STREAMS), n_steps=st.integers(1, 5), data=st.data())
def test_what_came_after_a_later_command_is_counted(stream, n_steps, data) -> None:
    commands = sent(stream, n_steps)
    order = data.draw(st.permutations(list(commands)))
    passed = {xid: [later for later in order[:place] if later > xid] for place, xid in enumerate(order)}
    assert reordered(order) == sum(bool(later) for later in passed.values())
    wrong = [xid for xid, later in passed.items() if any(conflict(commands[xid], commands[each]) for each in later)]
    assert violations(commands, order) == len(wrong)
    assert violations(commands, sorted(order)) == reordered(sorted(order)) == 0


@pytest.mark.parametrize("stream", STREAMS)
def test_commands_are_numbered_in_their_order_and_have_the_class_that_they_say(stream) -> None:
    commands, classifier = sent(stream, 3), Classifier(parse_pmt((REPOSITORY / PMT).read_text(encoding="utf-8")))
    assert list(commands) == sorted(commands)
    assert min(commands) >= FIRST_XID
    for each in commands.values():
        if each.kind is not None:
            assert classifier.classify(each.message).class_id == CLASS_IDS[each.kind]
    for kind in (PACKET_OUTS, FLOW_MODS):
        assert {classifier.classify(each).class_id for each in flood(kind)} == {CLASS_IDS[LOW]}


@pytest.mark.parametrize("stream", STREAMS)
def test_what_must_keep_its_order_here_depends_on_each_other_for_pso_too(stream) -> None:
    own = [each for each in sent(stream, 3).values() if each.kind is not None]
    pairs = [(one, other) for place, one in enumerate(own) for other in own[place + 1 :]]
    assert all(overlap(one, other) for one, other in pairs if conflict(one, other))
    assert any(conflict(one, other) for one, other in pairs) == (stream in (DEPENDENT, ACROSS))


def test_floods_have_messages_of_one_length() -> None:
    assert {len(each) for kind in (PACKET_OUTS, FLOW_MODS) for each in flood(kind)} == {FLOOD_BYTES}
    assert flood(NONE) == []


def barriers(*xids: int) -> list[Taken]:
    return [Taken(float(at), MsgType.BARRIER_REQUEST, xid, 8) for at, xid in enumerate(xids)]


@pytest.mark.parametrize(
    ("xids", "count"),
    [
        ((), 0),
        ((LAST_XID,), 0),
        ((7, 8, LAST_XID), 0),  # for the barrier behind the stream
        ((7, FIRST_XID, 8, LAST_XID), 1),
        ((7, PSO_XID, 8, 9, FIRST_XID, LAST_XID), 4),
    ],
)
def test_barriers_of_pso_are_those_of_the_app_and_of_its_end_left_out(xids, count) -> None:
    assert extra_barriers(barriers(*xids), 0.0) == count


def test_barriers_before_the_stream_do_not_count() -> None:
    assert extra_barriers(barriers(7, PSO_XID, 8, FIRST_XID, LAST_XID), 2.0) == 1


def test_times_are_those_between_sending_and_taking_or_the_barriers_reply() -> None:
    xids = list(step(BARRIERS, 0))
    report = Report(dict(zip(xids, (0.0, 0.001, 0.1, 0.101), strict=True)), {xids[1]: 0.05}, 0.0, 1.0)
    taken = [
        Taken(0.02, MsgType.FLOW_MOD, xids[0], 100),
        Taken(0.03, MsgType.BARRIER_REQUEST, xids[1], 8),
        Taken(0.5, MsgType.PACKET_OUT, 0, 892),
        Taken(2.0, MsgType.PACKET_OUT, 0, 1000),
    ]
    found = summed_up(BARRIERS, report, taken)
    assert (found.sent, found.not_taken, found.barriers, found.violations) == (2, 1, 2, 0)
    assert found.effect[HIGH.name].p50_ms == 20.0
    assert found.confirmed[HIGH.name].p50_ms == 50.0
    assert found.effect[LOW.name].count == found.confirmed[LOW.name].count == 0
    assert found.to_switch_mbps == 0.008


@pytest.mark.emulation
@pytest.mark.ryu
@pytest.mark.parametrize(("stream", "beside"), [(ACROSS, FLOW_MODS), (BARRIERS, PACKET_OUTS)])
def test_commands_beside_a_flood_are_taken_in_an_order_that_keeps_dependences(stream, beside, tmp_path) -> None:
    link = replace(LINK_PARAMETERS, warm_up_s=0.3)
    own = CommandsParameters(stream, beside, 1.2, 20.0, 0.5, link, PMT)
    found = measure_commands(own, 1, tmp_path / "report.json")
    assert found.sent > 0
    assert found.not_taken == found.violations == 0
    assert found.barriers == (found.sent if stream == BARRIERS else 0)
    assert found.warnings == ()
