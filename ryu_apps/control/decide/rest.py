"""The REST interface as a function: (method, path) and what the controller knows give a status and a JSON value.

docs/controller.md describes it for users.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from ipaddress import IPv4Address
from typing import Protocol

from mininet_topos.topology import LinkId, Topology
from ryu_apps.control.decide.knowledge import Known
from ryu_apps.control.decide.live_topology import LiveTopology, Mismatch
from ryu_apps.control.decide.resource import Json, Resource, Response, refusal
from ryu_apps.control.decide.statistics import FlowSample, PortSample
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.serial import plan_to_json

METRICS_PATH = "/metrics"
"""Answered outside of `respond`: it is no JSON."""


class View(Protocol):
    """What the REST interface may read of a running controller."""

    topology: Topology

    def live_topology(self) -> LiveTopology:
        """Ports and liveness."""

    def failed_links(self) -> frozenset[LinkId]:
        """Links with a failed end."""

    def port_samples(self) -> Mapping[str, Mapping[int, PortSample]]:
        """Port counters by switch and port."""

    def flow_samples(self) -> Mapping[str, Mapping[int, FlowSample]]:
        """Traffic by switch and destination."""

    def knowledge(self) -> tuple[Known, ...]:
        """Which switch knows of which failed link."""

    def wanted_plan(self, dpid: int) -> RulePlan | None:
        """What a switch should hold; None for an unknown datapath id."""

    def mismatches(self) -> tuple[Mismatch, ...]:
        """Differences between the topology and the network."""

    def state(self) -> Json:
        """State of the controller, its switches, and its errors."""


def respond(view: View, resources: Iterable[Resource], method: str, path: str, body: str = "") -> Response:
    """Answer to one request; bad input gets a 4xx and a sentence.

    Parameters
    ----------
    resources
        Those of the scheme, beside `RESOURCES`.
    """
    parts = [part for part in path.split("/") if part]
    offered = (*RESOURCES, *resources)
    for resource in offered:
        found = resource.match(parts)
        if found is not None:
            return resource.answer(view, method, body, found)
    known = ", ".join([*("/" + "/".join(resource.path) for resource in offered), METRICS_PATH])
    return HTTPStatus.NOT_FOUND, refusal(f"there is nothing at {path!r}; there are {known}")


def _topology(view: View, _body: str) -> Response:
    live = view.live_topology()
    topology = view.topology
    failed = view.failed_links()
    nodes = [
        {"node": node.name, "label": node.label, "dpid": number, "connected": node.name in live.ports}
        for number, node in enumerate(topology.nodes, start=1)
    ]
    links = []
    for link in topology.link_ids:
        ends = [
            {"node": direction.src, "port_no": port_no, "live": live.is_live((direction.src, port_no))}
            for direction in topology.directions(link)
            for port_no in [live.expected.port_of[direction]]
        ]
        links.append({"link": str(link), "failed": link in failed, "ends": ends})
    return HTTPStatus.OK, {"topology": topology.name, "nodes": nodes, "links": links}


def _ports(view: View, _body: str) -> Response:
    ports = [
        {
            "node": node,
            "port_no": port_no,
            **{name: value for name, value in asdict(sample.stat).items() if name not in ("port_no", "duration_s")},
            "rx_mbps": sample.rx_mbps,
            "tx_mbps": sample.tx_mbps,
            "tx_dropped_per_s": sample.tx_dropped_per_s,
            "at_s": sample.at_s,
        }
        for node, samples in view.port_samples().items()
        for port_no, sample in samples.items()
    ]
    return HTTPStatus.OK, {"ports": ports}


def _flows(view: View, _body: str) -> Response:
    flows = [
        {"node": node, "destination": str(IPv4Address(destination)), **asdict(sample)}
        for node, samples in view.flow_samples().items()
        for destination, sample in samples.items()
    ]
    return HTTPStatus.OK, {"flows": flows}


def _plan(view: View, _body: str, dpid: str) -> Response:
    try:
        number = int(dpid, 0)
    except ValueError:
        return HTTPStatus.BAD_REQUEST, refusal(f"{dpid!r} is no datapath id; write a number such as 4 or 0x4")
    plan = view.wanted_plan(number)
    if plan is None:
        return HTTPStatus.NOT_FOUND, refusal(f"no switch has datapath id {dpid}; see /armor/topology")
    return HTTPStatus.OK, plan_to_json(plan)


def _knowledge(view: View, _body: str) -> Response:
    known = [
        {"node": one.node, "link": str(one.link), "source": one.source.value, "since_s": one.since_s}
        for one in view.knowledge()
    ]
    return HTTPStatus.OK, {"knowledge": known}


def _mismatches(view: View, _body: str) -> Response:
    return HTTPStatus.OK, {"mismatches": [mismatch._asdict() for mismatch in view.mismatches()]}


def _state(view: View, _body: str) -> Response:
    return HTTPStatus.OK, view.state()


RESOURCES = (
    Resource(("armor", "topology"), {"GET": _topology}),
    Resource(("armor", "statistics", "ports"), {"GET": _ports}),
    Resource(("armor", "statistics", "flows"), {"GET": _flows}),
    Resource(("armor", "plan", "{dpid}"), {"GET": _plan}),
    Resource(("armor", "knowledge"), {"GET": _knowledge}),
    Resource(("armor", "mismatches"), {"GET": _mismatches}),
    Resource(("armor", "state"), {"GET": _state}),
)
