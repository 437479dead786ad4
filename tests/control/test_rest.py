"""The REST interface as a function."""

from __future__ import annotations

import json
import pkgutil
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ryu_apps.control.decide.resource import Resource
from ryu_apps.control.decide.rest import respond
from ryu_apps.control.decide.tunnel_resources import ENGINEERING, TUNNELS
from ryu_apps.plan.scheme import CONTROLLER
from ryu_apps.plan.serial import plan_from_json
from ryu_apps.schemes import all_schemes
from tests.control.fixed_controller import FixedController

TUNNEL_RESOURCES = (TUNNELS, ENGINEERING)
VIEW = FixedController()
PATHS = (
    "/armor/topology",
    "/armor/statistics/ports",
    "/armor/statistics/flows",
    "/armor/plan/1",
    "/armor/knowledge",
    "/armor/mismatches",
    "/armor/tunnels",
    "/armor/state",
)


@pytest.mark.parametrize("path", PATHS)
def test_every_documented_path_answers_with_json(path):
    status, value = respond(VIEW, TUNNEL_RESOURCES, "GET", path)
    assert status == HTTPStatus.OK
    assert json.loads(json.dumps(value)) == value
    assert respond(VIEW, TUNNEL_RESOURCES, "GET", path + "/")[0] == HTTPStatus.OK
    assert respond(VIEW, TUNNEL_RESOURCES, "DELETE", path)[0] == HTTPStatus.METHOD_NOT_ALLOWED


def test_the_topology_says_what_is_connected_live_and_failed():
    _status, value = respond(VIEW, TUNNEL_RESOURCES, "GET", "/armor/topology")
    assert [node["connected"] for node in value["nodes"]] == [True, False, False, False]
    first = value["links"][0]
    assert first["failed"] is True
    assert {end["live"] for end in first["ends"]} == {True, None}


def test_a_plan_can_be_read_back():
    for dpid in ("2", "0x2"):
        _status, value = respond(VIEW, TUNNEL_RESOURCES, "GET", f"/armor/plan/{dpid}")
        assert plan_from_json(value) == VIEW.wanted_plan(2)


def test_counters_carry_their_place():
    _status, value = respond(VIEW, TUNNEL_RESOURCES, "GET", "/armor/statistics/flows")
    assert value["flows"] == [
        {"node": "s1", "destination": "10.0.0.2", "at_s": 1.0, "n_packets": 3, "n_bytes": 300, "rate_mbps": None}
    ]
    _status, value = respond(VIEW, TUNNEL_RESOURCES, "GET", "/armor/statistics/ports")
    assert (value["ports"][0]["node"], value["ports"][0]["port_no"], value["ports"][0]["rx_mbps"]) == ("s1", 2, 0.5)


@given(st.text(max_size=40))
def test_any_path_gets_an_answer_and_bad_ones_a_sentence(path):
    for given_path in (path, f"/armor/plan/{path}"):
        status, value = respond(VIEW, TUNNEL_RESOURCES, "GET", given_path)
        assert status == HTTPStatus.OK or (400 <= status < 500 and value["error"])


def test_traffic_engineering_is_asked_for_by_post_and_refusals_have_a_sentence():
    assert respond(VIEW, TUNNEL_RESOURCES, "POST", "/armor/te") == (HTTPStatus.ACCEPTED, {"run": 7})
    for body, status in (("busy", HTTPStatus.CONFLICT), ("bad", HTTPStatus.BAD_REQUEST)):
        found, value = respond(VIEW, TUNNEL_RESOURCES, "POST", "/armor/te", body)
        assert (found, bool(value["error"])) == (status, True)
    assert respond(VIEW, TUNNEL_RESOURCES, "GET", "/armor/te")[0] == HTTPStatus.METHOD_NOT_ALLOWED


def test_a_scheme_offers_its_own_resources_and_no_others():
    for method, path in (("GET", "/armor/tunnels"), ("POST", "/armor/te"), ("GET", "/armor/protect")):
        status, value = respond(VIEW, (), method, path)
        assert status == HTTPStatus.NOT_FOUND
        assert "/armor/topology" in value["error"]
    assert "/armor/te" in respond(VIEW, TUNNEL_RESOURCES, "GET", "/armor/nothing")[1]["error"]


@pytest.mark.ryu
@pytest.mark.parametrize("scheme", all_schemes().values(), ids=all_schemes())
def test_controllers_and_resources_of_schemes_are_there(scheme):
    assert issubclass(pkgutil.resolve_name(scheme.controller), pkgutil.resolve_name(CONTROLLER))
    for name in scheme.resources:
        assert isinstance(pkgutil.resolve_name(name), Resource)
