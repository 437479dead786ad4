"""Schemes of tunnels in a run: what is planned from a scenario, and which flows it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from emulation.decide.queues import QUEUE_SETUPS, QueueSetup, queue_setup
from experiments.analysis.flows.aggregates import aggregate_flows
from experiments.analysis.flows.placing import find_ingress_entry
from experiments.scenario.flow_values import FRAME_OVER_PAYLOAD, Flow
from experiments.scenario.tunnel_values import WantedFlow
from experiments.scenario.values import Scenario, Variation
from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.traffic import Question, TrafficSettings, question_of
from ryu_apps.plan.kuijia.commodities import TunnelCommodity, nodes_of
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.priorities import PRIORITY_SETUPS
from ryu_apps.plan.rows import RulePlan
from ryu_apps.schemes import find_scheme, find_tunnel_scheme

DEFAULT_QUEUES = "single"


def is_tunnel_scheme(variation: Variation) -> bool:
    """Whether a run's scheme plans tunnels."""
    return find_scheme(variation.scheme).tunnels is not None


def queues_of(scenario: Scenario, variation: Variation) -> QueueSetup | None:
    """Priority queues of every link port: what the scenario asks for; tunnels have "single" otherwise."""
    if is_tunnel_scheme(variation):
        return queue_setup(PRIORITY_SETUPS[scenario.queues or DEFAULT_QUEUES], scenario.tunnels.tunnel_field)
    return None if scenario.queues is None else QUEUE_SETUPS[scenario.queues]


def traffic_settings(scenario: Scenario) -> TrafficSettings:
    """The controller's settings for tunnels."""
    configuration = scenario.tunnels
    return TrafficSettings(
        demands=configuration.demands,
        tunnels=configuration.tunnels,
        tunnel_kind=configuration.tunnel_kind,
        objective=configuration.objective,
        te_solver=configuration.te_solver,
        default_capacity_mbps=scenario.default_capacity_mbps,
        low_to_high=configuration.low_to_high,
        seed=scenario.seed,
        shape=configuration.shape,
        options=TunnelOptions(
            scenario.queues or DEFAULT_QUEUES,
            notified_by=configuration.notified_by,
            tunnel_field=configuration.tunnel_field,
        ),
    )


def question(scenario: Scenario, variation: Variation, given: str = "") -> Question:
    """What traffic engineering is asked, as the controller asks it; `given` replaces the demands."""
    asked = question_of(
        scenario.topology_name,
        variation.metric,
        traffic_settings(scenario),
        find_tunnel_scheme(variation.scheme).tunnels,
    )
    return replace(asked, given=given or scenario.tunnels.given)


def tunnel_planner(scenario: Scenario, variation: Variation) -> TunnelPlanner:
    """The planner from which the controller of a run plans.

    Raises
    ------
    BadInputError
        Demands or options that cannot be used.
    """
    from ryu_apps.control.engineer import decide  # brings a compiler with it

    decision = decide(question(scenario, variation), scenario.topology)
    return TunnelPlanner(
        find_tunnel_scheme(variation.scheme),
        scenario.topology,
        decision.commodities,
        traffic_settings(scenario).options,
    )


def rerun_planner(scenario: Scenario, variation: Variation, planner: TunnelPlanner) -> TunnelPlanner:
    """The planner after the scenario's run of traffic engineering; flows that need not move do not."""
    from ryu_apps.control.engineer import decide

    given = "" if scenario.rerun is None else scenario.rerun.given
    decision = decide(question(scenario, variation, given), scenario.topology)
    return TunnelPlanner(planner.scheme, scenario.topology, decision.commodities, planner.options, planner.held())


def tunnel_plans(scenario: Scenario, planner: TunnelPlanner) -> dict[int, RulePlan]:
    """Plans as the switches hold them, by datapath id."""
    return installed_plans(planner.plans(), scenario.tunnels.shape)


def flows_of(scenario: Scenario, variation: Variation, planner: TunnelPlanner | None) -> tuple[Flow, ...]:
    """Flows of a run.

    Parameters
    ----------
    planner
        None for a scheme of routes.

    Raises
    ------
    BadInputError
        A flow names a tunnel that its pair does not have, or there are no demands to make flows from.
    """
    if scenario.aggregates is None:
        return tuple(_with_tunnels(wanted, planner) for wanted in scenario.flows)
    if planner is None:
        raise BadInputError(
            f"flows: {scenario.aggregates} makes two flows for each tunnel, and scheme {variation.scheme!r} has none; "
            "list the flows"
        )
    # What is allocated is capacity of links, which carry headers too; flows offer payload.
    share = 1 / FRAME_OVER_PAYLOAD[scenario.aggregates]
    payload = {key: volume * share for key, volume in granted(scenario, variation).items()}
    return aggregate_flows(_forward(planner), payload, scenario.aggregates, _class_names(planner))


def granted(scenario: Scenario, variation: Variation) -> Mapping[tuple[str, str, int], float]:
    """What traffic engineering allocates to every demand, Mbit/s by source, destination and priority.

    Raises
    ------
    BadInputError
        There are no demands.
    """
    from ryu_apps.control.engineer import allocate

    plan = allocate(question(scenario, variation), scenario.topology)
    volumes = plan.granted_mbps.tolist()
    return {
        (demand.src, demand.dst, demand.priority): volume
        for demand, volume in zip(plan.problem.demands, volumes, strict=True)
    }


def _forward(planner: TunnelPlanner) -> list[TunnelCommodity]:
    return [
        ingress_entry.commodity
        for ingress_entries in planner.ingress_entries.values()
        for ingress_entry in ingress_entries
    ]


def _class_names(planner: TunnelPlanner) -> dict[int, str | None]:
    """Name of the class by priority; None where all traffic is of one class."""
    setup = planner.options.setup
    if len(setup.classes) == 1:
        return {priority: None for priority, _ in setup.class_at}
    return {priority: setup.classes[position].name for priority, position in setup.class_at}


def _with_tunnels(wanted: WantedFlow, planner: TunnelPlanner | None) -> Flow:
    """The flow with its tunnels as numbers."""
    flow = wanted.flow
    if planner is None:
        return replace(flow, tunnel=None, moves_to=None)
    return replace(
        flow,
        tunnel=_number(planner, flow, wanted.via) if wanted.via else flow.tunnel,
        moves_to=_number(planner, flow, wanted.moves_via) if wanted.moves_via else flow.moves_to,
    )


def _number(planner: TunnelPlanner, flow: Flow, nodes: tuple[str, ...]) -> int:
    paths = [nodes_of(path) for path in find_ingress_entry(planner, flow).commodity.paths]
    if nodes not in paths:
        known = ", ".join(" ".join(path) for path in paths)
        raise BadInputError(
            f"flow {flow.name!r} is meant for the tunnel {' '.join(nodes)}, which is none of its pair's ({known}); "
            "choose one of those"
        )
    return paths.index(nodes)
