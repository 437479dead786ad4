"""Schemes by name, their options and what they promise."""

from __future__ import annotations

import pytest

from mininet_topos.errors import BadInputError
from mininet_topos.toy import TOYS
from ryu_apps.plan.guarantees import up_to_planned_failures
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.registry import SCHEMES, TUNNEL_SCHEMES, find_scheme, plan_network


def test_every_scheme_plans_every_switch_under_its_datapath_id():
    topology = TOYS["theta"]()
    for name in SCHEMES:
        plans = plan_network(name, topology, PlanOptions())
        assert [plan.node for _, plan in sorted(plans.items())] == list(topology.node_names)
        assert all(plan.dpid == dpid for dpid, plan in plans.items())


def test_schemes_know_their_own_names():
    assert all(scheme.name == name and scheme.summary for name, scheme in SCHEMES.items())


def test_schemes_of_tunnels_have_names_and_owners_of_their_own():
    assert all(scheme.name == name and scheme.summary for name, scheme in TUNNEL_SCHEMES.items())
    assert not TUNNEL_SCHEMES.keys() & SCHEMES.keys()
    assert len({scheme.scheme for scheme in TUNNEL_SCHEMES.values()}) == len(TUNNEL_SCHEMES)


def test_an_unknown_scheme_is_answered_with_the_nearest_and_with_all():
    with pytest.raises(BadInputError, match=r"unknown scheme 'sdfat'; did you mean 'sdfast'.*ffg.*shortest"):
        find_scheme("sdfat")
    with pytest.raises(BadInputError, match="unknown scheme 'xyz'; schemes: sdfast"):
        plan_network("xyz", TOYS["pair"](), PlanOptions())
    with pytest.raises(BadInputError, match=r"'kuijia' needs tunnels and weights.*'armor plan'"):
        find_scheme("kuijia")
    with pytest.raises(BadInputError, match=r"unknown scheme 'kuijai'; did you mean 'kuijia'\?"):
        find_scheme("kuijai")


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
