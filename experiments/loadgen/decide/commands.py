"""What an app sends in a trial of kind "commands", and what the order in which a switch took it comes to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from experiments.campaign.kinds.commands import (
    ACROSS,
    BARRIERS,
    DEPENDENT,
    FLOW_MODS,
    INDEPENDENT,
    PACKET_OUTS,
    CommandsMeasured,
    Median,
)
from experiments.loadgen.decide.ledger import delays_of
from experiments.loadgen.decide.load import HIGH, LOW, PacketClass
from experiments.loadgen.decide.packets import FIRST_PROBE, frame
from ryu_apps.openflow import encode
from ryu_apps.openflow.wire import MsgType
from ryu_apps.plan.rows import Action, Bucket, FlowRow, Group, GroupRow, Output, match

SETTINGS = "ARMOR_COMMANDER"  # environment variable of the app
# PSO's per-class connections number their own messages from 1, its main connection from 0xF5000000: neither comes here.
LAST_XID = 1 << 16  # of the barrier behind the stream
FIRST_XID = LAST_XID + 1
FLOOD_BYTES = 504
_MOST_OF_A_STEP = 4
_PRIORITY, _GROUP_PRIORITY, _FLOOD_PRIORITY = 10, 11, 5
_FLOOD_ENTRIES, _FLOOD_PORT, _FIRST_PORT = 1000, 40_000, 1024
_AROUND_A_FRAME, _AROUND_ACTIONS, _AN_ACTION = 40, 88, 16  # bytes of a packet-out, and of a flow-mod with UDP ports


@dataclass(frozen=True, slots=True)
class Command:
    """A message of the app.

    Attributes
    ----------
    message
        Bytes, without its transaction id.
    touches
        Names of what it reads or changes: commands that touch the same must keep their order.
    kind
        Class of its entry, by which a Policy Map Table tells it; None for a barrier.
    """

    message: bytes
    touches: frozenset[str]
    kind: PacketClass | None


class Taken(NamedTuple):
    """A message that the switch took: when (s), its type, transaction id and length in bytes."""

    at_s: float
    msg_type: int
    xid: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    """What the app reports: instants of a clock (s) by transaction id, and those of the stream's start and end."""

    sent_s: Mapping[int, float]
    replied_s: Mapping[int, float]
    start_s: float
    end_s: float


def _entry(number: int, kind: PacketClass, action: Action, priority: int = _PRIORITY) -> FlowRow:
    own = match(eth_type=0x0800, ip_proto=17, udp_src=_FIRST_PORT + number, udp_dst=kind.udp_dst)
    return FlowRow(0, priority, own, (action,))


def _add(number: int, kind: PacketClass) -> Command:
    return Command(encode.flow_add(_entry(number, kind, Output(1))), frozenset({f"{kind.name} {number}"}), kind)


def _modify(number: int, kind: PacketClass) -> Command:
    return Command(encode.flow_modify(_entry(number, kind, Output(2))), frozenset({f"{kind.name} {number}"}), kind)


def _barrier(_number: int) -> Command:
    return Command(encode.barrier_request(), frozenset(), None)


def _group(number: int) -> Command:
    row = GroupRow(number, "indirect", (Bucket((Output(1),)),))
    return Command(encode.group_add(row), frozenset({f"group {number}"}), LOW)


def _use_group(number: int) -> Command:
    added = encode.flow_add(_entry(number, HIGH, Group(number), _GROUP_PRIORITY))
    return Command(added, frozenset({f"group {number}", f"user {number}"}), HIGH)


def _delete(number: int) -> Command:
    """Of both entries, by a match that does not name the class."""
    both = match(eth_type=0x0800, ip_proto=17, udp_src=_FIRST_PORT + number)
    deleted = encode.flows_delete_by_cookie(0, 0, 0, match=both)
    return Command(deleted, frozenset({f"{HIGH.name} {number}", f"user {number}"}), LOW)


_STEPS: dict[str, tuple[Callable[[int], Command], ...]] = {
    INDEPENDENT: (lambda number: _add(number, HIGH), lambda number: _add(number, LOW)),
    DEPENDENT: (
        lambda number: _add(number, HIGH),
        lambda number: _modify(number, HIGH),
        lambda number: _add(number, LOW),
        lambda number: _modify(number, LOW),
    ),
    ACROSS: (lambda number: _add(number, HIGH), _group, _use_group, _delete),
    BARRIERS: (lambda number: _add(number, HIGH), _barrier, lambda number: _add(number, LOW), _barrier),
}


def step(stream: str, number: int) -> dict[int, Command]:
    """Commands of one step of a stream by transaction id, in the order in which the app sends them."""
    first = FIRST_XID + number * _MOST_OF_A_STEP
    return {first + place: make(number) for place, make in enumerate(_STEPS[stream])}


def flood(kind: str) -> list[bytes]:
    """Messages of the low class, each of `FLOOD_BYTES`, to be sent in turn; none for no flood."""
    if kind == PACKET_OUTS:
        # The number of a probe: that of the load's packet-in would answer it.
        return [encode.packet_out(frame(FIRST_PROBE, LOW, FLOOD_BYTES - _AROUND_A_FRAME), (Output(1),))]
    if kind != FLOW_MODS:
        return []
    actions = (Output(1),) * ((FLOOD_BYTES - _AROUND_ACTIONS) // _AN_ACTION)
    ports = range(_FLOOD_PORT, _FLOOD_PORT + _FLOOD_ENTRIES)
    matches = (match(eth_type=0x0800, ip_proto=17, udp_src=port, udp_dst=LOW.udp_dst) for port in ports)
    return [encode.flow_add(FlowRow(0, _FLOOD_PRIORITY, each, actions)) for each in matches]


def reordered(order: Iterable[int]) -> int:
    """Of numbers in the order of their arrival, those after a larger one (Type-P-Reordered, RFC 4737 section 3.3)."""
    largest, count = -1, 0
    for number in order:
        count += number < largest
        largest = max(largest, number)
    return count


def violations(commands: Mapping[int, Command], order: Sequence[int]) -> int:
    """Commands that came after a later one which touches the same, and those on the wrong side of a barrier.

    Parameters
    ----------
    commands
        By transaction id, which grows in the order of sending.
    order
        Transaction ids in the order in which the switch took them.
    """
    found: set[int] = set()
    latest: dict[str, int] = defaultdict(int)
    latest_barrier, latest_of_all = 0, 0
    for xid in order:
        own = commands[xid]
        after = latest_of_all if own.kind is None else max(latest_barrier, *(latest[name] for name in own.touches))
        if xid < after:
            found.add(xid)
        for name in own.touches:
            latest[name] = max(latest[name], xid)
        latest_of_all = max(latest_of_all, xid)
        if own.kind is None:
            latest_barrier = max(latest_barrier, xid)
    return len(found)


def extra_barriers(taken: Sequence[Taken], start_s: float) -> int:
    """Barriers that PSO added from an instant on, without those that the barrier behind the stream led to.

    A barrier of the main connection leaves when those that PSO added for it on other connections are answered. So what
    comes after the last one before that behind the stream belongs to the latter.
    """
    barriers = [each.xid for each in taken if each.msg_type == MsgType.BARRIER_REQUEST and each.at_s >= start_s]
    on_main = [place for place, xid in enumerate(barriers) if xid > LAST_XID]
    counted = barriers[: on_main[-1] + 1] if on_main else []
    return sum(not _is_of_app(xid) for xid in counted)


def _is_of_app(xid: int) -> bool:
    return LAST_XID <= xid < 0xF5000000


def summed_up(stream: str, report: Report, taken: Sequence[Taken]) -> CommandsMeasured:
    """What a trial comes to, without what its testbed adds."""
    n_steps = 1 + max((xid - FIRST_XID for xid in report.sent_s), default=-1) // _MOST_OF_A_STEP
    made = {xid: each for number in range(n_steps) for xid, each in step(stream, number).items()}
    commands = {xid: each for xid, each in made.items() if xid in report.sent_s}
    at_s = {each.xid: each.at_s for each in taken if each.xid in commands}
    order = [each.xid for each in taken if each.xid in commands]
    own = {xid: each for xid, each in commands.items() if each.kind is not None}
    effects = {xid: at_s[xid] - report.sent_s[xid] for xid in own if xid in at_s}
    confirmed = {xid: report.replied_s[xid + 1] - report.sent_s[xid] for xid in own if xid + 1 in report.replied_s}
    in_window = sum(each.n_bytes for each in taken if report.start_s <= each.at_s < report.end_s)
    return CommandsMeasured(
        sent=len(own),
        not_taken=len(own) - len(effects),
        effect=_medians(own, effects),
        confirmed=_medians(own, confirmed),
        violations=violations(commands, order),
        reordered=reordered(xid for xid in order if xid in own),
        barriers=len(commands) - len(own),
        extra_barriers=extra_barriers(taken, report.start_s),
        to_switch_mbps=round(8e-6 * in_window / (report.end_s - report.start_s), 4),
    )


def _medians(commands: Mapping[int, Command], times_s: Mapping[int, float]) -> dict[str, Median]:
    found = {}
    for kind in (HIGH, LOW):
        delays = delays_of(np.array([1000 * each_s for xid, each_s in times_s.items() if commands[xid].kind == kind]))
        count = sum(commands[xid].kind == kind for xid in times_s)
        found[kind.name] = Median(count, delays.p50_ms, delays.p90_ms)
    return found
