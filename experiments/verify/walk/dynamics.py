"""How rows come to switches after a failure, for the walkers: by `learn`, or by the switch-local agent."""

from __future__ import annotations

from dataclasses import replace

from ovsdb_backup.decide.agent import step
from ovsdb_backup.decide.agent_rules import HEARD, concerned, untagged_grabber
from ovsdb_backup.decide.agent_types import (
    AgentAction,
    AgentState,
    ChangeRows,
    Event,
    PacketIn,
    PlanLoaded,
    PortStatus,
    ReleasePacket,
    SwitchRead,
)
from ovsdb_backup.decide.backup_index import BackupIndex
from ovsdb_backup.decide.packet import PacketFields
from ryu_apps.plan.choices import uses_agent
from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.ids import AGENT_CONTROLLER_ID
from ryu_apps.plan.interpret import Packet, SwitchModel, SwitchResult, interpret_switch
from ryu_apps.plan.notification import is_for_notifications
from ryu_apps.plan.rows import Action, BackupRow, FlowRow, Output, RulePlan
from ryu_apps.plan.walk import Dynamics, Learning

_NOW_S = 0.0  # no time passes: wait-to-restore and time-outs are not walked
Reaction = tuple[tuple[FlowRow, ...], tuple[tuple[int, Packet], ...]]


def dynamics_of(mode: str, plans: dict[int, RulePlan]) -> Dynamics:
    """Dynamics of a mode ("none", "learned" or "agent")."""
    return AgentDynamics(plans) if uses_agent(mode) else Learning()


class AgentDynamics:
    """What the agent's own `step` does, given its failed ports and one punted packet.

    What the agent learned before that packet is left out: rows of several packets meet in the walkers, where
    any of them may or may not be in place.

    Parameters
    ----------
    plans
        Rule plans by datapath id.
    """

    def __init__(self, plans: dict[int, RulePlan]) -> None:
        self._plans = plans
        self.reads_source = any(row.source is not None for plan in plans.values() for row in plan.backups)
        self.notifies = any(is_for_notifications(row) for plan in plans.values() for row in plan.flows)
        self._states: dict[tuple[int, frozenset[int]], AgentState] = {}
        self._actions: dict[tuple[int, frozenset[int], PacketFields], tuple[AgentAction, ...]] = {}

    def standing_rows(self, dpid: int, failed_ports: frozenset[int]) -> tuple[FlowRow, ...]:
        """Rows that the agent has moved in once it knows its failed ports."""
        rules = self._state(dpid, failed_ports).rules
        return tuple(row for rows in rules.values() for row in rows.values())

    def heard_rows(self, dpid: int, failed_ports: frozenset[int], links: int) -> tuple[BackupRow, ...]:
        """Backup rows of untagged packets whose rows change once notifications have named some links (a mask).

        They replace those of `standing_rows`, and those of `react` that know less.
        """
        state = self._state(dpid, failed_ports)
        sets = state.index.sets
        if not state.index.crossing or not sets.max_failures:
            return ()
        tags = frozenset(sets.tag_id_of[1 << number] for number in range(sets.n_links) if links >> number & 1)
        heard = replace(state, known={**state.known, HEARD: tags})
        found = (
            untagged_grabber(heard, commodity)
            for commodity in concerned(heard, links)
            if commodity.destination not in {0, *state.index.local_ipv4}
        )
        return tuple(row for row in found if row is not None and row.tag_id != NO_TAG)

    def react(self, dpid: int, failed_ports: frozenset[int], result: SwitchResult) -> Reaction:
        """Rows that the agent installs for a punted packet, and the packet as it sends it on."""
        rows: tuple[FlowRow, ...] = ()
        released: tuple[tuple[int, Packet], ...] = ()
        for controller_id, packet in result.punts:
            if controller_id == AGENT_CONTROLLER_ID:
                more_rows, more_released = self._answer(dpid, failed_ports, packet)
                rows, released = rows + more_rows, released + more_released
        return rows, released

    def _answer(self, dpid: int, failed_ports: frozenset[int], packet: Packet) -> Reaction:
        fields = PacketFields(packet.vlan_tci, packet.ipv4_src, packet.ipv4_dst)
        key = dpid, failed_ports, fields
        if key not in self._actions:
            _, self._actions[key] = step(self._state(dpid, failed_ports), PacketIn(fields), _NOW_S)
        return self._reaction(dpid, self._actions[key], packet)

    def _state(self, dpid: int, failed_ports: frozenset[int]) -> AgentState:
        """The agent after it has read its switch and heard that these ports are down."""
        key = dpid, failed_ports
        if key not in self._states:
            if failed_ports:
                state = self._state(dpid, frozenset())
                events: list[Event] = [PortStatus(port_no, live=False) for port_no in sorted(failed_ports)]
            else:
                state, events = AgentState(), _first_events(self._plans[dpid])
            for event in events:
                state, _ = step(state, event, _NOW_S)
            self._states[key] = state
        return self._states[key]

    def _reaction(self, dpid: int, actions: tuple[AgentAction, ...], packet: Packet) -> Reaction:
        rows: tuple[FlowRow, ...] = ()
        released: tuple[tuple[int, Packet], ...] = ()
        for action in actions:
            if isinstance(action, ChangeRows):
                rows += action.install
            elif isinstance(action, ReleasePacket):
                released += self._released(dpid, action.actions, packet)
        return rows, released

    def _released(self, dpid: int, actions: tuple[Action, ...], packet: Packet) -> tuple[tuple[int, Packet], ...]:
        """The packet after a packet-out with these actions; its in-port is the controller, which none outputs to."""
        model = SwitchModel(RulePlan(dpid, "", flows=(FlowRow(0, 1, (), actions),)))
        return tuple((port, leaving) for port, leaving, _ in interpret_switch(model, packet, 0, frozenset()).outputs)


def _first_events(plan: RulePlan) -> list[Event]:
    """An agent that has its plan and finds its switch as planned, all ports live."""
    ports = {action.port_no for row in plan.flows for action in row.apply_actions if isinstance(action, Output)}
    ports |= {row.out_port for row in plan.backups} | {row.port_no for row in plan.extensions}
    groups = frozenset(group.group_id for group in plan.groups)
    read = SwitchRead(dict.fromkeys(sorted(ports), True), plan.flows, groups)
    return [PlanLoaded(BackupIndex.from_plan(plan)), read]
