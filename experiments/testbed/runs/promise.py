"""What a scheme promises for a pair, as a predicate that a run's result can be held to."""

from __future__ import annotations

from experiments.analysis.record import Promise
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.runs.parts import options_of
from mininet_topos.topology import Direction, LinkId
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.walk import Learning, Network
from ryu_apps.schemes import find_route_scheme


def tunnel_promise(scenario: Scenario, planner: TunnelPlanner) -> Promise:
    """Predicate of a scheme of tunnels (source, destination, links down): a tunnel of the pair carries the packets.

    With a notifier of failed tunnels, the controller or agents, and where the scheme recovers, one live tunnel is
    enough; otherwise all have to live, since nobody knows which of them a packet's hash chose.
    """
    has_notifier = planner.options.by_agents or not any(failure.takes_controller for failure in scenario.failures)
    is_repaired = planner.failover.recovers and has_notifier
    commodities = [
        ingress_entry.commodity
        for ingress_entries in planner.ingress_entries.values()
        for ingress_entry in ingress_entries
    ]
    of_pair = {commodity.pair: commodity for commodity in commodities}

    def promise(source: str, destination: str, down: frozenset[LinkId]) -> bool:
        commodity = of_pair.get((source, destination))
        if commodity is None:
            return False
        failed = len(commodity.down(planner.topology, down))
        return failed < len(commodity.paths) if is_repaired else not failed

    return promise


def promise_of(scenario: Scenario, variation: Variation, plans: dict[int, RulePlan]) -> Promise:
    """Predicate (source, destination, links down): delivery is promised.

    A pair whose primary path is whole is always promised delivery; otherwise the scheme decides: its switches together
    with its controller, or its switches alone where the scenario takes the controller away.
    """
    topology, scheme = scenario.topology, find_route_scheme(variation.scheme)
    has_controller = not any(failure.takes_controller for failure in scenario.failures)
    guarantee = scheme.restored_guarantee if has_controller else scheme.guarantee
    promised = guarantee(topology, options_of(variation))
    network = Network(topology, plans, Learning())
    numbers = {link: 1 << number for number, link in enumerate(topology.link_ids)}

    def promise(source: str, destination: str, down: frozenset[LinkId]) -> bool:
        primary = {topology.link_id(direction) for direction in primary_path(network, source, destination)}
        # Packets of a protected flow have no primary path: they go into the hairpin.
        if primary and primary.isdisjoint(down):
            return True
        mask = sum(numbers[link] for link in down)
        return promised(topology.index_of[source], topology.index_of[destination], mask)

    return promise


def primary_path(network: Network, source: str, destination: str) -> tuple[Direction, ...]:
    """Links that packets between two hosts cross by the plan, as the interpreter walks it."""
    hosts = hosts_of(network.topology)
    packet = Packet(ipv4_src=hosts[source].ipv4, ipv4_dst=hosts[destination].ipv4)
    path = []
    for hop in network.send(source, packet).hops[1:]:
        back = network.ports.direction_at[hop.node, hop.in_port]
        path.append(Direction(back.dst, back.src, back.key))
    return tuple(path)
