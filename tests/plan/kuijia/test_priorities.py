"""Classes and queues: who goes before whom, before and after a failure, and how packets say what they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mininet_topos.errors import BadInputError
from mininet_topos.topology import LinkId
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.crossing import cross
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.priorities import EIGHT, FOUR, PRIORITY_SETUPS, SINGLE, queue_rows
from ryu_apps.schemes import find_tunnel_scheme, plan_tunnels
from te_solver.values import DEMAND_PRIORITIES, victim_priority
from tests.plan.kuijia.networks import figure1, figure1_traffic, running

S2_S4 = frozenset({LinkId("s2", "s4")})
CONTROL_DSCP = 32  # CS4 and above


@pytest.mark.parametrize("setup", PRIORITY_SETUPS.values(), ids=lambda setup: setup.name)
def test_marks_fit_the_label_and_the_port_and_are_distinguished_by_their_tc(setup) -> None:
    markings = {marking for each in setup.classes for marking in (each.normal, each.victim)}
    assert len({marking.tc for marking in markings}) == len({marking.queue_id for marking in markings}) == len(markings)
    assert all(0 <= marking.tc < 8 and 0 <= marking.queue_id < setup.n_queues for marking in markings)
    assert len({each.normal for each in setup.classes}) == len(setup.classes)


@pytest.mark.parametrize("setup", PRIORITY_SETUPS.values(), ids=lambda setup: setup.name)
def test_victims_wait_behind_all_traffic_of_their_level_and_the_last_queue_is_for_victims(setup) -> None:
    for each in setup.classes:
        assert each.victim.queue_id > each.normal.queue_id
    last = setup.class_of(6)
    assert last.victim.queue_id == setup.n_queues - 1


@pytest.mark.parametrize("setup", PRIORITY_SETUPS.values(), ids=lambda setup: setup.name)
def test_classes_are_distinguished_by_dscps_below_those_of_control(setup) -> None:
    dscps = [each.dscp for each in setup.classes]
    assert len(set(dscps)) == len(dscps)
    assert len(dscps) == 1 or all(dscp is not None and dscp < CONTROL_DSCP for dscp in dscps)


def test_eight_queues_are_the_paper_s_and_the_solver_s() -> None:
    """Section 4.3: 0 control, 1-4 high, 5 high victims, 6 low, 7 low victims."""
    for priority in DEMAND_PRIORITIES:
        found = EIGHT.class_of(priority)
        assert found.normal.queue_id == priority
        assert found.victim.queue_id == victim_priority(priority)
    assert {EIGHT.class_of(priority).victim.queue_id for priority in (1, 2, 3, 4)} == {5}


def test_high_victims_go_before_low_aboriginal_traffic() -> None:
    for setup in (FOUR, EIGHT):
        assert setup.class_of(1).victim.queue_id < setup.class_of(6).normal.queue_id


def test_one_class_takes_demands_of_all_priorities() -> None:
    assert {SINGLE.class_of(priority).name for priority in DEMAND_PRIORITIES} == {"normal"}
    with pytest.raises(BadInputError, match="priority 5 is none of 1, 2, 3, 4, 6"):
        SINGLE.class_of(5)


def test_nothing_is_kept_for_the_last_queue_and_no_queue_passes_the_link() -> None:
    rows = queue_rows(EIGHT, {2: 10.0, 1: None})
    assert [(row.port_no, row.queue_id, row.priority) for row in rows] == [(p, q, q) for p in (1, 2) for q in range(8)]
    assert [row.max_rate_mbps for row in rows[8:]] == [10.0] * 8
    assert [row.min_rate_mbps for row in rows[8:]] == [None] * 7 + [0.0]


def with_priority(priority: int, *weights: float) -> TunnelCommodity:
    return replace(figure1_traffic(weights), priority=priority)  # type: ignore[arg-type]


CLASSES = (with_priority(1, 0, 1, 0), with_priority(3, 1, 0, 0), with_priority(6, 1, 0, 1))


@pytest.mark.parametrize(
    ("dscp", "slot", "queue", "victim_queue", "hops"),
    [
        (26, 0, 1, 1, 1),  # high 1 goes straight and is not hit
        (10, 0, 3, 5, 2),  # high 3 goes by s2, and after the failure before the low class
        (0, 0, 6, 7, 2),
        (0, 1023, 6, 6, 2),
        (46, 0, 6, 7, 2),  # a DSCP that names no class: the last class takes it
        (8, 0, 6, 7, 2),  # so does a class that this pair has no demand for
    ],
)
def test_a_packet_travels_in_the_class_that_its_dscp_names(
    dscp: int, slot: int, queue: int, victim_queue: int, hops: int
) -> None:
    hosts = hosts_of(figure1())
    packet = Packet(hosts["s1"].ipv4, hosts["s4"].ipv4, ip_dscp=dscp)
    network = TunnelPlanner(find_tunnel_scheme("kuijia"), figure1(), CLASSES, TunnelOptions("eight"))
    before = cross(running(figure1(), network.plans()), "s1", packet, slot)
    after = cross(running(figure1(), network.plans([S2_S4]), S2_S4), "s1", packet, slot)
    assert (before.delivered_to, set(before.queues), len(before.links)) == ("s4", {queue}, hops)
    assert (after.delivered_to, set(after.queues)) == ("s4", {victim_queue})
    assert before.tcs == before.queues[1:]


def test_figure_14_moves_high_flows_from_queue_0_to_1_and_low_ones_from_2_to_3() -> None:
    hosts = hosts_of(figure1())
    network = TunnelPlanner(
        find_tunnel_scheme("kuijia"),
        figure1(),
        (with_priority(2, 1, 1, 1), with_priority(6, 1, 1, 1)),
        TunnelOptions("four"),
    )
    for dscp, queue in ((FOUR.classes[0].dscp, 0), (FOUR.classes[1].dscp, 2)):
        packet = Packet(hosts["s1"].ipv4, hosts["s4"].ipv4, ip_dscp=dscp or 0)
        assert set(cross(running(figure1(), network.plans()), "s1", packet, 0).queues) == {queue}
        assert set(cross(running(figure1(), network.plans([S2_S4]), S2_S4), "s1", packet, 0).queues) == {queue + 1}


def test_two_demands_of_one_class_are_refused() -> None:
    with pytest.raises(BadInputError, match="two demands in class 'high' of set-up 'four'"):
        plan_tunnels("te", figure1(), (with_priority(1, 1, 1, 1), with_priority(2, 1, 1, 1)), TunnelOptions("four"))
    assert plan_tunnels("te", figure1(), (with_priority(1, 1, 1, 1), with_priority(2, 1, 1, 1)), TunnelOptions("eight"))


def test_rows_of_a_tunnel_are_doubled_for_victims_and_shared_by_high_classes() -> None:
    """Transit rows of T1 at s2, one direction: a row a class, and one a victim queue."""
    counts = {}
    for scheme in ("kuijia", "te"):
        plan = plan_tunnels(scheme, figure1(), CLASSES, TunnelOptions("eight"))[2]
        counts[scheme] = sum(row.table_id == 6 for row in plan.flows)
    assert counts == {"kuijia": 2 * (3 + 2), "te": 2 * 3}
