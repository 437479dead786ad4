"""States of a port and what the agent does at each step between them: the table `PORTS`.

Down counts at once, up after the wait-to-restore time, except for a port that comes up for the first time: it has not
failed. A port in state HELD is avoided where another path is planned and used otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ovsdb_backup.decide.agent_rules import (
    announced,
    apply_rules,
    believe_outdated,
    forget_returned,
    log_of,
    rerouted,
    touched_by,
    touched_by_return,
)
from ovsdb_backup.decide.agent_types import (
    AVOIDED,
    FAILED,
    LIVE,
    ROWS_REMOVED,
    WAIT_OVER,
    AgentAction,
    AgentState,
    PortEvent,
    PortHealth,
    PreparedFailure,
    ReleasePacket,
    Result,
)
from ovsdb_backup.decide.liveness import DOWN, HELD, NEW, UP, Liveness, entered
from ovsdb_backup.decide.packet import notification_frame
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.ids import OFPP_TABLE
from ryu_apps.plan.rows import Output
from te_solver.commodity import Commodity


@dataclass(frozen=True, slots=True)
class Case:
    """What the actions of `PORTS` need: the event, commodities whose rows were removed, the prepared failure."""

    event: PortEvent
    commodities: tuple[Commodity, ...] = ()
    prepared: PreparedFailure | None = None


THROUGH_THE_TABLES = (Output(OFPP_TABLE),)
PortAction = Callable[[AgentState, Sequence[int], Case], Result]


def avoid(state: AgentState, ports: Sequence[int], case: Case) -> Result:
    """Lead around failed ports: Algorithm 2, lines 5-6."""
    for port_no in ports:
        state = believe_outdated(state, port_no)
    if case.prepared is not None:
        state, change = apply_rules(state, case.prepared.changed)
        return state, announced(change, case.event.value)
    return rerouted(state, set().union(*(touched_by(state, port_no) for port_no in ports)), case.event.value)


def notify(state: AgentState, ports: Sequence[int], _case: Case) -> Result:
    """Tell all agents of failed links: of each, and of all that this switch has, as far as sets have ids."""
    index = state.index
    if not state.is_connected or not index.crossing:
        return state, ()
    links_of = index.link_of_port
    masks = [1 << links_of[port_no] for port_no in ports if port_no in links_of]
    all_down = sum(1 << links_of[port_no] for port_no in state.down_ports & links_of.keys())
    tags = {tag_id: None for mask in (*masks, all_down) if (tag_id := index.sets.tag_id_of.get(mask, NO_TAG))}
    return state, tuple([ReleasePacket(notification_frame(tag_id), THROUGH_THE_TABLES) for tag_id in tags])


def use_if_needed(state: AgentState, _ports: Sequence[int], case: Case) -> Result:
    """Use ports that wait where no other path is left."""
    return rerouted(state, touched_by_return(state), case.event.value)


def use_again(state: AgentState, ports: Sequence[int], case: Case) -> Result:
    """Undo what the failure of ports had changed; failed sets with their links leave S."""
    touched = touched_by_return(state).union(case.commodities, *(touched_by(state, port_no) for port_no in ports))
    return rerouted(forget_returned(state, ports), touched, case.event.value)


def log_status(state: AgentState, ports: Sequence[int], case: Case) -> Result:
    """Write `port_status` into the event log."""
    live = case.event is LIVE
    return state, tuple([log_of("port_status", state, port_no=port_no, live=live) for port_no in ports])


def log_return(state: AgentState, ports: Sequence[int], _case: Case) -> Result:
    """Write `return_done` into the event log."""
    return state, tuple([log_of("return_done", state, port_no=port_no) for port_no in ports])


PORTS: dict[tuple[Liveness, PortEvent], tuple[Liveness, tuple[PortAction, ...]]] = {
    # (state of a port, event): (next state, actions)
    (NEW, FAILED): (NEW, ()),
    (NEW, LIVE): (UP, (use_again, log_status)),  # it has not failed, so it does not wait
    (NEW, AVOIDED): (NEW, ()),
    (NEW, ROWS_REMOVED): (NEW, ()),
    (UP, FAILED): (DOWN, (avoid, notify, log_status)),  # Algorithm 2, lines 4-6
    (UP, LIVE): (UP, ()),
    (UP, AVOIDED): (HELD, ()),
    (UP, ROWS_REMOVED): (UP, ()),
    (DOWN, FAILED): (DOWN, ()),  # the other liveness source says so too
    (DOWN, LIVE): (HELD, (use_if_needed, log_status)),
    (DOWN, AVOIDED): (DOWN, ()),
    (DOWN, ROWS_REMOVED): (DOWN, ()),
    (HELD, FAILED): (DOWN, (avoid, notify, log_status)),
    (HELD, LIVE): (HELD, ()),
    (HELD, AVOIDED): (HELD, ()),
    (HELD, WAIT_OVER): (UP, (use_again, log_return)),  # S is emptied
    (HELD, ROWS_REMOVED): (UP, (use_again, log_return)),  # their remover knows that the link is back
}
IMPOSSIBLE = frozenset((state, WAIT_OVER) for state in (NEW, UP, DOWN))  # nothing waits


def link_status_monitor(health: PortHealth, damping: Damping, now_s: float, **signals: bool) -> PortHealth:
    """What is known of a port after a signal (`switch_live` or `second_source_live`)."""
    heard = replace(health, **cast("dict[str, Any]", signals))
    return entered(heard, PORTS[heard.state, heard.event][0], damping, now_s)


def is_foreseen(state: AgentState, port_no: int, prepared: PreparedFailure | None) -> bool:
    """Whether `step` would answer a port's failure by exactly what was prepared for it."""
    health = state.ports.get(port_no)
    return (
        prepared is not None
        and (prepared.version, prepared.port_no) == (state.version, port_no)
        and health is not None
        and avoid in PORTS[health.state, FAILED][1]
        and state.is_connected
    )


def signal(state: AgentState, port_no: int, now_s: float, prepared: PreparedFailure | None, **signals: bool) -> Result:
    """What a signal from a liveness source of a port changes; `prepared` serves if it is foreseen."""
    before = state.ports.get(port_no)
    heard = replace(before or PortHealth(), **cast("dict[str, Any]", signals))
    if heard == before:
        return state, ()
    case = Case(heard.event, prepared=prepared if is_foreseen(state, port_no, prepared) else None)
    return move(state, {port_no: heard}, case, now_s)


def move(state: AgentState, healths: Mapping[int, PortHealth], case: Case, now_s: float) -> Result:
    """Take ports to their next states, and do once for all of them what `PORTS` names."""
    ports, called_for = dict(state.ports), dict[PortAction, list[int]]()
    for port_no, health in healths.items():
        following, names = PORTS[health.state, case.event]
        ports[port_no] = entered(health, following, state.damping, now_s)
        for action in names:
            called_for.setdefault(action, []).append(port_no)
    state = replace(state, ports=ports, version=state.version + 1)
    actions: list[AgentAction] = []
    for action, its_ports in called_for.items():
        state, more = action(state, its_ports, case)
        actions += more
    return state, tuple(actions)
