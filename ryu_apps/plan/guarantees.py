"""What each scheme promises, as predicates that `armor verify` holds it to."""

from __future__ import annotations

from collections.abc import Callable, Container

from mininet_topos.topology import Topology
from ryu_apps.plan.failure_sets import default_max_failures
from ryu_apps.plan.ffg import find_alternates
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.protect.plan import paths_of
from ryu_apps.plan.protection import Protection
from ryu_apps.plan.sqr.plan import replayed_links
from te_solver.routes import ResidualRoutes

Promise = Callable[[int, int, int], bool]
"""(source position, destination position, failed mask) -> delivery is promised. Asked only where the
residual graph joins the two and the source's primary path crosses a failed link."""


def nothing(_topology: Topology, _options: PlanOptions) -> Promise:
    """No recovery at all."""
    return lambda _source, _destination, _failed: False


def whenever_joined(_topology: Topology, _options: PlanOptions) -> Promise:
    """Once a controller has rewritten the routes: always, however many links have failed."""
    return lambda _source, _destination, _failed: True


def up_to_planned_failures(topology: Topology, options: PlanOptions) -> Promise:
    """SD-FAST and crankback: at most K failed links."""
    planned = options.max_failures
    size = default_max_failures(len(topology.link_ids)) if planned is None else planned
    return lambda _source, _destination, failed: failed.bit_count() <= size


def a_tunnel_left(topology: Topology, options: PlanOptions) -> Promise:
    """1+1 protection: of each connection on the way of a protected flow, a tunnel is whole.

    A pair counts as protected when one of its flows is protected from host to host.
    """
    protection = options.protection or Protection()
    numbers = {link: 1 << number for number, link in enumerate(topology.link_ids)}
    paths = paths_of(topology, protection, options.metric)
    masks = {
        pair: tuple(sum(numbers[topology.link_id(direction)] for direction in path) for path in both)
        for pair, both in paths.items()
    }
    order = topology.index_of
    ways = {
        (order[flow.source], order[flow.destination]): flow.segments
        for flow in protection.flows
        if flow.segments[-1][1] == flow.destination
    }

    def promised(source: int, destination: int, failed: int) -> bool:
        segments = ways.get((source, destination))
        return segments is not None and all(any(not path & failed for path in masks[each]) for each in segments)

    return promised


def alternate_at_the_failure(topology: Topology, options: PlanOptions) -> Promise:
    """FFG: one failed link, and the switch next to it has a loop-free alternate."""
    residual = ResidualRoutes(topology, options.routes, options.metric)
    return where_repaired(residual, find_alternates(residual))


def where_repaired(residual: ResidualRoutes, repaired: Container[tuple[int, int]]) -> Promise:
    """One failed link, where the switch that it stops the packet at has another way.

    Parameters
    ----------
    repaired
        (node position, destination position) of every primary route whose link has a repair.
    """
    table, order = residual.next_links().tolist(), residual.topology.index_of
    ends = [order[link.dst] for link in residual.links]
    numbers = residual.link_number.tolist()

    def promised(source: int, destination: int, failed: int) -> bool:
        node = source
        while not failed >> numbers[table[node][destination]] & 1:
            node = ends[table[node][destination]]
        return failed.bit_count() == 1 and (node, destination) in repaired

    return promised


def alternate_of_a_buffered_link(topology: Topology, options: PlanOptions) -> Promise:
    """SQR: the primary path is whole, or one link of it has failed whose packets are kept and there is an alternate."""
    numbers = {link: number for number, link in enumerate(topology.link_ids)}
    kept = sum(1 << numbers[link] for link in replayed_links(topology, options.replayed))
    has_alternate = alternate_at_the_failure(topology, options)
    residual = ResidualRoutes(topology, options.routes, options.metric)
    table = residual.next_links().tolist()
    ends = [topology.index_of[link.dst] for link in residual.links]
    crossed = residual.link_number.tolist()

    def promised(source: int, destination: int, failed: int) -> bool:
        node, path = source, 0
        while node != destination:
            path |= 1 << crossed[table[node][destination]]
            node = ends[table[node][destination]]
        return not path & failed or (bool(failed & kept) and has_alternate(source, destination, failed))

    return promised
