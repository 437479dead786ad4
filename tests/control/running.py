"""A Ryu app as its own process, and a network of dummy switches wired like a topology."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from experiments.loadgen.ports import free_port
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Topology
from ryu_apps.plan.addressing import dpid_of
from ryu_apps.plan.rows import FlowRow, GroupRow, Output
from ryu_apps.plan.serial import plan_from_json
from tests.dummy_ovs import DummyOvs
from tests.openflow.openflow_client import OpenFlowClient
from tests.patience import patient_s, wait_until, whole_lines

MANAGER = (sys.executable, "-m", "ryu_apps.manager")
ROOT = Path(__file__).resolve().parents[2]
ANSWER_S = patient_s(60)
START_S = 120.0  # Ryu and its apps are long to import where every processor is busy
QUICK = {"ARMOR_STATS_INTERVAL_S": "0.5", "ARMOR_DISCOVERY_INTERVAL_S": "0.5", "ARMOR_WAIT_TO_RESTORE_S": "0.5"}


class RunningApp:
    """`ryu-manager ryu_apps/<scheme>.py`, with its REST interface and its event log."""

    def __init__(
        self, scheme: str, topology: str, folder: Path, arguments: tuple[str, ...] = (), **settings: str
    ) -> None:
        self.openflow_port, self.rest_port = free_port(), free_port()
        self.folder = folder
        self._app = scheme if scheme.startswith("ryu_apps.") else f"{ROOT}/ryu_apps/{scheme}.py"
        self._environment = {
            **os.environ,
            **QUICK,
            "ARMOR_TOPOLOGY": topology,
            "ARMOR_REST_PORT": str(self.rest_port),
            "ARMOR_EVENTS": str(folder / "events.jsonl"),
            **{f"ARMOR_{name.upper()}": value for name, value in settings.items()},
        }
        self._arguments = arguments
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> RunningApp:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self.kill()

    @property
    def target(self) -> str:
        """Where switches have to connect."""
        return f"{'ssl' if '--ctl-privkey' in self._arguments else 'tcp'}:127.0.0.1:{self.openflow_port}"

    @property
    def log(self) -> str:
        """What the process has written."""
        return (self.folder / "ryu.log").read_text(encoding="utf-8", errors="replace")

    def start(self) -> None:
        """Start the process (again), and wait for its REST interface."""
        with (self.folder / "ryu.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*MANAGER, "--ofp-tcp-listen-port", str(self.openflow_port), *self._arguments, self._app],
                cwd=ROOT,
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        process = self.process

        def answers() -> bool:
            assert process.poll() is None, f"the app has ended:\n{self.log[-3000:]}"
            return self.get("/armor/state") is not None

        wait_until(answers, "the REST interface answers", START_S)

    def kill(self) -> None:
        """End the process as kill -9 does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def get(self, path: str) -> Any:
        """JSON of a REST answer; None while nobody listens."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.rest_port}{path}", timeout=ANSWER_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"status": error.code, **json.load(error)}
        except OSError:
            return None

    def text(self, path: str) -> str:
        """Answer that is no JSON."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.rest_port}{path}", timeout=ANSWER_S) as answer:
            return str(answer.read(), "utf-8")

    def request_status(self, path: str, method: str = "GET") -> int:
        """Status code of a request."""
        address, headers = f"http://127.0.0.1:{self.rest_port}{path}", {"Content-Type": "application/json"}
        request = urllib.request.Request(address, None, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def wait_ready(self, timeout_s: float = 60) -> dict[str, Any]:
        """State of the controller once every switch holds its plan."""
        return wait_until(
            lambda: (state := self.get("/armor/state")) and state["ready"] and state, "every switch is ready", timeout_s
        )

    def events(self, name: str) -> list[dict[str, Any]]:
        """Events of one name so far."""
        lines = whole_lines(self.folder / "events.jsonl")
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def wait_event(self, name: str, count: int = 1, timeout_s: float = 60) -> dict[str, Any]:
        """The newest event of a name once there are `count`."""
        return wait_until(
            lambda: len(found := self.events(name)) >= count and found[-1], f"{count} x {name}", timeout_s
        )

    def wanted(self, dpid: int) -> tuple[set[FlowRow], set[GroupRow]]:
        """What the app says that a switch should hold."""
        plan = plan_from_json(self.get(f"/armor/plan/{dpid}"))
        return set(plan.flows), set(plan.groups)


class DummyNetwork:
    """One dummy bridge for every switch of a topology, joined like its links."""

    def __init__(self, ovs: DummyOvs, topology: Topology) -> None:
        self.ovs, self.topology = ovs, topology
        self.port_of = assign_ports(topology).port_of
        numbers = {
            node: [HOST_PORT, *(self.port_of[link.direction] for link in topology.links_from[node])]
            for node in topology.node_names
        }
        ovs.add_bridges({node: (dpid_of(topology, node), ports) for node, ports in numbers.items()})
        if topology.link_ids:
            ovs.wire(*(self.ports_of(str(link)) for link in topology.link_ids))

    def ports_of(self, link: str) -> tuple[str, str]:
        """Names of the two ports of a link."""
        there, back = self.topology.directions(self.topology.parse_link(link))
        return f"{there.src}-p{self.port_of[there]}", f"{back.src}-p{self.port_of[back]}"

    def connect(self, target: str) -> None:
        """Point every switch to a controller."""
        self.ovs.set_controller(target, *self.topology.node_names)

    def set_link(self, link: str, up: bool) -> None:
        """Fail or repair a link, at both ends."""
        for port in self.ports_of(link):
            self.ovs.set_port(port, up)

    def held(self, node: str) -> tuple[set[FlowRow], set[GroupRow]]:
        """What a switch holds."""
        with OpenFlowClient(self.ovs.management(node)) as client:
            return {stat.row for stat in client.flows()}, {stat.row for stat in client.groups()}

    def delivered(self, node: str) -> int:
        """IPv4 packets that a switch has delivered to its host."""
        with OpenFlowClient(self.ovs.management(node)) as client:
            return sum(
                stat.n_packets
                for stat in client.flows()
                if stat.row is not None and Output(HOST_PORT) in stat.row.apply_actions
            )

    def differing(self, app: RunningApp) -> list[str]:
        """Switches that do not hold exactly what the app wants."""
        return [
            node for node in self.topology.node_names if self.held(node) != app.wanted(dpid_of(self.topology, node))
        ]


def ipv4_frame(src: int, dst: int, dst_mac: int) -> bytes:
    """An Ethernet frame with a UDP packet between two IPv4 addresses."""
    udp = bytes.fromhex("1388 1389 0012 0000") + b"armor-test"
    head = bytes.fromhex("4500") + (20 + len(udp)).to_bytes(2, "big") + bytes.fromhex("0001 0000 40 11 0000")
    head += src.to_bytes(4, "big") + dst.to_bytes(4, "big")
    total = sum(int.from_bytes(head[at : at + 2], "big") for at in range(0, 20, 2))
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    packet = head[:10] + checksum.to_bytes(2, "big") + head[12:] + udp
    return (dst_mac.to_bytes(6, "big") + bytes.fromhex("020000000001 0800") + packet).ljust(60, b"\0")
