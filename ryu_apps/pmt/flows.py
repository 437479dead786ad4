"""A PMT as flow entries of stock Open vSwitch: each packet that nobody has a rule for goes to its class's connection.

A packet-in reaches the connection whose id (NXT_SET_CONTROLLER_ID) its `controller` action names; the rules of
traffic type 2 say which. All other messages belong to a connection, not to a flow: `limits` says so.
"""

from __future__ import annotations

from itertools import product

from ryu_apps.plan.fields import FIELDS
from ryu_apps.plan.ids import Kind, Owner, Priority, Table, cookie
from ryu_apps.plan.rows import Controller, FlowRow, Match, sorted_flows
from ryu_apps.pmt.fields import PMT_FIELDS
from ryu_apps.pmt.rules import UNMATCHED_CLASS, Carried, PmtError, PolicyMapTable, Rule, TrafficType

_FIRST_PRIORITY = Priority.MISS + 1


def punt_rows(table: PolicyMapTable, table_id: int = Table.CLASSIFY) -> tuple[FlowRow, ...]:
    """Flow entries that send packets to the controller, each on the connection of its class.

    They stand between table miss and every other band, so that they meet only packets that nothing else takes.
    A packet that no rule matches goes to the connection of `UNMATCHED_CLASS`, as by plain OpenFlow.

    Parameters
    ----------
    table_id
        Flow table whose misses are sent.

    Returns
    -------
    In canonical order. The cookie says PSO, and holds the class id in the place of the tag id.

    Raises
    ------
    PmtError
        A rule matches on a field that flow entries of Armor cannot hold, or there are too many rules.
    """
    rules = [rule for rule in table.rules if rule.traffic_type is TrafficType.COMMAND]
    if _FIRST_PRIORITY + len(rules) > Priority.PUNT:
        raise PmtError(
            f"{len(rules)} rules of traffic type 2 do not fit below priority {int(Priority.PUNT)}; merge some"
        )
    class_ids = table.class_ids
    rows = [_row(table_id, Priority.MISS, (), UNMATCHED_CLASS)]
    for rank, rule in enumerate(reversed(rules)):
        matches = _flow_matches(rule)
        rows += [_row(table_id, _FIRST_PRIORITY + rank, match, class_ids[rule.action]) for match in matches]
    return sorted_flows(rows)


def limits(table: PolicyMapTable) -> tuple[str, ...]:
    """What stock Open vSwitch does not do of a table: one sentence each, for its user."""
    found = []
    if any(rule.traffic_type is TrafficType.CONFIGURATION for rule in table.rules):
        found.append(
            "traffic type 1: echoes, errors and replies go out on the connection that they belong to, with its mark; "
            "a flow entry cannot move them"
        )
    is_on_main = Carried.NOTIFICATIONS not in table.by_class
    if is_on_main and any(rule.traffic_type is TrafficType.OTHER for rule in table.rules):
        found.append(
            "traffic type 3: port status and flow removed messages stay on the main connection, with its mark, since "
            "none may be lost; their class counts in the controller"
        )
    if any(rule.traffic_type is TrafficType.DATA for rule in table.rules):
        found.append(
            "traffic type 4: data is put into queues on the links that it shares with control, not by these rows"
        )
    return tuple(found)


def _row(table_id: int, priority: int, match: Match, class_id: int) -> FlowRow:
    owner = cookie(Owner.PSO, Kind.PLANNED, tag_id=class_id)
    return FlowRow(table_id, priority, match, (Controller(class_id),), cookie=owner)


def _flow_matches(rule: Rule) -> list[Match]:
    """Matches with every prerequisite: a rule that leaves open whether it means IPv4 or IPv6 becomes two."""
    held = {name: (value, mask) for name, value, mask in rule.match}
    unknown = [name for name in held if name not in FIELDS]
    if unknown:
        raise PmtError(
            f"the rule for {rule.action} (line {rule.line}) matches {unknown[0]}, which flow entries of Armor "
            f"cannot hold; match on others: {', '.join(name for name in PMT_FIELDS if name in FIELDS)}"
        )
    needs = (need for name in held for need in PMT_FIELDS[name].needs)
    open_values = {needed: values for needed, values in needs if needed not in held}
    choices = product(*([(name, value, None) for value in values] for name, values in sorted(open_values.items())))
    return [tuple(sorted((*rule.match, *choice))) for choice in choices]
