"""What the agent of a switch does about failed tunnels: walked through as values, a network of agents at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction, LinkId
from ovsdb_backup.decide.link_down import ldi_frame, read_ldi
from ovsdb_backup.decide.tunnel_agent import (
    FIRST_LDIS_S,
    LIFE_S,
    REFRESH_S,
    Action,
    ChangeRows,
    Event,
    LdisHeard,
    PortsChanged,
    SendLdis,
    SwitchRead,
    Tick,
    TunnelState,
    next_deadline_s,
    prepared_for,
    step,
)
from ryu_apps.openflow.wire import split_messages
from ryu_apps.plan.check import violations
from ryu_apps.plan.choices import NOTIFIERS
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.ids import AGENT_CONTROLLER_ID, Kind, split_cookie
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.kuijia.agent_configuration import configuration_from_json, configuration_of
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.priorities import PRIORITY_SETUPS
from ryu_apps.plan.rows import FlowRow, RulePlan
from ryu_apps.schemes import find_tunnel_scheme, tunnel_schemes
from tests.examples import examples
from tests.plan.kuijia.networks import figure1, figure1_traffic

WAIT_S = 2.0
LONGEST_WAIT_S = 16.0
SETTLED_S = LONGEST_WAIT_S + LIFE_S
FIGURE1 = figure1()


def planner_of(scheme: str = "kuijia", setup: str = "single") -> TunnelPlanner:
    options = TunnelOptions(setup, notified_by="agent")
    return TunnelPlanner(tunnel_schemes()[scheme], FIGURE1, [figure1_traffic((0.5, 0.3, 0.2))], options)


class Agents:
    """Agents of a whole network; LDIs walk by the planned rows, in no time."""

    def __init__(self, planner: TunnelPlanner) -> None:
        self.planner, self.topology = planner, planner.topology
        self.ports = assign_ports(self.topology)
        self.plans: dict[str, RulePlan] = {plan.node: plan for plan in planner.plans().values()}
        self.rows: dict[str, dict[object, FlowRow]] = {node: {} for node in self.topology.node_names}
        self.failed: frozenset[LinkId] = frozenset()
        self.loses_ldis = False
        self.states = {}
        for node in self.topology.node_names:
            configuration = configuration_from_json(
                json.loads(json.dumps(configuration_of(planner, node).to_json())), find_tunnel_scheme
            )
            self.states[node] = TunnelState(
                configuration, Damping(WAIT_S, max_wait_s=LONGEST_WAIT_S), prepared_for(configuration)
            )

    def port_at(self, node: str, link: LinkId) -> int:
        (leaving,) = (hop for hop in self.topology.directions(link) if hop.src == node)
        return self.ports.port_of[leaving]

    def set_failed(self, failed: Iterable[LinkId], now_s: float) -> None:
        before, self.failed = self.failed, frozenset(failed)
        for link in sorted(before ^ self.failed):
            for node in (link.a, link.b):
                live = {self.port_at(node, link): link not in self.failed}
                self.tell(node, PortsChanged(live), now_s)

    def tell(self, node: str, event: Event, now_s: float) -> None:
        self.states[node], actions = step(self.states[node], event, now_s)
        for action in actions:
            self.do(node, action, now_s)

    def do(self, node: str, action: Action, now_s: float) -> None:
        if isinstance(action, ChangeRows):
            assert all(split_cookie(row.cookie).kind == Kind.AGENT for row in action.install)
            assert len(action.messages) == len(action.install) + len(action.delete)
            self.rows[node].update({row.key: row for row in action.install})
            for row in action.delete:
                del self.rows[node][row.key]
            return
        assert isinstance(action, SendLdis)
        for label, port_no in action.ldis:
            assert port_no not in self.states[node].failed_ports, "nobody hears what is sent by a failed port"
            end = None if self.loses_ldis else self.walk(label, node, port_no)
            if end is not None:
                self.tell(end, LdisHeard(frozenset({label})), now_s)

    def walk(self, label: int, node: str, port_no: int) -> str | None:
        """Whose agent an LDI comes to; None: it is lost."""
        ldi = self.planner.options.setup.ldi
        packet = Packet(0, 0, mpls=((label, ldi.tc),))
        while True:
            hop = self.ports.direction_at[node, port_no]
            if self.topology.link_id(hop) in self.failed:
                return None
            node, in_port = hop.dst, self.ports.port_of[Direction(hop.dst, hop.src, hop.key)]
            live = frozenset(number for name, number in self.ports.direction_at if name == node)
            result = interpret_switch(SwitchModel(self.plans[node]), packet, in_port, live)
            if result.punts:
                assert [number for number, _ in result.punts] == [AGENT_CONTROLLER_ID]
                return node
            ((port_no, packet, queue),) = result.outputs
            assert queue == ldi.queue_id

    def run(self, from_s: float, until_s: float) -> None:
        """Let time pass: every agent ticks when it asked to."""
        while True:
            deadlines = {node: next_deadline_s(state) for node, state in self.states.items()}
            due = {node: moment for node, moment in deadlines.items() if moment is not None and moment <= until_s}
            if not due:
                return
            node = min(due, key=due.__getitem__)
            from_s = max(from_s, due[node])
            self.tell(node, Tick(), from_s)

    def wanted(self, history: tuple[frozenset[LinkId], ...]) -> dict[str, set[FlowRow]]:
        """Rows that the planner would install for a history, by switch."""
        rows = self.planner.failure_rows(history, Kind.AGENT)
        names = {plan.dpid: node for node, plan in self.plans.items()}
        return {node: set() for node in self.rows} | {names[dpid]: set(each) for dpid, each in rows.items()}

    def held(self) -> dict[str, set[FlowRow]]:
        return {node: set(rows.values()) for node, rows in self.rows.items()}


@pytest.mark.parametrize("setup", PRIORITY_SETUPS)
@pytest.mark.parametrize("scheme", ["kuijia", "rescaling"])
@pytest.mark.parametrize("link", FIGURE1.link_ids)
def test_agents_install_what_the_planner_would_and_take_it_away_after_the_repair(
    scheme: str, setup: str, link: LinkId
) -> None:
    agents = Agents(planner_of(scheme, setup))
    assert agents.held() == agents.wanted(())
    agents.set_failed([link], 10.0)
    assert agents.held() == agents.wanted((frozenset({link}),))
    assert any(agents.held().values())
    agents.run(10.0, 20.0)
    assert agents.held() == agents.wanted((frozenset({link}),))
    agents.set_failed([], 20.0)
    assert any(agents.held().values()), "a tunnel waits before it is used again"
    agents.run(20.0, 20.0 + LIFE_S + WAIT_S)
    assert not any(agents.held().values())
    assert all(next_deadline_s(state) is None for state in agents.states.values())


@examples(20)
@given(st.lists(st.sets(st.sampled_from(FIGURE1.link_ids)), min_size=1, max_size=5))
def test_whatever_fails_and_returns_every_end_knows_its_failed_tunnels(steps: list[set[LinkId]]) -> None:
    agents = Agents(planner_of())
    now_s = 100.0
    for failed in steps:
        agents.set_failed(failed, now_s)
        agents.run(now_s, now_s + SETTLED_S)
        now_s += SETTLED_S
        for node, state in agents.states.items():
            for ingress_entry in state.configuration.ingress_entries:
                down = frozenset().union(*state.failed_tunnels.get(ingress_entry.number, ()))
                assert down == ingress_entry.commodity.down(agents.topology, failed), node


def test_a_failure_after_a_failure_repartitions_only_what_failed() -> None:
    agents, planner = Agents(planner_of()), planner_of()
    first, second = FIGURE1.parse_link("s2-s4"), FIGURE1.parse_link("s1-s3")
    agents.set_failed([first], 0.0)
    agents.run(0.0, 5.0)
    agents.set_failed([first, second], 5.0)
    assert agents.held() == agents.wanted((frozenset({first}), frozenset({second})))
    assert planner.failover.keeps_others


def test_an_ldi_that_is_lost_is_retransmitted() -> None:
    agents = Agents(planner_of())
    link = FIGURE1.parse_link("s2-s4")
    agents.loses_ldis = True
    agents.set_failed([link], 0.0)
    assert agents.held()["s1"] == set()
    agents.loses_ldis = False
    agents.run(0.0, FIRST_LDIS_S[1])
    assert agents.held()["s1"] == agents.wanted((frozenset({link}),))["s1"]


def test_an_ldi_is_believed_for_three_and_a_half_refreshes_and_then_the_tunnel_waits() -> None:
    agents = Agents(planner_of())
    label = agents.states["s1"].configuration.labels_of(agents.states["s1"].configuration.ingress_entries[0])[0]
    agents.tell("s1", LdisHeard(frozenset({label})), 0.0)
    assert agents.held()["s1"]
    agents.run(0.0, LIFE_S + WAIT_S - 0.01)
    assert agents.held()["s1"]
    agents.run(LIFE_S, LIFE_S + WAIT_S)
    assert not agents.held()["s1"]


def test_a_tunnel_that_flaps_waits_longer() -> None:
    agents = Agents(planner_of())
    link = FIGURE1.parse_link("s1-s4")
    for second in (0.0, 10.0):
        agents.set_failed([link], second)
        agents.set_failed([], second + 1.0)
        agents.run(second + 1.0, second + 9.0)
    agents.set_failed([link], 20.0)
    agents.set_failed([], 21.0)
    agents.run(21.0, 21.0 + WAIT_S)
    assert agents.held()["s1"]
    agents.run(21.0, 21.0 + 4 * WAIT_S)
    assert not agents.held()["s1"]


def test_labels_of_others_are_no_concern() -> None:
    agents = Agents(planner_of())
    agents.tell("s1", LdisHeard(frozenset({99999})), 0.0)
    agents.tell("s2", LdisHeard(frozenset(agents.planner.labels.values())), 0.0)
    assert not any(agents.held().values())
    assert all(next_deadline_s(state) is None for state in agents.states.values())


def test_ldis_come_quickly_at_first_and_then_at_the_refresh_interval() -> None:
    agents = Agents(planner_of())
    link = FIGURE1.parse_link("s2-s4")
    agents.set_failed([link], 0.0)
    moments = [0.0]
    while moments[-1] < 2.0:
        moment = next_deadline_s(agents.states["s2"])
        assert moment is not None
        agents.tell("s2", Tick(), moment)
        moments.append(moment)
    steady = [FIRST_LDIS_S[-1] + REFRESH_S * count for count in range(1, 5)]
    assert moments == pytest.approx([*FIRST_LDIS_S, *steady])


def test_a_new_agent_takes_over_the_rows_of_the_one_before() -> None:
    """The tunnel by s2 is still down, as its LDIs say again; the failover rows of another are removed, later."""
    agents = Agents(planner_of())
    link, other = FIGURE1.parse_link("s2-s4"), FIGURE1.parse_link("s1-s4")
    agents.set_failed([link, other], 0.0)
    left = tuple(agents.rows["s1"].values())
    agents.set_failed([link], 0.0)
    fresh = Agents(planner_of()).states["s1"]
    agents.states["s1"] = fresh
    live = {agents.port_at("s1", each): True for each in FIGURE1.link_ids if "s1" in (each.a, each.b)}
    agents.tell("s1", SwitchRead(live, left), 1.0)
    assert set(agents.rows["s1"].values()) == set(left), "nothing goes before all LDIs can have been heard"
    agents.run(1.0, 1.0 + LIFE_S)
    assert agents.held() == agents.wanted((frozenset({link}),))


def test_a_port_that_the_switch_does_not_name_when_it_is_read_is_gone() -> None:
    link, failing, reading = FIGURE1.parse_link("s1-s2"), Agents(planner_of()), Agents(planner_of())
    failing.set_failed([link], 0.0)
    live = {reading.port_at("s1", each): True for each in FIGURE1.link_ids if "s1" in (each.a, each.b)}
    del live[reading.port_at("s1", link)]
    reading.tell("s1", SwitchRead(live, ()), 0.0)
    assert reading.rows["s1"] == failing.rows["s1"] != {}


def test_messages_are_whole_openflow_messages() -> None:
    state = Agents(planner_of()).states["s1"]
    label = state.configuration.labels_of(state.configuration.ingress_entries[0])[0]
    _, actions = step(state, LdisHeard(frozenset({label})), 0.0)
    (change,) = actions
    assert isinstance(change, ChangeRows)
    messages, rest = split_messages(b"".join(change.messages))
    assert (len(messages), rest) == (len(change.install), b"")


@given(st.integers(0, (1 << 20) - 1), st.integers(0, 7), st.integers(0, 7))
def test_an_ldi_is_read_as_it_was_written(label: int, tc: int, other: int) -> None:
    assert read_ldi(ldi_frame(label, tc), tc) == label
    assert (read_ldi(ldi_frame(label, tc), other) is None) is (tc != other)


@given(st.binary(max_size=80))
def test_any_other_frame_is_no_ldi_or_a_label(frame: bytes) -> None:
    found = read_ldi(frame, 7)
    assert found is None or 0 <= found < 1 << 20


@pytest.mark.parametrize("setup", PRIORITY_SETUPS)
def test_plans_with_ldi_rows_are_sound_and_hold_the_plans_without(setup: str) -> None:
    with_ldis = planner_of(setup=setup).plans()
    plain = TunnelPlanner(
        tunnel_schemes()["kuijia"], FIGURE1, [figure1_traffic((0.5, 0.3, 0.2))], TunnelOptions(setup)
    ).plans()
    ldi = PRIORITY_SETUPS[setup].ldi
    for dpid, plan in with_ldis.items():
        assert not violations(plan)
        added = set(plan.flows) - set(plain[dpid].flows)
        assert set(plain[dpid].flows) <= set(plan.flows)
        assert all(("mpls_tc", ldi.tc, None) in row.match for row in added)


def test_no_class_of_traffic_has_the_tc_of_ldis() -> None:
    for setup in PRIORITY_SETUPS.values():
        assert setup.ldi.tc not in {mark.tc for each in setup.classes for mark in (each.normal, each.victim)}


def test_agent_configurations_survive_json() -> None:
    planner = planner_of()
    for node in FIGURE1.node_names:
        configuration = configuration_of(planner, node)
        again = configuration_from_json(json.loads(json.dumps(configuration.to_json())), find_tunnel_scheme)
        assert (again.crossings, again.labels, again.ports) == (
            configuration.crossings,
            configuration.labels,
            configuration.ports,
        )
        assert [each.base for each in again.ingress_entries] == [each.base for each in configuration.ingress_entries]


@pytest.mark.parametrize("value", [None, [], {}, {"version": 2}, {"version": 1, "node": "s1", "priorities": "nine"}])
def test_what_is_no_configuration_is_refused(value: object) -> None:
    with pytest.raises(BadInputError, match="write it again"):
        configuration_from_json(value, find_tunnel_scheme)


def test_two_commodities_with_one_number_are_refused() -> None:
    value = configuration_of(planner_of(), "s1").to_json()
    value["ingress_entries"] *= 2
    with pytest.raises(BadInputError, match="one number"):
        configuration_from_json(value, find_tunnel_scheme)


def places_in(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Paths to everything inside a JSON value."""
    yield from (path,) if path else ()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places_in(inner, (*path, key))


@pytest.mark.parametrize("wrong", [None, "x", -1, 1 << 40, 1.5, [], {}, [["a"]]])
def test_a_configuration_with_anything_wrong_in_it_is_refused_or_serves(wrong: object) -> None:
    sound = configuration_of(planner_of(), "s1").to_json()
    refused = 0
    for *path, last in places_in(sound):
        broken = json.loads(json.dumps(sound))
        place = broken
        for key in path:
            place = place[key]
        place[last] = wrong
        try:
            configuration = configuration_from_json(broken, find_tunnel_scheme)
        except BadInputError:
            refused += 1
            continue
        assert configuration.crossings
        prepared_for(configuration)
    assert refused > 80


def test_agents_cannot_change_groups() -> None:
    assert NOTIFIERS == ("controller", "agent")
    with pytest.raises(BadInputError, match="hash ranges, not groups"):
        TunnelOptions(split="select", notified_by="agent")
