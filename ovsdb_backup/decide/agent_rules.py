"""Which rows the agent wants: rule grabber and rule changer (SD-FAST Algorithm 1), pure.

What the agent wants is a function of three things: the plan, the failed ports, and the failed sets that punted
packets have named. Nothing is remembered that could go stale on its own: when a port returns or a set is
forgotten, the rows that are wanted are worked out again, and the difference is what changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ovsdb_backup.decide.agent_types import (
    OUTDATED_TAG_TIMEOUT_S,
    AgentAction,
    AgentState,
    ChangeRows,
    Log,
    PortHealth,
    Result,
    Rules,
)
from ovsdb_backup.decide.backup_index import BackupIndex
from ovsdb_backup.decide.liveness import DOWN
from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.ids import Kind, Priority, Table, cookie, split_cookie
from ryu_apps.plan.notification import heard_row
from ryu_apps.plan.recovery_rows import OWNER, commodity_match, deliver_seen_row, tagged_row, untagged_row
from ryu_apps.plan.rows import BackupRow, FlowRow
from te_solver.commodity import Commodity

NO_RULES: Mapping[int, FlowRow] = {}
NO_TAGS: frozenset[int] = frozenset()
HEARD = Commodity(0)
"""Stands for notifications among commodities: S holds the failed sets that they named, `rules` what drops them."""


def rule_grabber(
    index: BackupIndex, commodity: Commodity, tag_id: int, down: frozenset[int], held: frozenset[int]
) -> BackupRow | None:
    """The rule grabber: the backup row for packets that know of a failed set.

    A row whose port is down leads to the row of the larger set with that port's link added, and so on.
    Ports that are up but not trusted yet are avoided if that leaves a way, else used.

    Returns
    -------
    A row whose port is live; None when no planned row has one.
    """
    return _grab(index, commodity, tag_id, down | held) or (_grab(index, commodity, tag_id, down) if held else None)


def untagged_grabber(state: AgentState, commodity: Commodity) -> BackupRow | None:
    """The rule grabber for untagged packets: they avoid what notifications name too, as long as that leaves a way.

    What the switch knows of it does not matter to packets of a full set: they keep the links that they met first.
    """
    down, held = state.down_ports, state.held_ports
    heard = links_heard(state)
    for avoided in (down | held, down) if heard else ():
        own = sum(1 << state.index.link_of_port[port_no] for port_no in avoided & state.index.link_of_port.keys())
        row = _grab(state.index, commodity, state.index.collected(commodity, heard | own), avoided)
        if row is not None:
            return row
    return rule_grabber(state.index, commodity, NO_TAG, down, held)


def links_heard(state: AgentState) -> int:
    """Mask of the failed links that notifications name."""
    mask = 0
    for tag_id in state.known.get(HEARD, NO_TAGS):
        mask |= state.index.sets.masks[tag_id]
    return mask


def concerned(state: AgentState, failed: int) -> set[Commodity]:
    """Commodities whose rows may depend on links (a mask) elsewhere: those that cross one, and what is diverted."""
    crossing = (names for number, names in state.index.crossing.items() if failed >> number & 1)
    return {HEARD, *state.rules}.union(*crossing)


def _grab(index: BackupIndex, commodity: Commodity, tag_id: int, avoided: frozenset[int]) -> BackupRow | None:
    row = index.row(commodity, tag_id)
    while row is not None and row.out_port in avoided:
        larger = index.larger_tag(row.tag_id, row.out_port)
        # A set that does not grow would loop for ever: such a plan has no row for us.
        row = index.row(commodity, larger) if larger is not None and larger > row.tag_id else None
    return row


def rule_changer(
    commodity: Commodity, grabbed: Mapping[int, BackupRow | None], hard_timeout_s: int
) -> dict[int, FlowRow]:
    """The rule changer, Algorithm 1: flow rows for the grabbed backup rows of one commodity.

    Lines 2-8 (set the status of the packet: crankback if the rule leads back out of the side that the primary
    comes from, else recovered) were done by the planner: `BackupRow.status`. At the destination the paper pushes
    no status on the reverse path; here every diverted packet carries its set, or it could loop.

    Parameters
    ----------
    grabbed
        Backup row by the tag id that packets come with (0: untagged); None: no way is left, so they are dropped
        here instead of being punted for ever.
    hard_timeout_s
        Life of the rows (0: until removed).

    Returns
    -------
    By the tag id that packets come with. Of two rows for one tag id, the one that knows more remains.
    """
    changed: dict[int, FlowRow] = {}
    for tag_id, backup in grabbed.items():
        _keep(changed, tag_id, _row(commodity, tag_id, backup, hard_timeout_s))
        if backup is not None and tag_id != NO_TAG:
            others = (NO_TAG,) * backup.crosses + backup.replaces
            for other in others:
                _keep(changed, other, _row(commodity, other, backup, hard_timeout_s))
    return changed


def _row(commodity: Commodity, tag_id: int, backup: BackupRow | None, hard_timeout_s: int) -> FlowRow:
    """Line 9: the row for packets that come with a tag id; one that drops them when no way is left."""
    if backup is None:
        return _drop_row(commodity, tag_id, hard_timeout_s)
    if tag_id == NO_TAG:
        return untagged_row(backup, hard_timeout_s)
    return tagged_row(backup, tag_id, hard_timeout_s)


def _keep(changed: dict[int, FlowRow], tag_id: int, row: FlowRow) -> None:
    """Sets are numbered by size, so the larger id never knows less: that alone decides, whatever came first."""
    present = changed.get(tag_id)
    if present is None or split_cookie(present.cookie).tag_id < split_cookie(row.cookie).tag_id:
        changed[tag_id] = row


def _drop_row(commodity: Commodity, tag_id: int, hard_timeout_s: int) -> FlowRow:
    return FlowRow(
        Table.ROUTE,
        Priority.RECOVERY,
        commodity_match(*commodity, tag_id),
        cookie=cookie(OWNER, Kind.AGENT, tag_id, commodity.destination),
        hard_timeout_s=hard_timeout_s,
        send_flow_removed=True,
    )


def wanted_rules(state: AgentState, commodity: Commodity) -> dict[int, FlowRow]:
    """Rows of one commodity that the switch should hold now, by the tag id that they match."""
    known = state.known.get(commodity, NO_TAGS)
    outdated = state.outdated.get(commodity, NO_TAGS) - known
    if commodity == HEARD:
        lives = {**dict.fromkeys(outdated, OUTDATED_TAG_TIMEOUT_S), **dict.fromkeys(known, state.hard_timeout_s)}
        return {tag_id: heard_row(tag_id, life_s) for tag_id, life_s in lives.items()}
    if commodity.destination in state.index.local_ipv4:
        lives = {**dict.fromkeys(outdated, OUTDATED_TAG_TIMEOUT_S), **dict.fromkeys(known, state.hard_timeout_s)}
        source = commodity.source or 0
        return {tag: deliver_seen_row(tag, source, commodity.destination, life_s) for tag, life_s in lives.items()}
    down, held = state.down_ports, state.held_ports
    grabbed = {tag_id: rule_grabber(state.index, commodity, tag_id, down, held) for tag_id in sorted(known)}
    untagged = untagged_grabber(state, commodity)
    if untagged is not None and untagged.tag_id != NO_TAG:
        grabbed[NO_TAG] = untagged
    rules = rule_changer(commodity, grabbed, state.hard_timeout_s)
    for tag_id in outdated:
        passing = rule_grabber(state.index, commodity, tag_id, down, held)
        rules.setdefault(tag_id, _row(commodity, tag_id, passing, OUTDATED_TAG_TIMEOUT_S))
    return rules


def change_rules(state: AgentState, commodities: Iterable[Commodity]) -> tuple[AgentState, ChangeRows | None]:
    """Bring the rows of some commodities to what is wanted; None when they are."""
    return apply_rules(state, {commodity: wanted_rules(state, commodity) for commodity in commodities})


def apply_rules(state: AgentState, wanted: Rules) -> tuple[AgentState, ChangeRows | None]:
    """Bring the rows of the commodities in `wanted` to exactly those given."""
    install: list[FlowRow] = []
    delete: list[FlowRow] = []
    rules = dict(state.rules)
    removing = dict(state.removing)
    for commodity, rows in wanted.items():
        present = rules.pop(commodity, NO_RULES)
        install += [row for tag_id, row in rows.items() if present.get(tag_id) != row]
        for tag_id in present.keys() - rows.keys():
            delete.append(present[tag_id])
            notice = (commodity, tag_id, present[tag_id].cookie)
            removing[notice] = removing.get(notice, 0) + 1
        if rows:
            rules[commodity] = rows
    if not install and not delete:
        return state, None
    changed = replace(state, rules=rules, removing=removing, version=state.version + 1)
    return changed, ChangeRows(tuple(install), tuple(delete))


def touched_by(state: AgentState, port_no: int) -> set[Commodity]:
    """Commodities whose rows may depend on a port: f of the paper's O(f log R), and what is diverted already."""
    touched = {*state.index.primaries.get(port_no, ()), *state.rules, *state.known, *state.outdated}
    return touched | state.index.commodities if HEARD in touched else touched


def touched_by_return(state: AgentState) -> set[Commodity]:
    """Commodities for which a port that is up again may open a path: those that any failed port stopped or diverted."""
    return set().union(*(touched_by(state, port_no) for port_no in state.unused_ports), state.rules)


def fail_port(state: AgentState, port_no: int) -> AgentState:
    """The state as it would be if a port failed now, rows apart."""
    health = PortHealth(DOWN)
    return believe_outdated(replace(state, ports={**state.ports, port_no: health}), port_no)


def believe_outdated(state: AgentState, port_no: int) -> AgentState:
    """A port has failed: tags that named its link were not out of date after all."""
    if not state.outdated:
        return state
    tags = state.index.tags_of_port.get(port_no, NO_TAGS)
    down = state.unused_ports
    known, outdated = dict(state.known), dict(state.outdated)
    for commodity, held_back in state.outdated.items():
        true = frozenset(tag for tag in held_back & tags if not state.index.holds_live_link(tag, down))
        if true:
            known[commodity] = known.get(commodity, NO_TAGS) | true
            outdated[commodity] = held_back - true
    return replace(state, known=known, outdated={name: tags for name, tags in outdated.items() if tags})


def forget_returned(state: AgentState, ports: Iterable[int]) -> AgentState:
    """Ports are trusted again: failed sets that hold their links are no longer true."""
    if not state.known:
        return state
    gone: frozenset[int] = frozenset().union(*(state.index.tags_of_port.get(port_no, NO_TAGS) for port_no in ports))
    known = {commodity: tags - gone for commodity, tags in state.known.items()}
    return replace(state, known={commodity: tags for commodity, tags in known.items() if tags})


def rerouted(state: AgentState, touched: Iterable[Commodity], cause: str, logs: tuple[AgentAction, ...] = ()) -> Result:
    """Bring rows to what is wanted; while the switch is away there is nobody to tell."""
    if not state.is_connected:
        return state, logs
    state, change = change_rules(state, touched)
    return state, (*announced(change, cause), *logs)


def announced(change: ChangeRows | None, cause: str) -> tuple[AgentAction, ...]:
    """A change with its line in the event log."""
    if change is None:
        return ()
    counts: dict[str, str | int | bool] = {"rows": len(change.install), "deleted": len(change.delete), "cause": cause}
    return change, Log("agent_install" if change.install else "agent_remove", counts)


def log_of(event: str, state: AgentState, **fields: str | int | bool) -> Log:
    """Line in the event log; one about a port names its link."""
    port_no = fields.get("port_no")
    link = state.index.ports.get(port_no) if isinstance(port_no, int) else None
    return Log(event, fields if link is None else {**fields, "link": link})
