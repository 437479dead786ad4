"""Checks of a PMT's rules together: what can never be reached, what outranks control; notes on the rest."""

from __future__ import annotations

from ryu_apps.pmt.document import Place
from ryu_apps.pmt.prerequisites import covers
from ryu_apps.pmt.rules import (
    CopyDscp,
    DataDscp,
    PolicyMapTable,
    Rule,
    SetDscp,
    ToQueue,
    TrafficType,
)
from ryu_apps.pmt.scheduling import SchedulerKind

_LEAST_FREE = 0.01
_NAMES = {
    TrafficType.CONFIGURATION: "configuration and symmetric messages",
    TrafficType.COMMAND: "packet-in, packet-out and other command messages",
    TrafficType.OTHER: "other OpenFlow messages",
    TrafficType.DATA: "data packets",
}


def check_table(table: PolicyMapTable, source: str) -> None:
    """Refuse rules that contradict each other.

    Raises
    ------
    PmtError
        A rule that an earlier one hides, queues mixed with DSCPs, data that would outrank control.
    """
    for number, rule in enumerate(table.rules):
        place = Place(source, rule.line)
        _check_kind(table.rules[0], rule, place)
        _check_hidden(table.rules[:number], rule, place)
        if rule.traffic_type is TrafficType.DATA:
            _check_data(table, rule, place)


def _check_kind(first: Rule, rule: Rule, place: Place) -> None:
    if isinstance(first.action, ToQueue) != isinstance(rule.action, ToQueue):
        raise place.error(
            f"action {rule.action} stands beside {first.action} of line {first.line}, and queues and DSCPs have no "
            "common order; use queue_id in all rules, or dscp in all"
        )


def _check_hidden(earlier: tuple[Rule, ...], rule: Rule, place: Place) -> None:
    for number, other in enumerate(earlier, 1):
        if other.traffic_type is rule.traffic_type and covers(other.match, rule.match):
            raise place.error(
                f"this rule ({rule.action}) can never match: rule {number} of line {other.line} ({other.action}) "
                "matches all of it first; put it above that rule or remove it"
            )


def _check_data(table: PolicyMapTable, rule: Rule, place: Place) -> None:
    if isinstance(rule.action, ToQueue):
        queues = [each.action.queue_id for each in table.classes if isinstance(each.action, ToQueue)]
        if queues and rule.action.queue_id <= max(queues):
            raise place.error(
                f"data in {rule.action} would be served before or with control in queue_id:{max(queues)}; "
                f"use queue_id:{max(queues) + 1} or more"
            )
        return
    lowest = table.lowest_control_selector
    if lowest is None:
        return
    if lowest == 0:
        raise place.error(
            f"data with action {rule.action} cannot stay below control in dscp:CS0; mark control CS1 or more"
        )
    if isinstance(rule.action, CopyDscp) and table.data_dscp is None:
        raise place.error(
            f"dscp:copy lets data with DSCP {lowest << 3} or more outrank control (CS{lowest}); say what happens "
            f"to it: data_dscp: {DataDscp.REFUSE.value} or data_dscp: {DataDscp.RE_MARK.value} at the top of the file"
        )
    outranks = isinstance(rule.action, SetDscp) and rule.action.selector >= lowest
    if outranks and table.data_dscp is not DataDscp.RE_MARK:
        raise place.error(
            f"data with action {rule.action} would outrank control in dscp:CS{lowest}; use dscp:CS{lowest - 1} or "
            f"less, or data_dscp: {DataDscp.RE_MARK.value} at the top of the file"
        )


def notes(table: PolicyMapTable) -> tuple[str, ...]:
    """What a user should know about a table that is no mistake: one sentence each."""
    if not table.rules:
        return ("no rules: all traffic is treated equally, as by plain OpenFlow",)
    found = []
    for traffic_type, name in _NAMES.items():
        own = [rule for rule in table.rules if rule.traffic_type is traffic_type]
        if not any(not rule.match for rule in own):
            which = "none of the" if not own else "not all"
            found.append(
                f"traffic type {int(traffic_type)}: the rules match {which} {name}; the rest is treated equally, "
                "after every class of the table"
            )
    guaranteed = sum(table.class_shares.values()) if table.scheduler.kind is SchedulerKind.MIN_RATE else 0.0
    if guaranteed > 1 - _LEAST_FREE:
        found.append(
            f"guaranteed shares add up to {100 * guaranteed:g} %: classes without one may wait for ever, even echoes "
            "of the main connection, by which a switch notices its controller"
        )
    lowest = table.lowest_control_selector
    if lowest and table.data_dscp is DataDscp.RE_MARK:
        found.append(f"data with a DSCP of CS{lowest} ({lowest << 3}) or more is re-marked to CS{lowest - 1}")
    if lowest and table.data_dscp is None:
        found.append(f"data keeps its DSCP: on a shared link, CS{lowest} ({lowest << 3}) or more outranks control")
    if lowest and table.data_dscp is DataDscp.REFUSE:
        found.append(f"data with a DSCP of CS{lowest} ({lowest << 3}) or more is refused")
    return tuple(found)
