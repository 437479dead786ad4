"""The variant with SELECT groups: what it holds, and what it cannot do."""

from __future__ import annotations

import pytest

from mininet_topos.errors import PlanError
from mininet_topos.topology import LinkId
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.check import violations
from ryu_apps.plan.ids import pair_group, tunnel_group
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.crossing import cross
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.schemes import find_tunnel_scheme
from tests.plan.kuijia.networks import figure1, figure1_traffic, running

S2_S4 = frozenset({LinkId("s2", "s4")})
HOSTS = hosts_of(figure1())
PACKET = Packet(HOSTS["s1"].ipv4, HOSTS["s4"].ipv4)


def select(scheme: str, *weights: float) -> TunnelPlanner:
    traffic = figure1_traffic(weights)  # type: ignore[arg-type]
    return TunnelPlanner(find_tunnel_scheme(scheme), figure1(), (traffic,), TunnelOptions(split="select"))


def weights_of(planner: TunnelPlanner, failures: list[frozenset[LinkId]]) -> list[int]:
    (group,) = planner.groups("s1", failures)
    return [bucket.weight for bucket in group.buckets]


def test_buckets_carry_the_weights_of_the_tunnels_that_are_left() -> None:
    assert weights_of(select("te", 0.5, 0.3, 0.2), []) == [500, 300, 200]
    assert weights_of(select("te", 0.5, 0.3, 0.2), [S2_S4]) == [500, 300, 200]
    assert weights_of(select("rescaling", 0.5, 0.3, 0.2), [S2_S4]) == [600, 400]
    assert weights_of(select("rescaling", 1, 0, 0), [S2_S4]) == [1, 1]
    assert weights_of(select("rescaling", 0.9999, 0.0001, 0), []) == [1000]


def test_packets_of_every_bucket_arrive() -> None:
    planner = select("rescaling", 0.5, 0.3, 0.2)
    for failures, links in (([], {2: 700, 1: 300}), ([S2_S4], {1: 600, 2: 400})):
        plans = planner.plans(failures)
        for plan in plans.values():
            assert violations(plan) == ()
        network = running(figure1(), plans, frozenset().union(*failures))
        lengths = [len(cross(network, "s1", PACKET, slot).links) for slot in range(1000)]
        assert {length: lengths.count(length) for length in set(lengths)} == links
        assert all(cross(network, "s1", PACKET, slot).delivered_to == "s4" for slot in range(0, 1000, 50))


def test_a_failure_changes_groups_and_adds_no_rows() -> None:
    planner = select("rescaling", 0.5, 0.3, 0.2)
    assert planner.failure_rows([S2_S4]) == {}
    for before, after in zip(planner.plans().values(), planner.plans([S2_S4]).values(), strict=True):
        assert before.flows == after.flows
        assert (before.groups == after.groups) == (before.node in ("s2", "s3"))


def test_groups_of_tunnels_lie_beyond_those_of_ports() -> None:
    assert tunnel_group(0) > pair_group(0xFEFF, 0xFEFF)
    for number in (-1, 0xFFFF00):
        with pytest.raises(PlanError, match="has no group id"):
            tunnel_group(number)
