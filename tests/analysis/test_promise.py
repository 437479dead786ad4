"""What a run is held to: promises of switches alone, and of a network whose controller rewrites routes."""

from __future__ import annotations

import pytest

from experiments.scenario.failures.controller import Controller
from experiments.scenario.failures.kill import Kill
from experiments.scenario.tunnel_values import TunnelConfiguration
from experiments.scenario.values import Scenario, Variation
from experiments.testbed.runs.parts import options_of, plans_while
from experiments.testbed.runs.promise import promise_of, tunnel_promise
from experiments.testbed.runs.tunnels import tunnel_planner
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.choices import NO_MODE
from ryu_apps.schemes import plan_network, route_schemes

FIGURE2 = load_topology("figure2")
LINKS = [FIGURE2.parse_link(name) for name in ("s4-s5", "s1-s2", "s3-s4")]
AWAY = Controller(1.0)
KILLED = Kill(1.0, "controller")
RESTORING = [name for name, scheme in route_schemes().items() if scheme.restoration is not None]


def promised(scheme, links, *failures):
    """Whether packets from s1 to s5 are promised while these links are down."""
    variation = Variation(scheme, NO_MODE, max_failures=1)
    scenario = Scenario("figure2", FIGURE2, (variation,), (), failures, 5.0, 1)
    plans = plan_network(scheme, FIGURE2, options_of(variation))
    return promise_of(scenario, variation, plans)("s1", "s5", frozenset(links))


@pytest.mark.parametrize("scheme", RESTORING)
def test_a_controller_that_rewrites_routes_promises_every_failure(scheme):
    for count in range(len(LINKS) + 1):
        assert promised(scheme, LINKS[:count])


@pytest.mark.parametrize("away", [AWAY, KILLED])
def test_without_its_controller_a_scheme_is_held_to_what_its_switches_can_do(away):
    assert promised("cbc", LINKS[:1], away)
    assert not promised("cbc", LINKS[:2], away)
    assert not promised("restoration", LINKS[:1], away)
    assert promised("restoration", [], away)


def test_crankback_alone_promises_what_was_planned_for():
    assert promised("cb", LINKS[:1])
    assert not promised("cb", LINKS[:2])


@pytest.mark.parametrize("scheme", RESTORING)
def test_switches_should_hold_rewritten_routes_while_links_are_down(scheme):
    variation = Variation(scheme, NO_MODE)
    plans = plan_network(scheme, FIGURE2, options_of(variation))
    assert plans_while(frozenset(), FIGURE2, variation, plans) == plans
    wanted = plans_while(frozenset(LINKS[:1]), FIGURE2, variation, plans)
    changed = {dpid for dpid in plans if wanted[dpid] != plans[dpid]}
    assert changed
    assert wanted[min(changed)].groups == plans[min(changed)].groups


def test_switches_of_other_schemes_should_hold_their_plans_whatever_is_down():
    variation = Variation("cb", NO_MODE)
    plans = plan_network("cb", FIGURE2, options_of(variation))
    assert plans_while(frozenset(LINKS), FIGURE2, variation, plans) is plans


def test_agents_answer_failed_tunnels_without_a_controller():
    theta, variation = load_topology("theta"), Variation("kuijia", NO_MODE)
    configuration = TunnelConfiguration(notified_by="agent")
    scenario = Scenario("theta", theta, (variation,), (), (AWAY,), 5.0, 1, tunnels=configuration)
    promise = tunnel_promise(scenario, tunnel_planner(scenario, variation))
    assert promise("s1", "s2", frozenset({theta.parse_link("s1-s3")}))


def test_a_scheme_of_tunnels_promises_delivery_while_one_lives_and_its_controller_can_notify():
    theta = load_topology("theta")
    one, two = (frozenset(map(theta.parse_link, names)) for names in (["s1-s3"], ["s1-s3", "s1-s4", "s1-s6"]))
    for scheme, failures, expected in (
        ("kuijia", (), (True, True, False)),
        ("rescaling", (), (True, True, False)),
        ("te", (), (True, False, False)),
        ("kuijia", (AWAY,), (True, False, False)),
    ):
        variation = Variation(scheme, NO_MODE)
        scenario = Scenario("theta", theta, (variation,), (), failures, 5.0, 1)
        promise = tunnel_promise(scenario, tunnel_planner(scenario, variation))
        assert tuple(promise("s1", "s2", down) for down in (frozenset(), one, two)) == expected
