"""All agents of a network at once, each with a memory of its own: what they install together ends the backtracking."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Direction, LinkId, Topology
from ovsdb_backup.decide.agent_types import FlowsRemoved, PacketIn, PortStatus
from ovsdb_backup.decide.packet import PacketFields
from ryu_apps.plan.addressing import dpid_of, hosts_of
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import split_cookie
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.rows import FlowRow, RulePlan
from tests.examples import examples
from tests.ovsdb_backup.test_agent_laws import wait
from tests.ovsdb_backup.world import Site, World, connected_world, plans_of

Step = tuple[str, int, Packet]


class AgentNetwork:
    """Switches with their planned rows, agents beside them, and links that may fail."""

    def __init__(self, topology: Topology, planner: str = "tree") -> None:
        self.topology = topology
        self.ports = assign_ports(topology)
        plans = plans_of(topology, planner)
        self.hosts = hosts_of(topology)
        self.failed: set[LinkId] = set()
        self.models = {plan.node: SwitchModel(plan) for plan in plans.values()}
        self.worlds: dict[str, World] = {}
        self.sets = FailureSets(*plans[1].tag_space)
        for node in topology.node_names:
            link_ports = tuple(port for name, port in self.ports.direction_at if name == node)
            self.worlds[node] = connected_world(Site(node, plans[dpid_of(topology, node)], link_ports))

    def set_link(self, link: LinkId, up: bool) -> None:
        """Fail a link, or repair it; the agents at both ends hear of it."""
        (self.failed.discard if up else self.failed.add)(link)
        for direction in self.topology.directions(link):
            world, port_no = self.worlds[direction.src], self.ports.port_of[direction]
            world.live[port_no] = up
            world.tell(PortStatus(port_no, up))

    def send(self, source: str, destination: str) -> tuple[bool, list[str]]:
        """Whether a packet arrives, and the switches that it passes."""
        packet = Packet(self.hosts[source].ipv4, self.hosts[destination].ipv4)
        path: list[str] = []
        waiting: list[Step] = [(source, HOST_PORT, packet)]
        arrived = False
        while waiting:
            node, in_port, here = waiting.pop()
            path.append(node)
            assert len(path) < 200, f"a packet from {source} to {destination} loops: {path[:30]}"
            for port_no, leaving in self._pass(node, in_port, here):
                if port_no == HOST_PORT:
                    assert leaving == packet, "a packet leaves the network as it came in"
                    arrived = True
                else:
                    waiting += self._carry(node, port_no, leaving)
        return arrived, path

    def _pass(self, node: str, in_port: int, packet: Packet) -> list[tuple[int, Packet]]:
        world, live = self.worlds[node], frozenset(self.worlds[node].live)
        result = interpret_switch(self.models[node], packet, in_port, live, tuple(world.agent_rows.values()))
        leaving = [(port_no, sent) for port_no, sent, _queue in result.outputs]
        for _controller_id, punted in result.punts:
            world.released.clear()
            world.tell(PacketIn(PacketFields(punted.vlan_tci, punted.ipv4_src, punted.ipv4_dst), punted))
            for handle, actions in world.released:
                model = SwitchModel(RulePlan(1, node, flows=(FlowRow(0, 1, (), actions),)))
                outputs = interpret_switch(model, handle, 0, live).outputs
                leaving += [(port_no, sent) for port_no, sent, _queue in outputs]
        world.deliver_notices()
        return leaving

    def _carry(self, node: str, port_no: int, packet: Packet) -> list[Step]:
        direction = self.ports.direction_at[node, port_no]
        if self.topology.link_id(direction) in self.failed:
            return []
        return [(direction.dst, self.ports.port_of[Direction(direction.dst, direction.src, direction.key)], packet)]

    def exchange(self, pairs: list[tuple[str, str]], rounds: int) -> None:
        """Some rounds of one packet a pair."""
        for _round in range(rounds):
            for source, destination in pairs:
                self.send(source, destination)

    def controller_returns(self, link: LinkId) -> None:
        """What the controller does when a link has been up for long enough: remove rows about it, everywhere."""
        about = set(self.sets.containing(self.topology.link_ids.index(link)))
        for world in self.worlds.values():
            for row in list(world.agent_rows.values()):
                if split_cookie(row.cookie).tag_id in about:
                    world.remove(row)
        for world in self.worlds.values():
            while world.notices:
                world.tell(FlowsRemoved((world.notices.pop(),)))

    def wait(self, seconds: float) -> None:
        """Time passes everywhere."""
        for world in self.worlds.values():
            wait(world, seconds)

    @property
    def agent_rows(self) -> list[FlowRow]:
        """Rows of all agents."""
        return [row for world in self.worlds.values() for row in world.agent_rows.values()]


def all_pairs(topology: Topology) -> list[tuple[str, str]]:
    return [(one, other) for one in topology.node_names for other in topology.node_names if one != other]


def residual_pairs(network: AgentNetwork) -> list[tuple[str, str]]:
    part_of = network.topology.components(network.failed)
    return [(one, other) for one, other in all_pairs(network.topology) if part_of[one] == part_of[other]]


SMALL = ("figure2", "square", "ladder", "theta", "dumbbell", "parallel", "ring:6", "grid:3x3")


@examples(30)
@given(st.sampled_from(SMALL), st.sampled_from(["tree", "pair"]), st.integers(0, 2**32 - 1), st.integers(1, 2))
def test_every_packet_arrives_and_after_a_while_none_backtracks(name, planner, seed, n_failures):
    chance = random.Random(seed)
    network = AgentNetwork(load_topology(name), planner)
    pairs = all_pairs(network.topology)
    failed_links = chance.sample(network.topology.link_ids, min(n_failures, network.sets.max_failures))
    for link in failed_links:
        network.set_link(link, up=False)
        some = chance.sample(pairs, min(len(pairs), 20))
        for pair in some:
            arrived, _path = network.send(*pair)
            assert arrived == (pair in residual_pairs(network))
    connected = residual_pairs(network)
    chance.shuffle(connected)
    network.exchange(connected, rounds=4)
    for pair in connected:
        arrived, path = network.send(*pair)
        assert arrived
        assert len(path) == len(set(path)), f"{pair} still backtracks: {path}"


@examples(15)
@given(st.sampled_from(SMALL), st.sampled_from(["tree", "pair"]), st.integers(0, 2**32 - 1))
def test_after_repair_wait_and_return_the_network_is_as_new(name, planner, seed):
    chance = random.Random(seed)
    network = AgentNetwork(load_topology(name), planner)
    pairs = all_pairs(network.topology)
    first = {pair: network.send(*pair) for pair in pairs}
    failed_links = chance.sample(network.topology.link_ids, network.sets.max_failures)
    for link in failed_links:
        network.set_link(link, up=False)
        network.exchange(chance.sample(pairs, min(len(pairs), 30)), rounds=2)
    for link in chance.sample(failed_links, len(failed_links)):
        network.set_link(link, up=True)
        network.exchange(chance.sample(pairs, min(len(pairs), 10)), rounds=1)
        network.wait(chance.choice([0.0, 1000.0]))
        network.controller_returns(link)
        network.exchange(chance.sample(pairs, min(len(pairs), 10)), rounds=1)
    network.wait(1000.0)
    for link in failed_links:
        network.controller_returns(link)
    assert network.agent_rows == []
    assert {pair: network.send(*pair) for pair in pairs} == first


@pytest.mark.slow
def test_replies_do_not_backtrack_after_the_first_recovered_packet():
    """One host pair on Darkstrand whose failure needs crankback: one packet there, then every reply goes straight."""
    network = AgentNetwork(load_topology("darkstrand"))
    source, destination = "s1", "s19"
    _arrived, primary = network.send(source, destination)
    for one, other in pairwise(primary):
        link = network.topology.link_id(Direction(one, other))
        network.set_link(link, up=False)
        arrived, _path = network.send(source, destination)
        assert arrived
        arrived, path = network.send(destination, source)
        assert arrived
        assert len(path) == len(set(path)), f"the reply backtracks after the failure of {link}: {path}"
        network.set_link(link, up=True)
        network.wait(1000.0)
        network.controller_returns(link)
        assert network.agent_rows == []


@pytest.mark.parametrize("name", ["figure2", "darkstrand"])
def test_first_packet_backtracks_once_and_the_next_does_not(name):
    """The paper's Figure 2: D sends the packet back, B turns it round, the next one leaves at B."""
    network = AgentNetwork(load_topology(name))
    source, destination = ("s1", "s5") if name == "figure2" else ("s1", "s19")
    _arrived, primary = network.send(source, destination)
    network.set_link(network.topology.link_id(Direction(*primary[-2:])), up=False)
    arrived, first = network.send(source, destination)
    assert arrived
    assert len(first) > len(set(first))
    for _packet in range(3):
        arrived, path = network.send(source, destination)
        assert arrived
        assert len(path) == len(set(path))
