"""The REST interface as a function: (method, path) and what the controller knows give a status and a JSON value.

docs/controller.md describes it for users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from ipaddress import IPv4Address
from typing import Any, Protocol

from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.topology import LinkId, Topology
from ryu_apps.control.statistics_core import FlowSample, PortSample
from ryu_apps.control.topology_core import LiveTopology, Mismatch
from ryu_apps.plan.rows import RulePlan
from ryu_apps.plan.serial import plan_to_json

Json = Any
Response = tuple[HTTPStatus, Json]


class View(Protocol):
    """What the REST interface may read of a running controller."""

    topology: Topology

    def live_topology(self) -> LiveTopology:
        """Ports and liveness."""

    def failed_links(self) -> frozenset[LinkId]:
        """Links with a dead end."""

    def port_samples(self) -> Mapping[str, Mapping[int, PortSample]]:
        """Port counters by switch and port."""

    def flow_samples(self) -> Mapping[str, Mapping[int, FlowSample]]:
        """Traffic by switch and destination."""

    def wanted_plan(self, dpid: int) -> RulePlan | None:
        """What a switch should hold; None for an unknown datapath id."""

    def mismatches(self) -> tuple[Mismatch, ...]:
        """Differences between the topology and the network."""

    def state(self) -> Json:
        """State of the controller, its switches, and its errors."""

    def tunnels(self) -> Json | None:
        """Tunnels, weights, slots and failures; None for a scheme without tunnels."""

    def engineer_traffic(self, given: str) -> int:
        """Begin a run of traffic engineering, with the demands of a JSON list unless it is empty; its number.

        Raises
        ------
        BadInputError, BusyError
        """

    def protection_state(self) -> Json | None:
        """Protected flows, connections and counters; None for a scheme that protects none."""

    def change_protection(self, body: str) -> Json:
        """Protect other flows, as a JSON object says; the state afterwards.

        Raises
        ------
        BadInputError
        """


class BusyError(ArmorError):
    """What was asked for is under way already."""


def respond(view: View, method: str, path: str, body: str = "") -> Response:
    """Answer to one request; bad input gets a 4xx and a sentence."""
    parts = [part for part in path.split("/") if part]
    if parts == list(ENGINEERING):
        if method != "POST":
            return HTTPStatus.METHOD_NOT_ALLOWED, _error(f"{method} is not offered here; use POST")
        return _engineer(view, body)
    if parts == list(PROTECTION):
        return _protection(view, method, body)
    for pattern, answer in ROUTES:
        found = _matches(pattern, parts)
        if found is not None:
            if method not in ("GET", "HEAD"):
                return HTTPStatus.METHOD_NOT_ALLOWED, _error(f"{method} is not offered here; use GET")
            return answer(view, *found)
    known = ", ".join("/" + "/".join(pattern) for pattern in (*dict(ROUTES), ENGINEERING, PROTECTION))
    return HTTPStatus.NOT_FOUND, _error(f"there is nothing at {path!r}; there are {known}")


def _protection(view: View, method: str, body: str) -> Response:
    if method not in ("GET", "HEAD", "POST"):
        return HTTPStatus.METHOD_NOT_ALLOWED, _error(f"{method} is not offered here; use GET or POST")
    try:
        state = view.change_protection(body) if method == "POST" else view.protection_state()
    except ArmorError as error:
        status = HTTPStatus.BAD_REQUEST if isinstance(error, BadInputError) else HTTPStatus.SERVICE_UNAVAILABLE
        return status, _error(str(error))
    if state is None:
        return HTTPStatus.NOT_FOUND, _error("this scheme protects no flows; use protect")
    return HTTPStatus.OK, state


def _matches(pattern: tuple[str, ...], parts: list[str]) -> list[str] | None:
    if len(pattern) != len(parts):
        return None
    found = []
    for wanted, part in zip(pattern, parts, strict=True):
        if wanted.startswith("{"):
            found.append(part)
        elif wanted != part:
            return None
    return found


def _error(text: str) -> Json:
    return {"error": text}


def _topology(view: View) -> Response:
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


def _ports(view: View) -> Response:
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


def _flows(view: View) -> Response:
    flows = [
        {"node": node, "destination": str(IPv4Address(destination)), **asdict(sample)}
        for node, samples in view.flow_samples().items()
        for destination, sample in samples.items()
    ]
    return HTTPStatus.OK, {"flows": flows}


def _plan(view: View, dpid: str) -> Response:
    try:
        number = int(dpid, 0)
    except ValueError:
        return HTTPStatus.BAD_REQUEST, _error(f"{dpid!r} is no datapath id; write a number such as 4 or 0x4")
    plan = view.wanted_plan(number)
    if plan is None:
        return HTTPStatus.NOT_FOUND, _error(f"no switch has datapath id {dpid}; see /armor/topology")
    return HTTPStatus.OK, plan_to_json(plan)


def _mismatches(view: View) -> Response:
    return HTTPStatus.OK, {"mismatches": [mismatch._asdict() for mismatch in view.mismatches()]}


def _state(view: View) -> Response:
    return HTTPStatus.OK, view.state()


def _tunnels(view: View) -> Response:
    value = view.tunnels()
    if value is None:
        return HTTPStatus.NOT_FOUND, _error("this scheme has no tunnels; kuijia, rescaling and te have")
    return HTTPStatus.OK, value


def _engineer(view: View, body: str) -> Response:
    if len(body) > MAX_BODY_CHARS:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _error(
            f"the demands are {len(body)} characters long; send at most {MAX_BODY_CHARS}, or give a file as setting"
        )
    try:
        return HTTPStatus.ACCEPTED, {"run": view.engineer_traffic(body.strip())}
    except BusyError as error:
        return HTTPStatus.CONFLICT, _error(str(error))
    except BadInputError as error:
        return HTTPStatus.BAD_REQUEST, _error(str(error))


MAX_BODY_CHARS = 4_000_000
ENGINEERING = ("armor", "te")
PROTECTION = ("armor", "protect")
ROUTES: tuple[tuple[tuple[str, ...], Callable[..., Response]], ...] = (
    (("armor", "topology"), _topology),
    (("armor", "statistics", "ports"), _ports),
    (("armor", "statistics", "flows"), _flows),
    (("armor", "plan", "{dpid}"), _plan),
    (("armor", "mismatches"), _mismatches),
    (("armor", "tunnels"), _tunnels),
    (("armor", "state"), _state),
)
