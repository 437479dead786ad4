"""A switch that obeys the agent, as a value: what a test needs to drive `step` without Open vSwitch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mininet_topos.ports import assign_ports
from mininet_topos.topology import Topology
from mininet_topos.toy import figure2, parallel, square
from ovsdb_backup.decide.agent import step
from ovsdb_backup.decide.agent_batch import in_one_go
from ovsdb_backup.decide.agent_types import (
    AgentAction,
    AgentState,
    ChangeRows,
    Event,
    FlowsRemoved,
    PacketIn,
    PlanLoaded,
    PreparedFailure,
    ReadSwitch,
    Refill,
    ReleasePacket,
    SwitchRead,
)
from ovsdb_backup.decide.backup_index import BackupIndex
from ovsdb_backup.decide.packet import PacketFields
from ovsdb_backup.decide.preparation import Preparation, Prepared
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.ids import Kind, Status, split_cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import tag_tci
from ryu_apps.plan.rows import FlowRow, RulePlan
from ryu_apps.plan.sdfast import plan_sdfast

AGENT_MODE = PlanOptions(mode="agent")


def plans_of(
    topology: Topology, planner: str = "tree", max_failures: int | None = None, notification: str = "off"
) -> dict[int, RulePlan]:
    """Agent-mode plans by datapath id."""
    options = replace(AGENT_MODE, planner=planner, max_failures=max_failures, notification=notification)
    return plan_sdfast(topology, options)


@dataclass(frozen=True)
class Site:
    """One switch of a toy topology: its plan, its link ports, and the number of the link behind each."""

    name: str
    plan: RulePlan
    ports: tuple[int, ...]
    link_numbers: tuple[int, ...] = ()

    @property
    def index(self) -> BackupIndex:
        """Index of its plan."""
        return BackupIndex.from_plan(self.plan)


def prepared_failure(state: AgentState, port_no: int) -> PreparedFailure:
    """What `step` is given for the failure of a port."""
    return prepared_bytes(state, port_no).failure


def prepared_bytes(state: AgentState, port_no: int, xid: int = 1) -> Prepared:
    """What the agent prepares for the failure of a port, all slices."""
    preparation = Preparation(state, port_no, xid)
    while (prepared := preparation.advance()) is None:
        pass
    return prepared


def site(
    topology: Topology, node: str, planner: str = "tree", max_failures: int | None = None, notification: str = "off"
) -> Site:
    """The switch `node` of a topology."""
    ports = assign_ports(topology)
    plan = plans_of(topology, planner, max_failures, notification)[dpid_of(topology, node)]
    links = {ports.port_of[link.direction]: topology.link_id(link.direction) for link in topology.links_from[node]}
    numbers = tuple(topology.link_ids.index(link) for _port_no, link in sorted(links.items()))
    return Site(node, plan, tuple(sorted(links)), numbers)


# Node B of Figure 2 is where crankback ends, D where it starts; square and parallel have ties and twin links.
SITES = (
    site(figure2(), "s2"),
    site(figure2(), "s4"),
    site(figure2(), "s2", planner="pair"),
    site(square(), "s1"),
    site(parallel(), "s2", max_failures=2),
    site(figure2(), "s2", notification="flood"),
    site(figure2(), "s4", planner="pair", notification="flood"),
    site(square(), "s1", notification="flood"),
)


@dataclass
class World:
    """The agent's state beside the switch that it talks to."""

    state: AgentState
    now_s: float = 0.0
    flows: dict[object, FlowRow] = field(default_factory=dict)
    live: dict[int, bool] = field(default_factory=dict)
    notices: list[FlowRow] = field(default_factory=list)
    released: list[tuple[object, tuple[object, ...]]] = field(default_factory=list)
    installs: int = 0
    noticed_late: set[object] = field(
        default_factory=set
    )  # rows that were there again when the notice of their removal came

    def tell(self, event: Event) -> None:
        """Let the agent act on an event, and obey it."""
        before = self.state
        self.state, actions = step(self.state, event, self.now_s)
        assert isinstance(before, AgentState)
        self._obey(actions)

    def tell_together(self, packets: Sequence[PacketIn]) -> None:
        """Packets come in one burst: the agent puts its answers together."""
        answers: list[AgentAction] = []
        for packet in packets:
            self.state, actions = step(self.state, packet, self.now_s)
            answers += actions
        self._obey(in_one_go(answers))

    def _obey(self, actions: Sequence[AgentAction]) -> None:
        for action in actions:
            if isinstance(action, ChangeRows):
                self._change(action)
            elif isinstance(action, Refill):
                self.flows |= {row.key: row for row in action.flows}
            elif isinstance(action, ReleasePacket):
                self.released.append((action.handle, action.actions))
            elif isinstance(action, ReadSwitch):
                self.read()

    def _change(self, change: ChangeRows) -> None:
        keys = [row.key for row in (*change.install, *change.delete)]
        assert len(keys) == len(set(keys)), "a row is installed or deleted twice in one bundle"
        for row in change.delete:
            self.remove(row)
        for row in change.install:
            is_new = self.flows.get(row.key) != row or row.key in self.noticed_late
            assert is_new, "a row that is there already is installed again"
            self.flows[row.key] = row
        self.installs += len(change.install)

    def remove(self, row: FlowRow) -> None:
        """The row is deleted, by whomever; the notice comes some time later."""
        present = self.flows.get(row.key)
        if present is not None and present.cookie == row.cookie:
            del self.flows[row.key]
            self.notices.append(present)

    def deliver_notice(self, number: int) -> None:
        """One of the waiting removal notices arrives (OVS sends them from another thread: in any order)."""
        if self.notices:
            self._tell_removed(self.notices.pop(number % len(self.notices)))

    def deliver_notices(self) -> None:
        """All removal notices arrive."""
        while self.notices:
            self.deliver_notice(0)

    def deliver_notices_at_once(self) -> None:
        """All removal notices arrive in one burst."""
        burst, self.notices = tuple(self.notices), []
        self._tell_removed(*burst)

    def _tell_removed(self, *rows: FlowRow) -> None:
        self.noticed_late = {row.key for row in rows if row.key in self.flows}
        self.tell(FlowsRemoved(rows))
        self.noticed_late = set()

    def read(self) -> None:
        """The agent reads the switch."""
        self.tell(SwitchRead(dict(self.live), tuple(self.flows.values())))

    @property
    def agent_rows(self) -> dict[object, FlowRow]:
        """Rows in the switch that an agent put there."""
        return {key: row for key, row in self.flows.items() if split_cookie(row.cookie).kind == Kind.AGENT}

    @property
    def believed_rows(self) -> dict[object, FlowRow]:
        """Rows that the agent believes to be in the switch."""
        return {row.key: row for rows in self.state.rules.values() for row in rows.values()}


def connected_world(where: Site, state: AgentState | None = None) -> World:
    """The agent has its plan and a switch with all ports live."""
    world = World(state or AgentState(), live=dict.fromkeys((1, *where.ports), True))
    world.tell(PlanLoaded(where.index))
    world.read()
    return world


def tagged(destination: int, source: int, tag_id: int, status: Status = Status.CRANKBACK) -> PacketFields:
    """A packet that met a failure."""
    return PacketFields(tag_tci(tag_id, status), source, destination)
