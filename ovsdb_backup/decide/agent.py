"""The switch-local agent as a pure function: `step(state, event, now_s) -> (state, actions)`.

`TRANSITIONS` says who answers which event, `PORTS` (agent_ports.py) how a port goes from state to state, and
`REACTIONS` what a punted packet calls for: all are to be read beside Algorithm 2 of the SD-FAST paper.

    Algorithm 2                                          here
    4    isDown(Ls) and isEmpty(S[IP])                   `PORTS`: UP or HELD to DOWN, `AgentState.rules`
    5-6  R <- RuleGrabber(); S[IP] <- RuleChanger(R, 0)  `avoid`
    7    isCbtag(P) or isRctag(P), isEmpty(S[IP])        packet_status_monitor, `AgentState.known`
    9-10 crankback: S[IP] <- RuleChanger(R, 0)           Reaction.FAILOVER
    11-13 recovered at the destination: dst <- 1, ...    Reaction.REVERSE_SWITCHOVER

S is kept per commodity and failed set, so that a second source or a second failure is not shut out, and what
it holds is forgotten when the failure is repaired: by this switch when its own port has been up for the
wait-to-restore time, by the controller that deletes a row (FLOW_REMOVED), or by the rows' time-out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from typing import Any

from ovsdb_backup.decide.agent_ports import Case, link_status_monitor, move, signal
from ovsdb_backup.decide.agent_reconcile import avoided_ports, known_from, refill, rule_of, rules_in
from ovsdb_backup.decide.agent_rules import (
    HEARD,
    NO_RULES,
    NO_TAGS,
    concerned,
    links_heard,
    log_of,
    rerouted,
    rule_grabber,
)
from ovsdb_backup.decide.agent_types import (
    AVOIDED,
    ROWS_REMOVED,
    WAIT_OVER,
    AgentAction,
    AgentState,
    ChangeRows,
    Disconnected,
    Event,
    FlowsRemoved,
    PacketIn,
    PacketStatus,
    PlanLoaded,
    PortHealth,
    PortStatus,
    ReadSwitch,
    ReleasePacket,
    Result,
    SecondSource,
    SecondSourceLost,
    SwitchRead,
    Tick,
)
from ovsdb_backup.decide.liveness import first_deadline_s
from ovsdb_backup.decide.packet import PacketFields
from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.ids import VLAN_PRESENT, Status, split_cookie
from ryu_apps.plan.notification import is_notification
from ryu_apps.plan.recovery_rows import split_tci
from ryu_apps.plan.rows import FlowRow
from te_solver.commodity import Commodity


class Reaction(Enum):
    """What a punted packet calls for."""

    DROP = "no row punts such packets"
    FAILOVER = "install the rows of its commodity and failed set, send it on (lines 9-10; recovered in transit too)"
    NOTE = "it has arrived; deliver the next ones without a copy"
    REVERSE_SWITCHOVER = "it has arrived with a new way: send replies by the reverse commodity's rows (lines 11-13)"


REACTIONS: dict[tuple[PacketStatus, bool], Reaction] = {
    # (status, at the destination)
    (PacketStatus.REGULAR, False): Reaction.DROP,
    (PacketStatus.REGULAR, True): Reaction.DROP,
    (PacketStatus.CRANKBACK, False): Reaction.FAILOVER,
    (PacketStatus.CRANKBACK, True): Reaction.NOTE,
    (PacketStatus.RECOVERED, False): Reaction.FAILOVER,
    (PacketStatus.RECOVERED, True): Reaction.REVERSE_SWITCHOVER,
}


def step(state: AgentState, event: Event, now_s: float) -> Result:
    """One event.

    Parameters
    ----------
    now_s
        Any clock that does not jump, seconds.

    Returns
    -------
    tuple of AgentState and tuple of AgentAction
        The state after it, and what to do, in order.
    """
    return TRANSITIONS[type(event)](state, event, now_s)


def next_deadline_s(state: AgentState) -> float | None:
    """When the next Tick is due; None: not before something happens."""
    return first_deadline_s(state.ports)


# ---- link-status monitor


def _port_status(state: AgentState, event: PortStatus, now_s: float) -> Result:
    return signal(state, event.port_no, now_s, event.prepared, switch_live=event.live)


def _second_source(state: AgentState, event: SecondSource, now_s: float) -> Result:
    return signal(state, event.port_no, now_s, event.prepared, second_source_live=event.live)


def _second_source_lost(state: AgentState, _event: SecondSourceLost, now_s: float) -> Result:
    actions: list[AgentAction] = []
    for port_no in state.ports:
        state, more = signal(state, port_no, now_s, None, second_source_live=True)
        actions += more
    return state, tuple(actions)


def _tick(state: AgentState, _event: Tick, now_s: float) -> Result:
    due = {
        port_no: health
        for port_no, health in state.ports.items()
        if health.held_until_s is not None and health.held_until_s <= now_s
    }
    return move(state, due, Case(WAIT_OVER), now_s) if due else (state, ())


# ---- packet-status monitor


def packet_status_monitor(packet: PacketFields) -> PacketStatus:
    """Status that a packet's tag carries; anything that is none of ours is regular."""
    tag_id, status = split_tci(packet.vlan_tci)
    if not packet.vlan_tci & VLAN_PRESENT or tag_id == NO_TAG:
        return PacketStatus.REGULAR
    return _STATUS.get(status, PacketStatus.REGULAR)


_STATUS = {int(Status.CRANKBACK): PacketStatus.CRANKBACK, int(Status.RECOVERED): PacketStatus.RECOVERED}


def packet_rerouting(state: AgentState, event: PacketIn, _now_s: float) -> Result:
    """Algorithm 2, lines 7-14: a punted packet reports a failure elsewhere."""
    packet = event.packet
    if packet is None or not state.index.backups:
        reason = "not an IPv4 packet" if packet is None else "no backup rows"
        return state, (log_of("packet_dropped", state, reason=reason),)
    if is_notification(packet.vlan_tci) and state.index.crossing:
        return _notified(state, split_tci(packet.vlan_tci)[0])
    is_here = packet.ipv4_dst in state.index.local_ipv4
    reaction = REACTIONS[packet_status_monitor(packet), is_here]
    if reaction is Reaction.DROP:
        return state, (log_of("packet_dropped", state, reason=reaction.value),)
    tag_id, _status = split_tci(packet.vlan_tci)
    if reaction is Reaction.FAILOVER:
        return _fail_over(state, packet, tag_id, event.handle)
    if packet.ipv4_src not in state.index.destinations:  # a host that makes up addresses must not fill the switch
        return state, (log_of("packet_dropped", state, reason="no row for its source"),)
    arrived = Commodity(packet.ipv4_dst, packet.ipv4_src)
    touched = [arrived]
    state = _learn(state, arrived, tag_id)
    reverse = (
        state.index.commodity_of(packet.ipv4_src, packet.ipv4_dst) if reaction is Reaction.REVERSE_SWITCHOVER else None
    )
    if reverse is not None and _crosses(state, reverse, tag_id):
        touched.append(reverse)
        state = _learn(state, reverse, tag_id)
    return rerouted(state, touched, "recovered packet arrived")


def _fail_over(state: AgentState, packet: PacketFields, tag_id: int, handle: object) -> Result:
    commodity = state.index.commodity_of(packet.ipv4_dst, packet.ipv4_src)
    if commodity is None:
        return state, (log_of("packet_dropped", state, reason="no row for its destination"),)
    actions: tuple[AgentAction, ...] = ()
    if tag_id not in state.rules.get(commodity, NO_RULES):  # isEmpty(S[IP])
        state, actions = rerouted(_learn(state, commodity, tag_id), [commodity], "tagged packet")
    row = state.rules.get(commodity, NO_RULES).get(tag_id)
    if row is None or not row.apply_actions:
        return state, (*actions, log_of("packet_dropped", state, reason="no way is left", tag_id=tag_id))
    release = (ReleasePacket(handle, row.apply_actions), log_of("agent_release", state, tag_id=tag_id))
    return state, (*actions, *release)


def _notified(state: AgentState, tag_id: int) -> Result:
    """A notification names failed links elsewhere: all rows that they call for, in one bundle."""
    if not NO_TAG < tag_id < len(state.index.sets.masks):
        return state, (log_of("packet_dropped", state, reason="a notification of an unknown set"),)
    if tag_id in state.known.get(HEARD, NO_TAGS) | state.outdated.get(HEARD, NO_TAGS):
        return state, ()
    state = _learn(state, HEARD, tag_id)
    state, actions = rerouted(state, concerned(state, state.index.sets.masks[tag_id]), "notification")
    return state, (*actions, log_of("notification", state, tag_id=tag_id))


def _learn(state: AgentState, commodity: Commodity, tag_id: int) -> AgentState:
    """S of Algorithm 2 is no longer empty for this commodity and failed set.

    A tag that names a link of this switch which is up was pushed before the other end knew of the return.
    """
    down = state.unused_ports
    if state.index.holds_live_link(tag_id, down):
        outdated = {**state.outdated, commodity: state.outdated.get(commodity, NO_TAGS) | {tag_id}}
        return replace(state, outdated=outdated, version=state.version + 1)
    known = {**state.known, commodity: state.known.get(commodity, NO_TAGS) | {tag_id}}
    return replace(state, known=known, version=state.version + 1)


def _crosses(state: AgentState, commodity: Commodity, tag_id: int) -> bool:
    row = rule_grabber(state.index, commodity, tag_id, state.down_ports, state.held_ports)
    return row is not None and row.crosses


# ---- the switch and its rows


def _flows_removed(state: AgentState, event: FlowsRemoved, now_s: float) -> Result:
    """Rows are gone. What they rested on is forgotten: a failure that is still there is learned again at once."""
    state, gone = _take_out(state, event.rows)
    if not gone:
        return state, ()
    for commodity, tag_id, _row in gone:
        state = _forget(state, commodity, tag_id)
    commodities = tuple(commodity for commodity, _tag_id, _row in gone)
    if HEARD in commodities:  # what it named may have diverted, or left without a way, any of them
        commodities = (*commodities, *concerned(state, links_heard(state)))
    # Their remover (the controller, as a rule) says that a link of their sets is back: do not wait for it.
    sets = {split_cookie(row.cookie).tag_id for _commodity, _tag_id, row in gone}
    case = Case(ROWS_REMOVED, commodities)
    state, actions = move(state, state.ports_of(sets), case, now_s)
    if not actions:
        state, actions = rerouted(state, commodities, case.event.value)
    # A notice may be about a row that was replaced meanwhile: make sure that none is left that nobody knows of.
    doubtful = tuple(row for commodity, tag_id, row in gone if tag_id not in state.rules.get(commodity, NO_RULES))
    return state, ((ChangeRows((), doubtful),) if doubtful else ()) + actions


def _take_out(state: AgentState, removed: Iterable[FlowRow]) -> tuple[AgentState, list[tuple[Commodity, int, FlowRow]]]:
    """The state without the rules that are gone, and those of them that the agent did not delete itself."""
    removing, rules = dict(state.removing), dict(state.rules)
    gone: list[tuple[Commodity, int, FlowRow]] = []
    for row in removed:
        found = rule_of(row)
        if found is None:
            continue
        commodity, tag_id = found
        expected = removing.pop((commodity, tag_id, row.cookie), 0)
        if expected > 1:
            removing[commodity, tag_id, row.cookie] = expected - 1
        present = rules.get(commodity, NO_RULES)
        if expected or tag_id not in present or present[tag_id].cookie != row.cookie:
            continue
        rules[commodity] = {key: rule for key, rule in present.items() if key != tag_id}
        if not rules[commodity]:
            del rules[commodity]
        gone.append((commodity, tag_id, row))
    version = state.version + 1 if gone else state.version
    return replace(state, removing=removing, rules=rules, version=version), gone


def _forget(state: AgentState, commodity: Commodity, tag_id: int) -> AgentState:
    """S without what a removed row rested on.

    A transit commodity forgets all its failed sets: rows of one set may serve tags of another, and who removes
    one has begun to remove the rest.
    """
    known, outdated = dict(state.known), dict(state.outdated)
    passed_on = outdated.pop(commodity, NO_TAGS)
    if passed_on - {tag_id}:
        outdated[commodity] = passed_on - {tag_id}
    sets = known.pop(commodity, NO_TAGS)
    is_transit = commodity != HEARD and commodity.destination not in state.index.local_ipv4
    keeps_others = tag_id in passed_on or not is_transit
    if keeps_others and sets - {tag_id}:
        known[commodity] = sets - {tag_id}
    return replace(state, known=known, outdated=outdated)


def _plan_loaded(state: AgentState, event: PlanLoaded, _now_s: float) -> Result:
    if event.index == state.index:
        return state, ()
    # Another plan may number its failed sets differently: what packets reported no longer means anything.
    state = replace(state, index=event.index, known={}, outdated={}, version=state.version + 1)
    log = log_of("plan_loaded", state, flows=len(event.index.flows), backups=len(event.index.backups))
    return state, (ReadSwitch(), log) if state.is_connected else (log,)


def _switch_read(state: AgentState, event: SwitchRead, now_s: float) -> Result:
    """Reconcile: believe the ports, take over the agent's rows that still hold, drop the rest."""
    gone = dict.fromkeys(state.ports.keys() - event.live_ports.keys(), False)
    ports = {
        port_no: link_status_monitor(state.ports.get(port_no, PortHealth()), state.damping, now_s, switch_live=live)
        for port_no, live in {**event.live_ports, **gone}.items()
    }
    removing = state.removing if state.is_connected else {}
    state = replace(state, ports=ports, removing=removing, is_connected=True, version=state.version + 1)
    state = replace(state, rules=rules_in(event.flows), known={}, outdated={})
    state, _ = move(state, avoided_ports(state), Case(AVOIDED), now_s)
    state = replace(state, known=known_from(state))
    log = log_of("reconnect", state, rows=len(event.flows))
    if not state.index.flows and not state.index.backups:
        return state, (log,)  # no plan yet: whatever is there may still be right
    touched = {commodity for rows in state.index.primaries.values() for commodity in rows} | set(state.rules)
    state, actions = rerouted(state, touched, "reconciled", (log,))
    return state, (*refill(state.index, event), *actions)


def _disconnected(state: AgentState, _event: Disconnected, _now_s: float) -> Result:
    return replace(state, is_connected=False, version=state.version + 1), ()


TRANSITIONS: dict[type, Callable[[AgentState, Any, float], Result]] = {
    PortStatus: _port_status,  # Algorithm 2, lines 4-6
    SecondSource: _second_source,  # the same, heard from OVSDB
    SecondSourceLost: _second_source_lost,
    PacketIn: packet_rerouting,  # lines 7-14
    FlowsRemoved: _flows_removed,  # S is emptied
    Tick: _tick,  # S is emptied: the port has been up long enough
    PlanLoaded: _plan_loaded,  # R changes
    SwitchRead: _switch_read,  # S is read back from the switch
    Disconnected: _disconnected,
}
