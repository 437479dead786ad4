"""What a controller asks of traffic engineering, and what comes back."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.control.controller_events import sentence_of
from ryu_apps.control.decide.traffic import (
    TrafficSettings,
    decision_from_json,
    question_from_json,
    question_of,
    solved_event,
    with_failures,
    without_links,
)
from ryu_apps.control.engineer import answer

SQUARE = load_topology("square")
GIVEN = json.dumps([{"src": "s1", "dst": "s3", "demand_mbps": 5}, {"src": "s1", "dst": "s2", "demand_mbps": 5}])
TRAFFIC = TrafficSettings("uniform:10", 2, "k-shortest", "max-min", "auto", 100.0, 2.0, 3)


def test_question_and_answer_survive_the_way_to_the_other_process():
    question = with_failures(question_of("square", "hops", TRAFFIC), ["s1-s2"], GIVEN)
    assert question_from_json(question.to_json()) == question
    for asked in (TRAFFIC, TrafficSettings()):
        decision = answer(question_of("square", "hops", asked))
        assert decision_from_json(json.loads(json.dumps(asdict(decision)))) == decision


@pytest.mark.parametrize(("te_solver", "solver"), [("auto", "cvxpy"), ("cvxpy", "cvxpy"), ("fast", "fast")])
def test_the_controller_says_which_solver_took_how_long_and_how_near_the_best_it_came(te_solver, solver):
    asked = TrafficSettings("uniform:200", te_solver=te_solver, default_capacity_mbps=100.0)
    solved = answer(question_of("square", "hops", asked)).solved
    assert (solved.solver, solved.demands, solved.gap <= 1e-6) == (solver, 12, True)
    event = solved_event(answer(question_of("square", "hops", asked)))
    said = sentence_of(event.pop("event"), event)
    began = rf"traffic engineering: {solver} solved 12 demands over {solved.tunnels} tunnels in \d+\.\d+ s; "
    assert re.match(began, said)


def test_without_demands_the_controller_says_that_nothing_was_asked():
    decision = answer(question_of("square", "hops", TrafficSettings()))
    assert decision.solved is None
    assert all(len(set(each.weights)) == 1 for each in decision.commodities)
    event = solved_event(decision)
    said = sentence_of(event.pop("event"), event)
    assert "no demands are given" in said
    assert "each of 12 pairs has tunnels of equal weight" in said


def test_posted_demands_stay_until_others_come():
    first = with_failures(question_of("square", "hops", TRAFFIC), ["s1-s2"], GIVEN)
    assert with_failures(first, []).given == GIVEN
    assert with_failures(first, [], "[]").given == "[]"
    assert with_failures(first, []).avoided == ()


@pytest.mark.parametrize("given", ["", GIVEN])
def test_tunnels_avoid_failed_links_and_stranded_pairs_keep_those_of_the_whole_network(given):
    question = question_of("square", "hops", TrafficSettings(default_capacity_mbps=100.0))
    gone = ["s1-s2", "s2-s3"]
    whole = {each.pair: each for each in answer(with_failures(question, [], given)).commodities}
    left = {each.pair: each for each in answer(with_failures(question, gone, given)).commodities}
    assert whole.keys() == left.keys()
    failed = {SQUARE.parse_link(link) for link in gone}
    for pair, commodity in left.items():
        if "s2" in pair:
            assert set(commodity.paths) == set(whole[pair].paths)
        else:
            assert commodity.down(SQUARE, failed) == frozenset()


def test_a_network_without_any_link_left_keeps_all_its_tunnels():
    question = question_of("square", "hops", TrafficSettings(default_capacity_mbps=100.0))
    links = [str(link) for link in SQUARE.link_ids]
    assert without_links(SQUARE, links).links == ()
    found = answer(with_failures(question, links, GIVEN)).commodities
    assert {each.pair for each in found} == {("s1", "s3"), ("s1", "s2")}


def test_demands_that_cannot_be_used_are_refused_by_name():
    question = question_of("square", "hops", TrafficSettings(demands="nonsense:5"))
    with pytest.raises(BadInputError, match="nonsense"):
        answer(question)
