"""Random small networks, and the readable oracle's answers about them."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

from hypothesis import strategies as st

from experiments.verify.growable_arrays import Ints
from experiments.verify.walk.dynamics import dynamics_of
from experiments.verify.walk.transitions import Switches, Transitions
from experiments.verify.wiring import Wiring
from mininet_topos.topology import Link, LinkId, Node, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.choices import NOTIFICATIONS
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.walk import Network, WalkResult
from ryu_apps.schemes import find_scheme
from tests.verify.mutants import learn_without_tag, never_learn, retag_with_the_last_link_only, send_elsewhere


def topology_of(edges, name="drawn"):
    """Topology from (a, b) pairs of node numbers from 1; repeated pairs are parallel links."""
    count = max(max(edge) for edge in edges)
    keys: dict[tuple[int, int], int] = {}
    links: list[Link] = []
    for a, b in edges:
        a, b = min(a, b), max(a, b)
        key = keys[a, b] = keys.get((a, b), -1) + 1
        links += [Link(f"s{a}", f"s{b}", key), Link(f"s{b}", f"s{a}", key)]
    return Topology(name, tuple(Node(f"s{number + 1}") for number in range(count)), tuple(links))


@st.composite
def connected(draw, max_nodes=6, max_extra=4):
    """Connected topologies: a random tree and a few more links, some parallel."""
    count = draw(st.integers(2, max_nodes))
    edges = [(draw(st.integers(1, number - 1)), number) for number in range(2, count + 1)]
    ends = st.tuples(st.integers(1, count), st.integers(1, count)).filter(lambda edge: edge[0] != edge[1])
    return topology_of(edges + draw(st.lists(ends, max_size=max_extra)))


def options():
    """Options of every kind, planned for one or two failures."""
    return st.builds(
        PlanOptions,
        mode=st.sampled_from(["learned", "agent"]),
        planner=st.sampled_from(["tree", "pair", "tunnels"]),
        routes=st.sampled_from(["spt", "mst"]),
        max_failures=st.integers(0, 2),
        notification=st.sampled_from(NOTIFICATIONS),
    )


class Case(NamedTuple):
    """What is walked: plans of a scheme (perhaps corrupted), and failed links."""

    scheme: str
    topology: Topology
    options: PlanOptions
    failed: frozenset[LinkId]
    plans: dict[int, RulePlan]
    corrupted: tuple[object, ...] = ()

    def __repr__(self) -> str:
        links, failed = [str(link) for link in self.topology.link_ids], sorted(map(str, self.failed))
        return f"<{self.scheme} {self.options} on {links}, {failed} failed, corrupted: {self.corrupted}>"

    @property
    def mode(self) -> str:
        """How rows come after a failure."""
        return mode_of(self.scheme, self.options)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All ordered pairs of node positions."""
        return list(permutations(range(len(self.topology.nodes)), 2))

    def network(self) -> Network:
        """The readable network walker, before any packet."""
        return Network(self.topology, self.plans, dynamics_of(self.mode, self.plans), self.failed)

    def switches(self, make) -> tuple[Switches, Transitions, Ints]:
        """Fast switches, their transitions, and the contexts under the failed links."""
        wiring = Wiring(self.topology)
        by_node = [self.plans[number + 1] for number in range(len(self.topology.nodes))]
        switches = make(wiring, by_node, dynamics_of(self.mode, self.plans))
        return switches, Transitions(switches, wiring), wiring.contexts([numbers_of(self.topology, self.failed)])


def case_of(scheme: str, topology: Topology, options: PlanOptions, failed) -> Case:
    """Case with the scheme's own plans."""
    return Case(scheme, topology, options, frozenset(failed), find_scheme(scheme).plan(topology, options))


@st.composite
def cases(draw, schemes=("sdfast", "sdfast", "ffg", "arborescences", "shortest"), topologies=None):
    """Cases with up to three failed links; the plans of some are corrupted, so that packets loop and get lost."""
    topology = draw(connected() if topologies is None else topologies)
    failed = draw(st.sets(st.sampled_from(topology.link_ids), min_size=1, max_size=3))
    case = case_of(draw(st.sampled_from(schemes)), topology, draw(options()), failed)
    plans, corrupted = dict(case.plans), []
    if case.scheme == "sdfast":
        for dpid, number in draw(st.lists(st.tuples(st.sampled_from(sorted(plans)), st.integers(0, 99)), max_size=4)):
            degree = len(topology.links_from[topology.node_names[dpid - 1]])
            corrupted.append((dpid, number, 2 + draw(st.integers(0, degree - 1))))
            plans[dpid] = send_elsewhere(plans[dpid], *corrupted[-1][1:])
    if case.mode == "learned" and draw(st.booleans()):
        corrupted.append(draw(st.sampled_from([retag_with_the_last_link_only, learn_without_tag, never_learn])))
        plans = {dpid: corrupted[-1](plan) for dpid, plan in plans.items()}
    return case._replace(plans=plans, corrupted=tuple(corrupted))


def mode_of(scheme: str, chosen: PlanOptions) -> str:
    """How rows come later: the mode, for schemes that have modes."""
    return find_scheme(scheme).mode_of(chosen)


def send(network: Network, source: int, target: int) -> WalkResult:
    """Send an untagged packet between two hosts, by position; no host may get what is not its own."""
    hosts = list(hosts_of(network.topology).values())
    node = network.topology.node_names[source]
    walk = network.send(node, Packet(hosts[source].ipv4, hosts[target].ipv4))
    assert walk.astray == 0, walk
    return walk


def numbers_of(topology: Topology, failed: frozenset[LinkId]) -> list[int]:
    """Link numbers, ascending."""
    return [number for number, link in enumerate(topology.link_ids) if link in failed]
