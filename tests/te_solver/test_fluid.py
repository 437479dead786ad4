"""The fluid model against one written link by link and flow by flow, and against parcels that are passed on in time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.fluid import Flows, delivered_mbps
from te_solver.tunnels import to_problem
from te_solver.values import Demand
from tests.te_solver.strategies import chain, problems


def by_hand(tunnels, flows, capacity_mbps):
    """The model's sentences, literally: (arc, queue) by (arc, queue), flow by flow."""
    paths = [set(tunnels.arcs_of(t).tolist()) for t in flows.tunnel.tolist()]
    rates, queues = flows.rate_mbps.tolist(), flows.queue.tolist()
    delivered = []
    for path, rate, queue in zip(paths, rates, queues, strict=True):
        share = 1.0
        for arc in path:
            ahead = sum(r for p, r, q in zip(paths, rates, queues, strict=True) if arc in p and q < queue)
            beside = sum(r for p, r, q in zip(paths, rates, queues, strict=True) if arc in p and q == queue)
            left = max(0.0, capacity_mbps[arc] - ahead)
            share = min(share, 1.0 if beside <= left else left / beside)
        delivered.append(rate * share)
    return delivered


@st.composite
def flows_on(draw, problem):
    count = draw(st.integers(0, 12)) if len(problem.tunnels) else 0
    whole = st.lists(st.integers(0, 10_000), min_size=count, max_size=count)
    tunnel = np.array(draw(whole), dtype=np.int64) % max(1, len(problem.tunnels))
    rate = np.array(draw(whole), dtype=np.float64) / 100
    queue = np.array(draw(whole), dtype=np.int64) % 8
    return Flows(tunnel, rate, queue)


@given(st.data())
def test_delivery_equals_the_model_written_out_by_hand(data):
    problem = data.draw(problems())
    flows = data.draw(flows_on(problem))
    capacity = problem.network.capacity_mbps
    assert delivered_mbps(problem.tunnels, flows, capacity) == pytest.approx(by_hand(problem.tunnels, flows, capacity))


@given(st.data())
def test_lower_queues_never_touch_higher_ones(data):
    problem = data.draw(problems())
    flows = data.draw(flows_on(problem))
    all_of_them = delivered_mbps(problem.tunnels, flows, problem.network.capacity_mbps)
    first = flows.queue <= 3
    alone = Flows(flows.tunnel[first], flows.rate_mbps[first], flows.queue[first])
    assert delivered_mbps(problem.tunnels, alone, problem.network.capacity_mbps) == pytest.approx(all_of_them[first])
    assert (all_of_them <= flows.rate_mbps * (1 + 1e-12)).all()


def passed_on_in_time(tunnels, flows, capacity_mbps, steps=200):
    """Parcels of fluid: each step every link forwards, queue by queue, what it holds of it; what is left is dropped."""
    paths = [tunnels.arcs_of(t).tolist() for t in flows.tunnel.tolist()]
    at = [[0.0] * (len(path) + 1) for path in paths]
    arrived = [0.0] * len(paths)
    for _ in range(steps):
        moved = [[0.0] * (len(path) + 1) for path in paths]
        for arc, capacity in enumerate(capacity_mbps.tolist()):
            left = capacity
            for queue in sorted(set(flows.queue.tolist())):
                here = [
                    (flow, hop)
                    for flow, path in enumerate(paths)
                    for hop, passed in enumerate(path)
                    if passed == arc and flows.queue[flow] == queue
                ]
                waiting = sum(at[flow][hop] for flow, hop in here)
                share = 1.0 if waiting <= left else left / waiting
                for flow, hop in here:
                    moved[flow][hop + 1] += at[flow][hop] * share
                left -= waiting * share
        for flow, rate in enumerate(flows.rate_mbps.tolist()):
            moved[flow][0] = rate
            arrived[flow] = moved[flow][len(paths[flow])]
        at = moved
    return arrived


def test_delivery_equals_parcels_in_time_where_each_flow_meets_one_congested_link():
    network = chain(100.0, 30.0, 100.0, 100.0)
    demands = [Demand("s1", "s3", 1), Demand("s2", "s4", 1), Demand("s2", "s3", 1, 6), Demand("s3", "s5", 1, 6)]
    tunnels = to_problem(network, demands).tunnels
    flows = Flows(np.arange(4), np.array([20.0, 5.0, 40.0, 60.0]), np.array([1, 1, 6, 6]))
    wanted = passed_on_in_time(tunnels, flows, network.capacity_mbps)
    assert delivered_mbps(tunnels, flows, network.capacity_mbps) == pytest.approx(wanted)
    assert wanted == pytest.approx([20.0, 5.0, 5.0, 60.0])


def test_loads_are_never_underestimated_on_a_path_with_two_congested_links():
    network = chain(10.0, 5.0)
    tunnels = to_problem(network, [Demand("s1", "s3", 1), Demand("s2", "s3", 1)]).tunnels
    flows = Flows(np.arange(2), np.array([20.0, 5.0]), np.array([1, 1]))
    in_time = passed_on_in_time(tunnels, flows, network.capacity_mbps)
    modelled = delivered_mbps(tunnels, flows, network.capacity_mbps)
    assert modelled == pytest.approx([4.0, 1.0])
    assert modelled[1] < in_time[1]
