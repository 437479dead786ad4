"""What Kuijia's measured trials are made of: topology, demands, allocation, plans and flows of one trial."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from experiments.analysis.flows.aggregates import aggregate_flows
from experiments.campaign.kinds.flows import FlowsParameters
from experiments.campaign.kinds.ingress import IngressParameters
from experiments.campaign.values import Trial, parameters_of
from experiments.scenario.flow_values import Flow
from mininet_topos.build import from_edges, numbered_nodes
from mininet_topos.catalogue import load_topology
from mininet_topos.topology import LinkId, Topology
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.sources import allocated_commodities, equal_commodities
from ryu_apps.schemes import find_tunnel_scheme
from te_solver.demands import random_pairs, with_classes
from te_solver.network import Network, to_network
from te_solver.solve import SolveOptions, solve
from te_solver.tunnels import to_problem
from te_solver.values import Allocation, Demand

GSCALE, FIGURE1 = "gscale", "kuijia-figure1"
PAIRS, TUNNELS, LOW_TO_HIGH = 5, 3, 10.0
LINK_MBPS = 1000.0  # the paper's
SCALE = 100.0
# Datagrams cost every switch on their way more than TCP's large segments: at 1:100 two cores lost 1 to 5 % of them.
UDP_SCALE = 200.0
_SMALLEST_MBPS = 5.0  # the paper's; smaller flows are left out
SINGLE, FOUR = "single", "four"
TE_SOLVER = "fast"  # of the controllers of these trials too: two solvers differ by a slot here and there
_DRAWINGS_A_SEED = 1000


def figure1() -> Topology:
    """Figure 1 of the paper: three tunnels from s1 to s4, straight, by s2 and by s3; s2-s4 fails."""
    edges = ((1, 2), (2, 4), (1, 4), (1, 3), (3, 4))
    names = [f"s{number}" for number in range(1, 5)]
    return from_edges(FIGURE1, numbered_nodes(names), edges, capacity_mbps=LINK_MBPS)


def topology_of(name: str) -> Topology:
    """Topology of a trial; capacities are the paper's."""
    return figure1() if name == FIGURE1 else load_topology(name)


@lru_cache(maxsize=64)
def demands_of(
    drawing: int, seed: int, demand_mbps: int, low_to_high: float | None, pairs: int = PAIRS
) -> tuple[Demand, ...]:
    """Demands of a drawing, in the paper's Mbit/s; two classes each when there is a ratio of low to high."""
    topology = load_topology(GSCALE)
    demands = random_pairs(topology, pairs, demand_mbps, _DRAWINGS_A_SEED * seed + drawing)
    return demands if low_to_high is None else with_classes(demands, low_to_high)


@lru_cache(maxsize=64)
def allocation_of(
    drawing: int, seed: int, demand_mbps: int, low_to_high: float | None, pairs: int = PAIRS, *, tunnels: int = TUNNELS
) -> Allocation:
    """What traffic engineering gives each tunnel, in the paper's Mbit/s."""
    network = to_network(load_topology(GSCALE))
    problem = to_problem(network, demands_of(drawing, seed, demand_mbps, low_to_high, pairs), tunnels)
    return solve(problem, SolveOptions(te_solver=TE_SOLVER))


@dataclass(frozen=True)
class Traffic:
    """Everything that a measured trial is made of, in the network's own Mbit/s; `Traffic(trial)` prepares it."""

    trial: Trial

    @property
    def parameters(self) -> FlowsParameters | IngressParameters:
        """Of the trial."""
        return _own(self.trial)

    @cached_property
    def topology(self) -> Topology:
        """With the paper's capacities."""
        return topology_of(self.trial.topology)

    @property
    def capacity_scale(self) -> float:
        """What the paper's capacities are multiplied with."""
        return self.parameters.headroom / self.parameters.scale

    @property
    def network(self) -> Network:
        """With the capacities that links are shaped to (Mbit/s of whole frames)."""
        return Network(self.topology, to_network(self.topology).capacity_mbps * self.capacity_scale)

    @cached_property
    def failures(self) -> tuple[frozenset[LinkId], ...]:
        """What fails, as plans name it."""
        return (frozenset(self.topology.parse_link(name) for name in self.trial.links),)

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """What the controller is asked for, in the paper's Mbit/s; empty: all pairs, equal weights."""
        return demands_of(*_case(self.parameters), self.parameters.pairs or 0) if self.trial.topology == GSCALE else ()

    @property
    def allocation(self) -> Allocation:
        """What traffic engineering gives each tunnel of the drawn pairs, in the paper's Mbit/s."""
        return allocation_of(*_case(self.parameters), self.parameters.pairs or 0, tunnels=self.parameters.tunnels)

    @cached_property
    def commodities(self) -> tuple[TunnelCommodity, ...]:
        """Pairs with tunnels and weights, as the controller finds them too."""
        if self.trial.topology == GSCALE:
            return allocated_commodities(self.allocation)
        return equal_commodities(self.topology)

    @cached_property
    def planner(self) -> TunnelPlanner:
        """Plans of the trial's scheme."""
        scheme = find_tunnel_scheme(self.trial.variant.scheme if self.trial.variant else "kuijia")
        return TunnelPlanner(scheme, self.topology, self.commodities, TunnelOptions(priorities=self.queues))

    @property
    def queues(self) -> str:
        """Set-up of queues."""
        return self.parameters.queues

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """What is sent: aggregates of section 5.1, or the four flows of section 3."""
        own = parameters_of(self.trial, FlowsParameters)
        if own.table_mbps is not None:
            seed = 10 * own.drawing if own.random_intervals else None
            return figure1_flows(*own.table_mbps, own.scale, own.transport, seed)
        allocation, share = self.allocation, own.offered_share or 1.0
        granted = {
            (demand.src, demand.dst, demand.priority): share * mbps / own.scale
            for demand, mbps in zip(allocation.problem.demands, allocation.demand_mbps.tolist(), strict=True)
        }
        names = None if self.queues == SINGLE else _class_names(self.demands, self.planner)
        flows = aggregate_flows(self.commodities, granted, own.transport, names, _SMALLEST_MBPS / own.scale)
        return tuple(self._sure(flow) for flow in flows)

    def _sure(self, flow: Flow) -> Flow:
        """A flow whose next tunnel fails with its own goes wherever it can."""
        commodity = next(each for each in self.commodities if each.pair == (flow.source, flow.destination))
        down = commodity.down(self.topology, self.failures[0])
        return replace(flow, moves_to=None) if flow.tunnel in down and flow.moves_to in down else flow


def _class_names(demands: tuple[Demand, ...], planner: TunnelPlanner) -> dict[int, str | None]:
    return {each.priority: planner.options.setup.class_of(each.priority).name for each in demands}


def _own(trial: Trial) -> FlowsParameters | IngressParameters:
    if isinstance(trial.parameters, IngressParameters):
        return trial.parameters
    return parameters_of(trial, FlowsParameters)


def _case(own: FlowsParameters | IngressParameters) -> tuple[int, int, int, float | None]:
    return own.drawing, own.seed, own.demand_mbps or 0, own.low_to_high


def figure1_flows(
    victim_mbps: float,
    other_mbps: float,
    scale: float = SCALE,
    transport: str = "tcp",
    interval_seed: int | None = None,
) -> tuple[Flow, ...]:
    """Flows f1 to f4 of section 3; the tunnel by s2 fails, f1 goes over to the straight one, f2 to that by s3.

    Parameters
    ----------
    victim_mbps, other_mbps
        What f1 and f2, and what f3 and f4 offer each, in the paper's Mbit/s.
    scale
        The paper's rates over ours.
    transport
        "tcp" or "udp".
    interval_seed
        Of f1, and the next ones of the others; None: datagrams at equal intervals.
    """
    straight, by_s2, by_s3 = 0, 1, 2
    port = Flow("", "s1", "s4").port
    flows = (
        Flow("f1", "s1", "s4", transport, victim_mbps / scale, None, by_s2, straight, port),
        Flow("f2", "s1", "s4", transport, victim_mbps / scale, None, by_s2, by_s3, port + 1),
        Flow("f3", "s1", "s4", transport, other_mbps / scale, None, straight, None, port + 2),
        Flow("f4", "s1", "s4", transport, other_mbps / scale, None, by_s3, None, port + 3),
    )
    if interval_seed is None:
        return flows
    return tuple(replace(flow, interval_seed=interval_seed + number) for number, flow in enumerate(flows))
