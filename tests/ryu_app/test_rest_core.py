"""The REST interface as a function."""

from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from ryu_apps.control.rest_core import MAX_BODY_CHARS, BusyError, respond
from ryu_apps.control.statistics_core import FlowSample, PortSample
from ryu_apps.control.topology_core import Expected, LiveTopology, Mismatch, switch_connected
from ryu_apps.openflow.messages import PortDesc, PortStat
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.registry import plan_network
from ryu_apps.plan.serial import plan_from_json


class Fixed:
    """A controller that stands still."""

    topology = load_topology("square")

    def live_topology(self):
        return switch_connected(LiveTopology(Expected(self.topology)), "s1", {2: PortDesc(2, 1, "p2", 0, 4)}, 0.0)

    def failed_links(self):
        return frozenset({self.topology.link_ids[0]})

    def port_samples(self):
        return {"s1": {2: PortSample(1.0, PortStat(2, 1, 2, 3, 4, 5, 6, 7, 8, 9.0), 0.5, 0.25, 0.0)}}

    def flow_samples(self):
        return {"s1": {0x0A000002: FlowSample(1.0, 3, 300, None)}}

    def wanted_plan(self, dpid):
        return plan_network("sdfast", self.topology, PlanOptions()).get(dpid)

    def mismatches(self):
        return (Mismatch("missing port", "s1", "s1 has no port 3"),)

    def state(self):
        return {"ready": True}

    def tunnels(self):
        return {"commodities": []}

    def engineer_traffic(self, given):
        if given == "busy":
            raise BusyError("run 1 is under way")
        if given == "bad":
            raise BadInputError("request.json, line 1: this is no JSON")
        return 7


class WithoutTunnels(Fixed):
    """A controller of a scheme of routes."""

    def tunnels(self):
        return None


VIEW = Fixed()
PATHS = (
    "/armor/topology",
    "/armor/statistics/ports",
    "/armor/statistics/flows",
    "/armor/plan/1",
    "/armor/mismatches",
    "/armor/tunnels",
    "/armor/state",
)


@pytest.mark.parametrize("path", PATHS)
def test_every_documented_path_answers_with_json(path):
    status, value = respond(VIEW, "GET", path)
    assert status == HTTPStatus.OK
    assert json.loads(json.dumps(value)) == value
    assert respond(VIEW, "GET", path + "/")[0] == HTTPStatus.OK
    assert respond(VIEW, "DELETE", path)[0] == HTTPStatus.METHOD_NOT_ALLOWED


def test_the_topology_says_what_is_connected_live_and_failed():
    _status, value = respond(VIEW, "GET", "/armor/topology")
    assert [node["connected"] for node in value["nodes"]] == [True, False, False, False]
    first = value["links"][0]
    assert first["failed"] is True
    assert {end["live"] for end in first["ends"]} == {True, None}


def test_a_plan_can_be_read_back():
    for dpid in ("2", "0x2"):
        _status, value = respond(VIEW, "GET", f"/armor/plan/{dpid}")
        assert plan_from_json(value) == VIEW.wanted_plan(2)


def test_counters_carry_their_place():
    _status, value = respond(VIEW, "GET", "/armor/statistics/flows")
    assert value["flows"] == [
        {"node": "s1", "destination": "10.0.0.2", "at_s": 1.0, "n_packets": 3, "n_bytes": 300, "rate_mbps": None}
    ]
    _status, value = respond(VIEW, "GET", "/armor/statistics/ports")
    assert (value["ports"][0]["node"], value["ports"][0]["port_no"], value["ports"][0]["rx_mbps"]) == ("s1", 2, 0.5)


@given(st.text(max_size=40))
def test_any_path_gets_an_answer_and_bad_ones_a_sentence(path):
    for given_path in (path, f"/armor/plan/{path}"):
        status, value = respond(VIEW, "GET", given_path)
        assert status == HTTPStatus.OK or (400 <= status < 500 and value["error"])


def test_traffic_engineering_is_asked_for_by_post_and_refusals_have_a_sentence():
    assert respond(VIEW, "POST", "/armor/te") == (HTTPStatus.ACCEPTED, {"run": 7})
    for body, status in (
        ("busy", HTTPStatus.CONFLICT),
        ("bad", HTTPStatus.BAD_REQUEST),
        ("x" * (MAX_BODY_CHARS + 1), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    ):
        found, value = respond(VIEW, "POST", "/armor/te", body)
        assert (found, bool(value["error"])) == (status, True)
    assert respond(VIEW, "GET", "/armor/te")[0] == HTTPStatus.METHOD_NOT_ALLOWED


def test_a_scheme_of_routes_has_no_tunnels_to_show():
    status, value = respond(WithoutTunnels(), "GET", "/armor/tunnels")
    assert status == HTTPStatus.NOT_FOUND
    assert "no tunnels" in value["error"]
