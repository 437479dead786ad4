"""Schemes by name, their options and what they promise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mininet_topos.errors import BadInputError
from mininet_topos.toy import TOYS
from ryu_apps.plan.guarantees import up_to_planned_failures
from ryu_apps.plan.ids import split_cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.scheme import joined
from ryu_apps.schemes import (
    all_schemes,
    find_route_scheme,
    find_scheme,
    find_tunnel_scheme,
    plan_network,
    route_schemes,
    tunnel_schemes,
)
from tests.schemes import number_of


def test_every_scheme_plans_every_switch_under_its_datapath_id():
    topology = TOYS["theta"]()
    for name in route_schemes():
        plans = plan_network(name, topology, PlanOptions())
        assert [plan.node for _, plan in sorted(plans.items())] == list(topology.node_names)
        assert all(plan.dpid == dpid for dpid, plan in plans.items())


def test_schemes_know_their_own_names():
    assert all(scheme.name == name and scheme.summary for name, scheme in route_schemes().items())


def test_a_scheme_routes_or_splits_traffic_over_tunnels():
    assert all(scheme.name == name and scheme.summary for name, scheme in tunnel_schemes().items())
    assert not tunnel_schemes().keys() & route_schemes().keys()
    assert tunnel_schemes().keys() | route_schemes().keys() == all_schemes().keys()


def test_rows_of_a_scheme_bear_its_number_alone():
    of_both = {number_of("sdfast"), number_of("sqr")}
    for name, scheme in route_schemes().items():
        options = PlanOptions(replayed=("s1-s3",) if scheme.buffers else ())
        plans = plan_network(name, TOYS["theta"](), options).values()
        owners = {split_cookie(row.cookie).scheme for plan in plans for row in plan.flows}
        assert owners == (of_both if scheme.number is None else {scheme.number})


def test_an_unknown_scheme_is_answered_with_the_nearest_and_with_all():
    with pytest.raises(BadInputError, match=r"unknown scheme 'sdfat'; did you mean 'sdfast'.*ffg.*shortest"):
        find_scheme("sdfat")
    with pytest.raises(BadInputError, match="unknown scheme 'xyz'; schemes: arborescences, cb, cbc, ffc1, ffg"):
        plan_network("xyz", TOYS["pair"](), PlanOptions())
    with pytest.raises(BadInputError, match=r"'kuijia' needs tunnels and weights.*'armor plan'"):
        find_route_scheme("kuijia")
    with pytest.raises(BadInputError, match="needs tunnels and weights"):
        find_scheme("kuijia").plan(TOYS["pair"](), PlanOptions())
    with pytest.raises(BadInputError, match=r"unknown tunnel scheme 'sdfast'.*kuijia"):
        find_tunnel_scheme("sdfast")
    with pytest.raises(BadInputError, match=r"unknown scheme 'kuijai'; did you mean 'kuijia'\?"):
        find_scheme("kuijai")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "Trees"}, "scheme name 'Trees' is no name"),
        ({"name": "two trees"}, "scheme name 'two trees' is no name"),
        ({"number": 0}, "number 0; use 128 to 255"),
        ({"number": 256}, "number 256; use 128 to 255"),
        ({"colour": "blue"}, "colour 'blue'; write #rrggbb"),
    ],
)
def test_a_scheme_that_cannot_be_is_refused(changed, message):
    with pytest.raises(BadInputError, match=message):
        replace(find_scheme("shortest"), **changed)


def test_no_two_schemes_share_a_name_or_a_number():
    new = replace(find_scheme("shortest"), name="other", number=200)
    taken = {16: "IN_BAND"}
    assert joined(all_schemes(), new, taken)["other"] is new
    with pytest.raises(BadInputError, match="there is a scheme 'ffg' already"):
        joined(all_schemes(), replace(new, name="ffg"), taken)
    with pytest.raises(BadInputError, match="number 16 belongs to 'IN_BAND'"):
        joined(all_schemes(), replace(new, number=16), taken)
    with pytest.raises(BadInputError, match="number 3 belongs to 'ffg'"):
        joined(all_schemes(), replace(new, number=3), taken)
    two = joined(all_schemes(), replace(new, number=None), taken)
    assert joined(two, replace(new, name="third", number=None), taken)["third"].number is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mode": "agents"}, "unknown mode 'agents'; use one of learned, agent"),
        ({"planner": "star"}, "unknown planner 'star'"),
        ({"routes": "bgp"}, "unknown routes 'bgp'"),
        ({"metric": "euro"}, "unknown metric 'euro'"),
        ({"max_failures": -1}, "max_failures is -1"),
        ({"hard_timeout_s": 65536}, "hard_timeout_s is 65536"),
        ({"hard_timeout_s": -1}, "hard_timeout_s is -1"),
        ({"hard_timeout_s": 30, "mode": "agent"}, "start the agents with --hard-timeout-s 30"),
    ],
)
def test_options_that_do_not_exist_are_refused(wrong, message):
    with pytest.raises(BadInputError, match=message):
        PlanOptions(**wrong)


def test_sdfast_promises_as_many_failures_as_it_plans_for():
    square = TOYS["square"]()
    for planned, promised in ((None, 2), (0, 0), (1, 1), (3, 3)):
        holds = up_to_planned_failures(square, PlanOptions(max_failures=planned))
        assert [holds(0, 1, mask) for mask in (0b1, 0b11, 0b111)] == [size <= promised for size in (1, 2, 3)]
