"""What is fuzzed: functions of bytes that may refuse them (`ArmorError`), and may not fail or hang."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from ipaddress import IPv4Address
from pathlib import Path
from typing import TypeVar, cast

from dataplane.model.node_lines import read_request, read_state
from experiments.analysis.frames import parse_pcap
from experiments.scenario.parse import ScenarioContext, parse_scenario
from machine.json_rpc import JsonRpcClient
from mininet_topos import toy
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError
from mininet_topos.importers.gml import read_gml
from mininet_topos.importers.graphml import read_graphml
from mininet_topos.importers.json_file import read_json, to_json
from mininet_topos.importers.raw import to_loaded
from mininet_topos.input_files import parse_json
from ovsdb_backup.decide.agent_types import Event
from ovsdb_backup.decide.agent_wire import event_of
from ovsdb_backup.decide.link_down import read_ldi
from ovsdb_backup.decide.packet import notification_frame, read_packet
from ryu_apps.control.decide.admission import Sender, refused
from ryu_apps.control.decide.frames import read_arp, read_lldp_probe
from ryu_apps.control.decide.peers import read_allow_list
from ryu_apps.control.decide.protection_resource import PROTECTION, read_change
from ryu_apps.control.decide.rest import respond
from ryu_apps.control.decide.tunnel_resources import ENGINEERING, TUNNELS
from ryu_apps.control.priority.decide.divert import MISS_TABLE, Diverted, divert, restore
from ryu_apps.openflow import decode
from ryu_apps.openflow.lengths import check_received
from ryu_apps.openflow.messages import Received
from ryu_apps.openflow.wire import VERSION, header, split_messages
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.protect.document import flow_to_data, parse_flows
from ryu_apps.plan.protection import protection_of, with_flow, without_flow
from ryu_apps.pmt.classify import Classifier
from ryu_apps.pmt.parse import load_pmt, parse_pmt
from ryu_apps.pmt.serial import to_json as pmt_to_json
from ryu_apps.schemes import all_schemes, plan_network
from te_solver.demand_files import parse_demands
from tests.control.fixed_controller import FixedController
from tests.fuzz import openflow_seeds

Target = Callable[[bytes], object]
Value = TypeVar("Value")
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
SQUARE = toy.square()
# Topologies of the examples; any other name stands for the square.
_TOPOLOGIES = {name: load_topology(name) for name in ("darkstrand", "figure2", "gscale", "usnet")} | {
    name: load_topology(str(EXAMPLES / name))
    for name in ("gscale_figure15.json", "kuijia_figure1.json", "sqr_ring.json")
}
_SCENARIOS = ScenarioContext(lambda name: _TOPOLOGIES.get(name, SQUARE), all_schemes())
_TABLE = load_pmt(EXAMPLES / "pmt" / "out_of_band.yaml", "the table of the example")
_CLASSIFIER = Classifier(_TABLE)
_ORIGINS = {MISS_TABLE: Diverted(MISS_TABLE, 2, 7)}


def _again(read: Callable[[], Value]) -> Value:
    """What a reader makes of our own writing; a refusal of that is a finding, not a refusal of what was fuzzed."""
    try:
        return read()
    except ArmorError as refusal:
        raise AssertionError(f"what we have written ourselves is refused: {refusal}") from refusal


def _topology_json(data: bytes) -> None:
    topology = read_json(data, "fuzzed")
    text = to_json(topology)
    assert _again(lambda: read_json(text.encode(), "again")) == topology


def _pmt(data: bytes) -> None:
    table = parse_pmt(_text(data))
    text = pmt_to_json(table)  # which refuses a table that is too long
    assert _again(lambda: parse_pmt(text)) == table


def _openflow(data: bytes) -> list[Received]:
    """A stream of messages, as the controller reads it; those that it can read."""
    found = []
    for message in split_messages(data)[0]:
        check_received(message, VERSION)
        with suppress(ArmorError):
            found.append(decode.decode_received(message))
    return found


def _agent(data: bytes) -> list[Event | None]:
    """A stream of messages, as an agent reads it; the events that they stand for."""
    found = []
    for message in split_messages(data)[0]:
        with suppress(ArmorError):
            found.append(event_of(message))
    return found


def _pso(data: bytes) -> list[bytes]:
    """A stream of messages, as PSO rewrites them in both directions and sorts them; those that it has changed."""
    changed = []
    for message in split_messages(data)[0]:
        to_switch, to_app = divert(message)[0], restore(message, _ORIGINS)
        assert len(to_switch) == len(message)
        assert header(to_app).length == len(to_app)
        changed += [each for each in (to_switch, to_app) if each != message]
        _CLASSIFIER.classify(message)
    return changed


def _frames(data: bytes) -> None:
    """A frame, as controller and agents read it: ARP, discovery, tags, notifications, link-down."""
    read_arp(data)
    read_lldp_probe(data)
    read_packet(data)
    read_ldi(data, 6)


class _Server:
    """The socket of a server that sends these bytes, takes everything, and hangs up."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def recv(self, _size: int) -> bytes:
        data, self._data = self._data, b""
        return data

    def send(self, data: bytes) -> int:
        return len(data)


def _json_rpc(data: bytes) -> None:
    """What a database server sends during a call."""
    client = JsonRpcClient.__new__(JsonRpcClient)
    client.remote, client.timeout_s, client.most_bytes = "unix:fuzzed", 1.0, 1 << 20
    client._received, client._open_braces, client._is_quiet, client._quiet_s = bytearray(), 0, False, 0.0
    client._next_id, client._deadline_s, client._try_from_bytes = 0, 0.0, 0
    client._socket = cast(socket.socket, _Server(data))
    client.call("list_dbs", [])


class _Controller(FixedController):
    """Reads the bodies of requests as the apps do."""

    topology = SQUARE

    def engineer_traffic(self, given: str) -> int:
        parse_demands(given or "[]", "request.json", SQUARE)
        return 1

    def protection_state(self) -> object:
        return []

    def change_protection(self, body: str) -> object:
        protection = protection_of(SQUARE, ())
        added, removed = read_change(body, SQUARE)
        for flow in added:
            protection = with_flow(protection, flow, SQUARE)
        for flow in removed:
            protection = without_flow(protection, flow, SQUARE)
        return [flow_to_data(flow, SQUARE) for flow in protection.flows]


def _node_lines(data: bytes) -> None:
    """A line to a node of 1+1 protection, or from one."""
    value = parse_json(_text(data))
    with suppress(ArmorError):
        read_request(value, IPv4Address("10.254.0.1"))
    read_state(value)


def _rest(data: bytes) -> None:
    """A request: a line with method, path, Host, Origin, content type and Authorization; then the body."""
    head, _, body = _text(data).partition("\n")
    method, path, *headers = (*head.split(" "), "", "")[:6]
    refused(method, Sender(*headers), "127.0.0.1", "token")
    status, value = respond(_Controller(), (TUNNELS, ENGINEERING, PROTECTION), method, path, body)
    assert status < 500
    json.dumps(value)


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


TARGETS: dict[str, Target] = {
    "topology-graphml": lambda data: to_loaded("fuzzed", read_graphml(data)),
    "topology-gml": lambda data: to_loaded("fuzzed", read_gml(data)),
    "topology-json": _topology_json,
    "json": lambda data: parse_json(_text(data)),
    "scenario": lambda data: parse_scenario(_text(data), "fuzzed.yaml", _SCENARIOS),
    "demands-csv": lambda data: parse_demands(_text(data), "fuzzed.csv", SQUARE),
    "demands-json": lambda data: parse_demands(_text(data), "fuzzed.json", SQUARE),
    "pmt": _pmt,
    "protected-flows": lambda data: parse_flows(_text(data), "fuzzed", SQUARE),
    "allow-list": lambda data: read_allow_list(_text(data), "fuzzed"),
    "openflow": _openflow,
    "openflow-agent": _agent,
    "pso": _pso,
    "frames": _frames,
    "json-rpc": _json_rpc,
    "node-lines": _node_lines,
    "rest": _rest,
    "capture": lambda data: list(parse_pcap(data)),
}


def once(name: str, data: bytes) -> None:
    """Give bytes to a target; whatever it raises but a refusal is a finding."""
    with suppress(ArmorError):
        TARGETS[name](data)


def seeds(name: str) -> Iterator[bytes]:
    """Good inputs to begin with, from examples and from our own encoders."""
    tests = ROOT / "tests" / "mininet_topos"
    files = {
        "topology-graphml": tests.glob("**/*.graphml"),
        "topology-json": EXAMPLES.glob("*.json"),
        "json": EXAMPLES.glob("*.json"),
        "scenario": EXAMPLES.glob("*.yaml"),
        "pmt": (EXAMPLES / "pmt").glob("*.yaml"),
    }
    for file in sorted(files.get(name, ())):
        yield file.read_bytes()
    yield from _made(name)


def _made(name: str) -> Iterator[bytes]:
    if name.startswith("openflow"):
        plan = plan_network("sdfast", SQUARE, PlanOptions())[1]
        yield from openflow_seeds.of_a_switch(plan.flows[::5], plan.groups)
    if name == "pso":
        yield from openflow_seeds.of_pso(_TABLE)
    texts = {
        "topology-json": to_json(SQUARE),
        "topology-gml": 'graph [ node [ id 1 label "a" Latitude 1.5 ] node [ id 2 ] edge [ source 1 target 2 ] ]',
        "demands-json": '[{"src": "s1", "dst": "s3", "demand_mbps": 5, "priority": 1}]',
        "demands-csv": "src,dst,demand_mbps,priority\ns1,s3,10,1\ns2,s4,5,2\n",
        "protected-flows": "- {from: h1, to: h3, to_prefix: 10.0.0.0/29, protocol: udp, to_port: 5000-5010}\n",
        "allow-list": "- {certificate: s1, dpids: [1, 2]}\n- {address: 10.0.0.1, dpids: [3]}\n",
        "json-rpc": '{"id": 1, "result": [{"rows": []}], "error": null}{"id": 0, "method": "echo", "params": []}',
    }
    if name == "node-lines":
        rows = '"connections": [[1, "10.254.0.1", "10.254.0.3", 1], [3, "10.254.0.3", "10.254.0.1", 2]]'
        sending = '"sending": [{"number": 1, "egress": "10.254.0.3", "last": 9, "sent": 9}]'
        receiving = '"receiving": [{"number": 3, "last": 7, "accepted": 7, "duplicate": 0, "out_of_window": 0}]'
        yield f'{{"epoch": "a", "configured": true, {rows}, {sending}, {receiving}}}'.encode()
        yield f'{{{rows}, "sending": [[1, "10.254.0.3", 9]], "receiving": [[3, 7]]}}'.encode()
    if name == "rest":
        yield b"GET /armor/plan/0x1 localhost\n"
        yield b'POST /armor/te 127.0.0.1:8080 - application/json\n[{"src": "s1", "dst": "s3", "demand_mbps": 5}]'
        yield b'POST /armor/protect\n{"add": [{"from": "h1", "to": "h3", "to_port": "80-90"}], "remove": []}'
    if name in texts:
        yield texts[name].encode()
    if name == "frames":
        yield notification_frame(3)
