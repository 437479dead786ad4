"""Random small networks, and the readable oracle's answers about them."""

from __future__ import annotations

from hypothesis import strategies as st

from experiments.verification.dynamics import dynamics_of
from mininet_topos.topology import Link, LinkId, Node, Topology
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.registry import find_scheme
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.walk import Network, WalkResult


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
        planner=st.sampled_from(["tree", "pair"]),
        routes=st.sampled_from(["spt", "mst"]),
        max_failures=st.integers(0, 2),
    )


@st.composite
def cases(draw, schemes=("sdfast", "sdfast", "ffg", "shortest"), topologies=None):
    """(scheme, topology, options, failed links): up to three failed links."""
    topology = draw(topologies or connected())
    failed = draw(st.sets(st.sampled_from(topology.link_ids), min_size=1, max_size=3))
    return draw(st.sampled_from(schemes)), topology, draw(options()), frozenset(failed)


def mode_of(scheme: str, chosen: PlanOptions) -> str:
    """How rows come later: the mode, for schemes that have modes."""
    return chosen.mode if len(find_scheme(scheme).modes) > 1 else "none"


def network_of(scheme, topology, chosen, failed=frozenset(), plans=None) -> Network:
    """The readable network walker."""
    plans = find_scheme(scheme).plan(topology, chosen) if plans is None else plans
    return Network(topology, plans, dynamics_of(mode_of(scheme, chosen), plans), failed)


def send(network: Network, source: int, target: int) -> WalkResult:
    """Send an untagged packet between two hosts, by position."""
    hosts = list(hosts_of(network.topology).values())
    node = network.topology.node_names[source]
    return network.send(node, Packet(hosts[source].ipv4, hosts[target].ipv4))


def by_node(topology: Topology, plans: dict[int, RulePlan]) -> list[RulePlan]:
    """Plans by node position."""
    return [plans[number + 1] for number in range(len(topology.nodes))]


def numbers_of(topology: Topology, failed: frozenset[LinkId]) -> list[int]:
    """Link numbers, ascending."""
    return [number for number, link in enumerate(topology.link_ids) if link in failed]
