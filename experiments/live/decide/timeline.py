"""What happened when: failures, what was measured of each, and what a pair's packets did meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from experiments.analysis.events import Event
from experiments.live.decide.document import EventView, FailureView, Span
from experiments.live.decide.log import Log
from experiments.scenario.failure import Failure
from mininet_topos.topology import LinkId, Topology
from mininet_topos.wording import counted

Json = Mapping[str, Any]
# The verdict's rounding (microseconds) and a controller that has removed the last row a moment before it says so.
_SLACK_MS = 1.0
_STAGES = {
    "detect": "a switch beside it detects the failure",
    "switch_over": "the first rows or packets leave the usual route",
    "first_good": "every stream's packets arrive again",
    "last_lost": "the last lost packet leaves its host",
    "last_crankback": "the last packet crosses a link backwards",
    "steady": "nothing is lost and nothing backtracks any more",
}


def zero_of(results: Sequence[Json], events: Iterable[Event]) -> float | None:
    """The run's zero on the clock of its events (CLOCK_MONOTONIC, seconds): the first failure is stamped on both.

    Parameters
    ----------
    results
        `failures` of a run in verdict.json.
    """
    first = {(str(each["what"])): float(each["failure_s"]) for each in reversed(results)}
    for event in events:
        at_s = first.get(str(event.fields.get("target"))) if event.name == "inject" else None
        if at_s is not None and event.fields.get("live") is False:
            return float(event.fields.get("before_s", event.t_s)) - at_s
    return None


def failure_view(failure: Failure, result: Json, log: Log) -> FailureView:
    """One failure: its entry in verdict.json, and what the log says of its end."""
    start_ms = 1000 * float(result["failure_s"])
    topology = log.topology
    links = tuple(str(link) for link in topology.link_ids if link in failure.links_down(topology))
    down = _intervals(failure, start_ms)
    stages = {name: start_ms + value for name, value in result["stages_ms"].items() if value is not None}
    repaired_ms = down[-1][1]
    return FailureView(
        name=str(result["what"]),
        kind=str(result["kind"]),
        links=links,
        nodes=tuple(failure.failed_nodes),
        down=down,
        returned_ms=None if repaired_ms is None else _returned_ms(repaired_ms, log, links),
        stages=stages,
        notified=_notified(result.get("notification"), start_ms, stages),
        lost=int(result["lost"] or 0),  # runs that measure flows do not follow packets
        backtracked=int(result["backtracked"] or 0),
        outage_ms=float(result["outage_ms"] or 0.0),
        has_recovered=bool(result.get("recovered", True)),
    )


def _intervals(failure: Failure, start_ms: float) -> tuple[tuple[float, float | None], ...]:
    """When it was down: the planned steps, moved so that the first is where it was measured."""
    shift_ms = start_ms - 1000 * failure.at_s
    steps = [(1000 * step.at_s + shift_ms, step.live) for step in failure.steps]
    intervals: list[tuple[float, float | None]] = []
    for (at_ms, live), (next_ms, _) in pairwise([*steps, (None, True)]):
        if not live and at_ms is not None:
            intervals.append((at_ms, next_ms))
    return tuple(intervals)


def _returned_ms(repaired_ms: float, log: Log, links: Sequence[str]) -> float:
    """When the last row about the links was removed.

    Schemes without a return use a link again once its sessions are up: when the last of its ends first reports that.
    Where nobody reports anything, the repair.
    """
    later = [] if log.zero_s is None else [each for each in log.events if log.ms(each) >= repaired_ms - _SLACK_MS]
    returns = [event for event in later if event.name == "return_done"]
    ends = [log.ms(event) for event in returns if set(links) & set(map(str, event.fields.get("links", ())))]
    ups: dict[object, float] = {}
    for event in later:
        if event.name == "port_status" and event.fields.get("live") and log.link_of(event) in links:
            ups.setdefault((event.fields["node"], event.fields["port_no"]), log.ms(event))
    return max(ends or ups.values(), default=repaired_ms)


def _notified(known: Json | None, start_ms: float, stages: Mapping[str, float]) -> dict[str, float]:
    if known is None:
        return {}
    since_ms = stages.get("detect", start_ms) if known["since"] == "detection" else start_ms
    return {str(node): since_ms + value for node, value in known["knew_ms"].items() if value is not None}


def event_views(log: Log, failures: Sequence[FailureView]) -> tuple[EventView, ...]:
    """All that happened from the run's zero on, in order: failures with their stages, and lines of the log."""
    found = [view for failure in failures for view in _of_failure(log.topology, failure)]
    if log.zero_s is not None:
        logged = (_of_log(event, log.ms(event)) for event in log.events)
        found += [view for view in logged if view is not None and view.t_ms >= 0]
    return tuple(sorted(found, key=lambda view: (view.t_ms, view.kind, view.node)))


def _of_failure(topology: Topology, failure: FailureView) -> list[EventView]:
    found = [EventView(start, "fail", f"{failure.name} fails ({failure.kind})") for start, _ in failure.down]
    found += [EventView(end, "repair", f"{failure.name} is repaired") for _, end in failure.down if end is not None]
    found += [EventView(at, name, f"{failure.name}: {_STAGES[name]}") for name, at in failure.stages.items()]
    order = topology.index_of
    found += [
        EventView(at, "notified", f"{node} knows that {failure.name} has failed", node)
        for node, at in sorted(failure.notified.items(), key=lambda item: (item[1], order[item[0]]))
    ]
    return found


_LOGGED = {
    "agent_release": "the agent of {node} sends on {packets}",
    "connect": "{node} connects to the controller",
    "disconnect": "{node} loses the controller",
    "return_begin": "the controller returns routes of {links}",
    "return_done": "the usual routes of {links} are back",
}


def _of_log(event: Event, t_ms: float) -> EventView | None:
    node = str(event.fields.get("node", ""))
    if event.name == "agent_install":
        rows, deleted = (int(event.fields.get(name, 0)) for name in ("rows", "deleted"))
        removed = f", removes {deleted}" if deleted else ""
        cause = event.fields.get("cause")
        reason = f" ({cause})" if cause else ""
        text = f"the agent of {node} installs {counted(rows, 'row')}{removed}{reason}"
        return EventView(t_ms, event.name, text, node, rows - deleted)
    if event.name == "port_status" and not event.fields.get("is_first"):
        state = "up" if event.fields.get("live") else "down"
        text = f"{node} reports port {event.fields.get('port_no')} {state} ({event.source.partition(':')[0]})"
        return EventView(t_ms, f"port_{state}", text, node)
    if event.name == "return_done" and "link" in event.fields:
        return EventView(t_ms, event.name, f"the agent of {node} uses {event.fields['link']} again", node)
    pattern = _LOGGED.get(event.name)
    if pattern is None:
        return None
    links = ", ".join(map(str, event.fields.get("links", ())))
    packets = counted(int(event.fields.get("packets", 1)), "packet")
    return EventView(t_ms, event.name, pattern.format(node=node, links=links, packets=packets), node)


def spans(
    begin_ms: float, steps: Sequence[tuple[FailureView, Json | None]], order: Sequence[LinkId]
) -> tuple[Span, ...]:
    """What one pair's packets do, from event to event.

    Parameters
    ----------
    steps
        Each failure, and the pair's row of it in rows.jsonl; None: no packet of the pair was followed.
    order
        The topology's links.
    """
    changes = _changes([failure for failure, _ in steps])
    ends_ms = [*(at_ms for at_ms, _, _ in changes[1:]), float("inf")]
    found = [Span(begin_ms, (), "usual")]
    down: set[int] = set()
    for (at_ms, number, is_end), end_ms in zip(changes, ends_ms, strict=False):  # without changes nothing ends
        before = found[-1].failed
        (down.discard if is_end else down.add)(number)
        names = {name for each in down for name in steps[each][0].links}
        after = tuple(str(link) for link in order if str(link) in names)
        recovery = _recovery(at_ms, before, after, None if is_end else steps[number][1])
        # A recovery that is not over when the next change comes stays unfinished.
        found += [span for span in recovery if span.from_ms == at_ms or span.from_ms < end_ms]
    return tuple(found)


def _changes(failures: Sequence[FailureView]) -> list[tuple[float, int, bool]]:
    """(time, failure, whether it is over) in order of time."""
    begins = [(failure.down[0][0], number, False) for number, failure in enumerate(failures)]
    returns = [(each.returned_ms, number, True) for number, each in enumerate(failures) if each.returned_ms is not None]
    return sorted((*begins, *returns))


def _recovery(at_ms: float, before: tuple[str, ...], after: tuple[str, ...], row: Json | None) -> list[Span]:
    """The spans that one change begins; `row` says what was measured of a failure."""
    last = Span(at_ms, after, "settled" if after else "usual")
    if row is None or not row.get("is_affected"):
        return [last]
    stamps = {name: row.get(f"{name}_ms") for name in ("first_switchover", "last_crankback", "first_good")}
    found = [Span(at_ms, before, "broken")]
    turn = stamps["first_switchover"] if stamps["first_switchover"] is not None else stamps["first_good"]
    settled = stamps["last_crankback"] if stamps["last_crankback"] is not None else turn
    if turn is not None and stamps["last_crankback"] is not None:
        found.append(Span(at_ms + min(turn, settled), after, "backtracking"))
    if settled is not None:
        found.append(Span(at_ms + settled, after, last.phase))
    return found
