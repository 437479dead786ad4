"""Agent mode: what the walkers make of the agent's `step`, against agents that remember all their events."""

from __future__ import annotations

from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from experiments.verify.walk.dynamics import AgentDynamics
from mininet_topos.toy import figure2
from ovsdb_backup.decide.agent import step
from ovsdb_backup.decide.agent_types import AgentState, ChangeRows, PacketIn, PlanLoaded, PortStatus, SwitchRead
from ovsdb_backup.decide.backup_index import BackupIndex
from ovsdb_backup.decide.packet import PacketFields
from ryu_apps.plan.ids import AGENT_CONTROLLER_ID, Kind, Status, split_cookie
from ryu_apps.plan.interpret import Packet, SwitchResult
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import tag_tci
from ryu_apps.plan.sdfast import plan_sdfast
from ryu_apps.plan.walk import Network
from tests.examples import examples
from tests.verify.networks import case_of, connected, send, topology_of


class RememberingAgents(AgentDynamics):
    """Agents that keep their state from packet to packet, for one network with one set of failed links."""

    def __init__(self, plans):
        super().__init__(plans)
        self.states = {}

    def standing_rows(self, dpid, failed_ports):
        state = AgentState()
        plan = self._plans[dpid]
        ports = {row.out_port for row in plan.backups} | {row.port_no for row in plan.extensions}
        for event in (
            PlanLoaded(BackupIndex.from_plan(plan)),
            SwitchRead(dict.fromkeys(ports, True), plan.flows),
            *(PortStatus(port, live=False) for port in sorted(failed_ports)),
        ):
            state, _ = step(state, event, 0.0)
        self.states[dpid] = state
        return self.rows_of(dpid)

    def rows_of(self, dpid):
        return tuple(row for rows in self.states[dpid].rules.values() for row in rows.values())

    def _answer(self, dpid, _failed_ports, packet):
        fields = PacketFields(packet.vlan_tci, packet.ipv4_src, packet.ipv4_dst)
        self.states[dpid], actions = step(self.states[dpid], PacketIn(fields), 0.0)
        _, released = self._reaction(dpid, actions, packet)
        assert not any(action.delete for action in actions if isinstance(action, ChangeRows))
        return self.rows_of(dpid), released


@st.composite
def failing(draw):
    """An SD-FAST case in agent mode with at most as many failures as planned."""
    topology = draw(connected(max_nodes=6))
    size = draw(st.integers(1, min(2, len(topology.link_ids))))
    failed = draw(st.sets(st.sampled_from(topology.link_ids), min_size=1, max_size=size))
    planner, routes = draw(st.sampled_from(["tree", "pair", "tunnels"])), draw(st.sampled_from(["spt", "mst"]))
    options = PlanOptions(mode="agent", planner=planner, routes=routes, max_failures=size)
    return case_of("sdfast", topology, options, failed)


def one_way_by_a_parallel_link():
    """Tunnels by s2-s3 from s4 to s3, and by s2-s3#1 back: a reply may be the first to meet the failure."""
    topology = topology_of([(1, 2), (2, 3), (1, 4), (1, 5), (2, 3), (2, 4), (3, 5)])
    options = PlanOptions(mode="agent", planner="tunnels", max_failures=2)
    return case_of("sdfast", topology, options, {topology.parse_link("s2-s3")})


@example(one_way_by_a_parallel_link(), Random(0))
@examples(80)
@given(failing(), st.randoms(use_true_random=False))
def test_agents_that_remember_send_every_packet_as_the_walkers_do(case, random):
    remembering = Network(case.topology, case.plans, RememberingAgents(case.plans), case.failed)
    pairs = case.pairs * 3
    random.shuffle(pairs)
    for pair in pairs[:30]:
        there, back = send(remembering, *pair), None
        if there.outcome == "delivered":
            back = send(remembering, *reversed(pair))
            assert back.outcome == "delivered"
            # The destination turns the replies to a packet that met the failure; of a pair whose tunnels are not the
            # same there and back, one way may meet it alone.
            turned = case.options.planner != "tunnels" or any(hop.packet.vlan_tci for hop in there.hops)
            assert len(case.failed) > 1 or not turned or len(set(back.path)) == len(back.path)
        parts = case.topology.components(case.failed)
        joined = parts[case.topology.node_names[pair[0]]] == parts[case.topology.node_names[pair[1]]]
        assert there.outcome == ("delivered" if joined else "dropped")


@examples(80)
@given(failing())
def test_one_pair_alone_takes_the_same_switches_with_and_without_memory(case):
    for pair in case.pairs:
        plain = case.network()
        remembering = Network(case.topology, case.plans, RememberingAgents(case.plans), case.failed)
        for _ in range(3):
            assert send(plain, *pair) == send(remembering, *pair)


def test_a_switch_that_knows_its_failed_port_has_the_rows_of_all_that_left_by_it():
    topology = figure2()
    plans = plan_sdfast(topology, PlanOptions(mode="agent", max_failures=1))
    dynamics = AgentDynamics(plans)
    assert dynamics.standing_rows(4, frozenset()) == ()
    rows = dynamics.standing_rows(4, frozenset({3}))
    moved = {{name: value for name, value, _ in row.match}["ipv4_dst"] for row in rows}
    primaries = {row.destination for row in plans[4].backups if row.tag_id == 0 and row.out_port == 3}
    assert moved == primaries
    assert {split_cookie(row.cookie).kind for row in rows} == {Kind.AGENT}


def test_only_punts_to_the_agent_are_answered():
    plans = plan_sdfast(figure2(), PlanOptions(mode="agent", max_failures=1))
    tagged = Packet(plans[1].local_ipv4[0], plans[5].local_ipv4[0], vlan_tci=tag_tci(4, Status.CRANKBACK))
    dynamics = AgentDynamics(plans)
    for controller_id, answered in ((AGENT_CONTROLLER_ID, True), (1, False)):
        rows, released = dynamics.react(3, frozenset(), SwitchResult((), ((controller_id, tagged),), (), ()))
        assert bool(rows) == bool(released) == answered


def test_sources_matter_in_transit_only_to_the_pair_planner():
    for planner, expected in (("tree", False), ("pair", True)):
        plans = plan_sdfast(figure2(), PlanOptions(mode="agent", planner=planner, max_failures=1))
        dynamics = AgentDynamics(plans)
        assert dynamics.reads_source == expected
        here = plans[5].local_ipv4[0]
        answers = [
            dynamics.react(3, frozenset(), SwitchResult((), ((AGENT_CONTROLLER_ID, packet),), (), ()))[0]
            for packet in (Packet(source, here, vlan_tci=tag_tci(4, 1)) for source in (plans[1].local_ipv4[0], 99))
        ]
        assert (answers[0] != answers[1]) == expected
