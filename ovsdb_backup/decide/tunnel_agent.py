"""What the agent of a switch does about failed tunnels: pure.

A switch beside a failed link notifies both ends of every tunnel over it, by packets that return along it (the link down
indication of RFC 6427); the end where a commodity begins repartitions its slots. LDIs are repeated while the link
is down and expire, so no state outlives a repair that nobody reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import combinations, islice
from typing import Any

from ovsdb_backup.decide.liveness import DOWN, HELD, UP, Health, Liveness, entered, first_deadline_s
from ryu_apps.openflow import encode
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.kuijia.agent_configuration import AgentConfiguration
from ryu_apps.plan.kuijia.history import FailedTunnels, next_history
from ryu_apps.plan.kuijia.ingress import IngressEntry
from ryu_apps.plan.rows import FlowRow

REFRESH_S = 0.5
# An LDI may be lost on its way, so the first ones follow each other quickly.
FIRST_LDIS_S = (0.0, 0.01, 0.03, 0.1)
LIFE_S = 3.5 * REFRESH_S  # RFC 6427 section 2.2: 3.5 times the refresh timer
_MOST_PREPARED = 16  # sets of failed tunnels that are worked out beforehand, a commodity


@dataclass(frozen=True, slots=True)
class PortsChanged:
    """Liveness of ports, by number."""

    live: Mapping[int, bool]


@dataclass(frozen=True, slots=True)
class LdisHeard:
    """Labels of tunnels that somebody says are down."""

    labels: frozenset[int]


@dataclass(frozen=True, slots=True)
class SwitchRead:
    """A new connection: ports, and the rows of an agent that the switch holds."""

    live: Mapping[int, bool]
    rows: tuple[FlowRow, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event = PortsChanged | LdisHeard | SwitchRead | Tick


@dataclass(frozen=True, slots=True)
class SendLdis:
    """Send an LDI with each of these labels by each of these ports: (label, port number)."""

    ldis: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ChangeRows:
    """Bring rows into the switch, and then take others out; `messages` say the same."""

    install: tuple[FlowRow, ...]
    delete: tuple[FlowRow, ...]
    messages: tuple[bytes, ...]


Action = SendLdis | ChangeRows


@dataclass(frozen=True, slots=True)
class FailedPort:
    """Since when a port is down, and how many LDIs have been sent about it."""

    since_s: float
    sent: int = 0

    @property
    def next_s(self) -> float:
        """When the next LDI is due."""
        if self.sent < len(FIRST_LDIS_S):
            return self.since_s + FIRST_LDIS_S[self.sent]
        return self.since_s + FIRST_LDIS_S[-1] + (self.sent - len(FIRST_LDIS_S) + 1) * REFRESH_S


Prepared = Mapping[tuple[int, FailedTunnels], tuple[tuple[FlowRow, ...], tuple[bytes, ...]]]


@dataclass(frozen=True)
class TunnelState:
    """What the agent knows.

    Attributes
    ----------
    configuration
        What this switch has to know.
    damping
        How long a tunnel must be up again before it is used.
    prepared : mapping
        Rows, and the messages that add them, of commodities with failed tunnels.
    ldis
        Until when the LDI about a label is believed.
    tunnels
        By label, of tunnels that begin here; one that is missing is UP.
    failed_tunnels
        By number of commodity.
    rows
        What the switch holds because of them.
    foreign
        What it held when the agent came; what of it is not wanted goes at `sorted_out_s`, when all LDIs that there
        are have been heard.
    """

    configuration: AgentConfiguration
    damping: Damping
    prepared: Prepared = field(default_factory=dict)
    failed_ports: Mapping[int, FailedPort] = field(default_factory=dict)
    ldis: Mapping[int, float] = field(default_factory=dict)
    tunnels: Mapping[int, Health] = field(default_factory=dict)
    failed_tunnels: Mapping[int, FailedTunnels] = field(default_factory=dict)
    rows: Mapping[int, tuple[FlowRow, ...]] = field(default_factory=dict)
    foreign: tuple[FlowRow, ...] = ()
    sorted_out_s: float | None = None

    def failed_labels(self) -> set[int]:
        """Labels of tunnels that are failed, as far as is known now."""
        at_ports = (self.configuration.crossings.get(port_no, ()) for port_no in self.failed_ports)
        return {crossing.label for each in at_ports for crossing in each if crossing.other_port is None}.union(
            self.ldis
        )


def prepared_for(configuration: AgentConfiguration) -> Prepared:
    """Rows and messages of every commodity for the failed tunnels of one moment, small sets of tunnels first."""
    found: dict[tuple[int, FailedTunnels], tuple[tuple[FlowRow, ...], tuple[bytes, ...]]] = {}
    for ingress_entry in configuration.ingress_entries:
        numbers = range(len(ingress_entry.commodity.paths))
        sets = (frozenset(down) for size in range(1, len(numbers) + 1) for down in combinations(numbers, size))
        for down in islice(sets, _MOST_PREPARED):
            rows = configuration.rows(ingress_entry, (down,))
            found[ingress_entry.number, (down,)] = (rows, tuple(map(encode.flow_add, rows)))
    return found


def step(state: TunnelState, event: Event, now_s: float) -> tuple[TunnelState, tuple[Action, ...]]:
    """What follows from an event.

    Parameters
    ----------
    now_s
        One clock for all events.
    """
    state = HEARD[type(event)](state, event, now_s)
    state, changes = _repartition(_judged(state, now_s))
    state, removed = _sorted_out(state, now_s)
    state, ldis = _ldi(state, now_s)
    change = _change(changes, removed)
    return state, (*change, *ldis)


def next_deadline_s(state: TunnelState) -> float | None:
    """When the next Tick is due; None: not before something happens."""
    moments = [port.next_s for port in state.failed_ports.values()]
    moments += state.ldis.values()
    moments += [moment for moment in (first_deadline_s(state.tunnels), state.sorted_out_s) if moment is not None]
    return min(moments, default=None)


def _ports_changed(state: TunnelState, event: PortsChanged, now_s: float) -> TunnelState:
    known = state.failed_ports
    newly_failed = [
        port_no for port_no, live in event.live.items() if not live and port_no in state.configuration.crossings
    ]
    down = {port_no: port for port_no, port in known.items() if not event.live.get(port_no, False)}
    return replace(state, failed_ports={**{port_no: FailedPort(now_s) for port_no in newly_failed}, **down})


def _ldis_heard(state: TunnelState, event: LdisHeard, now_s: float) -> TunnelState:
    entries = state.configuration.ingress_entries
    own = {label for entry in entries for label in state.configuration.labels_of(entry)}
    heard = dict.fromkeys(event.labels & own, now_s + LIFE_S)
    return replace(state, ldis={**state.ldis, **heard})


def _switch_read(state: TunnelState, event: SwitchRead, now_s: float) -> TunnelState:
    """Rows may have gone with an old connection: all that is wanted is written again."""
    tunnels = {label: _moved(health, TunnelEvent.READ, state.damping, now_s) for label, health in state.tunnels.items()}
    fresh = replace(state, rows={}, failed_tunnels={}, failed_ports={}, tunnels=tunnels)
    fresh = replace(fresh, foreign=event.rows, sorted_out_s=now_s + LIFE_S)
    # A port that the switch does not name is gone.
    live = {**dict.fromkeys(state.configuration.crossings, False), **event.live}
    return _ports_changed(fresh, PortsChanged(live), now_s)


HEARD: dict[type, Callable[[TunnelState, Any, float], TunnelState]] = {
    PortsChanged: _ports_changed,
    LdisHeard: _ldis_heard,
    SwitchRead: _switch_read,
    Tick: lambda state, _event, _now_s: state,
}


class TunnelEvent(Enum):
    """What may happen to a tunnel that begins here."""

    FAILED = "an LDI that is believed, or its own first port, says that it is failed"
    LIVE = "nothing says that it is failed"
    WAIT_OVER = "wait-to-restore is over"
    READ = "the switch was read anew"


FAILED, LIVE, WAIT_OVER, READ = TunnelEvent

TUNNELS: dict[tuple[Liveness, TunnelEvent], Liveness] = {
    # (state of a tunnel, event): next state. What to do follows from states alone: only tunnels in state UP have slots
    (UP, FAILED): DOWN,
    (UP, LIVE): UP,
    (UP, READ): UP,
    (DOWN, FAILED): DOWN,
    (DOWN, LIVE): HELD,
    (DOWN, READ): UP,  # what is still failed is notified again
    (HELD, FAILED): DOWN,
    (HELD, LIVE): HELD,
    (HELD, WAIT_OVER): UP,
    (HELD, READ): UP,
}
IMPOSSIBLE = frozenset({(UP, WAIT_OVER), (DOWN, WAIT_OVER)})  # nothing waits


def _moved(health: Health, event: TunnelEvent, damping: Damping, now_s: float) -> Health:
    return entered(health, TUNNELS[health.state, event], damping, now_s)


def _judged(state: TunnelState, now_s: float) -> TunnelState:
    """Believe what is fresh, take every tunnel to its next state, and note which have failed."""
    state = replace(state, ldis={label: until_s for label, until_s in state.ldis.items() if until_s > now_s})
    failed_labels, tunnels, failed_tunnels = state.failed_labels(), dict[int, Health](), dict[int, FailedTunnels]()
    for ingress_entry in state.configuration.ingress_entries:
        labels = state.configuration.labels_of(ingress_entry)
        for label in set(labels) - tunnels.keys():  # commodities may share a tunnel
            event = FAILED if label in failed_labels else LIVE
            health = _moved(state.tunnels.get(label, _UP), event, state.damping, now_s)
            is_over = health.held_until_s is not None and health.held_until_s <= now_s
            tunnels[label] = _moved(health, WAIT_OVER, state.damping, now_s) if is_over else health
        failed = frozenset(tunnel for tunnel, label in enumerate(labels) if tunnels[label].state is not UP)
        found = next_history(state.failed_tunnels.get(ingress_entry.number, ()), failed)
        if found:
            failed_tunnels[ingress_entry.number] = found
    return replace(state, tunnels=tunnels, failed_tunnels=failed_tunnels)


_UP = Health(UP)


Change = tuple[tuple[FlowRow, ...], tuple[FlowRow, ...], tuple[bytes, ...]]


def _repartition(state: TunnelState) -> tuple[TunnelState, list[Change]]:
    """Bring the rows of every commodity to what its failed tunnels ask for."""
    rows, changes = dict(state.rows), []
    for ingress_entry in state.configuration.ingress_entries:
        wanted, messages = _wanted(state, ingress_entry)
        held = rows.pop(ingress_entry.number, ())
        if wanted:
            rows[ingress_entry.number] = wanted
        if wanted == held:
            continue
        kept = {row.key for row in wanted}
        same = set(held)
        new = [number for number, row in enumerate(wanted) if row not in same]
        gone = tuple(row for row in held if row.key not in kept)
        deletions = tuple(map(encode.flow_delete, gone))
        changes.append((tuple(wanted[n] for n in new), gone, (*(messages[n] for n in new), *deletions)))
    return replace(state, rows=rows), changes


def _wanted(state: TunnelState, ingress_entry: IngressEntry) -> tuple[tuple[FlowRow, ...], tuple[bytes, ...]]:
    failed_tunnels = state.failed_tunnels.get(ingress_entry.number, ())
    if not failed_tunnels:
        return (), ()
    known = state.prepared.get((ingress_entry.number, failed_tunnels))
    if known is None:
        rows = state.configuration.rows(ingress_entry, failed_tunnels)
        known = (rows, tuple(map(encode.flow_add, rows)))
    return known


def _sorted_out(state: TunnelState, now_s: float) -> tuple[TunnelState, tuple[FlowRow, ...]]:
    """Rows of an earlier agent that nobody wants, once their time has come."""
    if state.sorted_out_s is None or now_s < state.sorted_out_s:
        return state, ()
    wanted = {row.key for rows in state.rows.values() for row in rows}
    gone = tuple(row for row in state.foreign if row.key not in wanted)
    return replace(state, foreign=(), sorted_out_s=None), gone


def _change(changes: Iterable[Change], removed: tuple[FlowRow, ...]) -> tuple[ChangeRows, ...]:
    install: list[FlowRow] = []
    delete: list[FlowRow] = [*removed]
    messages: list[bytes] = [encode.flow_delete(row) for row in removed]
    for new, gone, sent in changes:
        install += new
        delete += gone
        messages += sent
    return (ChangeRows(tuple(install), tuple(delete), tuple(messages)),) if messages else ()


def _ldi(state: TunnelState, now_s: float) -> tuple[TunnelState, tuple[SendLdis, ...]]:
    """Notify the ends of tunnels over failed ports, as often as is due."""
    due = [port_no for port_no, port in state.failed_ports.items() if port.next_s <= now_s]
    ldis = sorted(
        (crossing.label, crossing.other_port)
        for port_no in due
        for crossing in state.configuration.crossings.get(port_no, ())
        if crossing.other_port is not None and crossing.other_port not in state.failed_ports
    )
    sent = {port_no: _after(state.failed_ports[port_no], now_s) for port_no in due}
    state = replace(state, failed_ports={**state.failed_ports, **sent})
    return state, (SendLdis(tuple(ldis)),) if ldis else ()


def _after(port: FailedPort, now_s: float) -> FailedPort:
    """The port with its LDI sent; those that are overdue are not sent late."""
    while port.next_s <= now_s:
        port = replace(port, sent=port.sent + 1)
    return port
