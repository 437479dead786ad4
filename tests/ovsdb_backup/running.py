"""An agent process beside a private Open vSwitch in dummy mode: what its tests start and look at."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ryu_apps.backup_database.schema import DATABASE, SCHEMA_PATH
from ryu_apps.backup_database.store import BackupStore
from ryu_apps.openflow import encode
from ryu_apps.plan.ids import Kind, split_cookie
from ryu_apps.plan.rows import FlowRow
from tests.dummy_ovs import DummyOvs, pcap_frames
from tests.openflow.openflow_client import OpenFlowClient
from tests.ovsdb_backup.server import OvsdbServer, ovsdb_server
from tests.ovsdb_backup.world import Site
from tests.patience import patient_s, wait_until, whole_lines

WAIT_TO_RESTORE_S = 0.4


class RunningAgent:
    """One switch in dummy mode, its backup database, and the agent that looks after it."""

    def __init__(self, ovs: DummyOvs, database: OvsdbServer, where: Site) -> None:
        self.ovs, self.database, self.site = ovs, database, where
        self.remote = database.remote
        self.events_file = ovs.folder / "events.jsonl"
        self.process: subprocess.Popen[bytes] | None = None
        ovs.add_bridge(where.name, 1, (1, *where.ports))
        self.options: tuple[str, ...] = ("--wait-to-restore-s", str(WAIT_TO_RESTORE_S))

    def start(self) -> None:
        """Start the agent."""
        with open(self.ovs.folder / "agent.log", "ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "ovsdb_backup.agent", "--bridge", self.site.name),
                    *("--database", self.remote, "--second-source", self.ovs.database),
                    *("--management", self.ovs.management(self.site.name), *self.options),
                ],
                env={**os.environ, "ARMOR_EVENTS": str(self.events_file)},
                stdout=log,
                stderr=log,
            )

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send the agent a signal; its exit code."""
        process, self.process = self.process, None
        os.kill(process.pid, number)
        return process.wait(patient_s(60))

    @property
    def output(self) -> str:
        """What the agent printed."""
        return (self.ovs.folder / "agent.log").read_text(encoding="utf-8")

    def fill(self) -> int:
        """Write the plan to the backup database."""
        links = {port_no: f"link {port_no}" for port_no in self.site.ports}
        return BackupStore(self.database.remote).replace_plan(self.site.name, self.site.plan, links)

    def start_ready(self, timeout_s: float = 20.0) -> None:
        """Plan in the database, agent running, switch refilled by it."""
        self.fill()
        self.start()
        self.wait_refilled(timeout_s)

    def wait_refilled(self, timeout_s: float = 20.0) -> None:
        """Wait until the switch holds every planned row."""

        def is_full() -> bool:
            try:
                return set(self.site.plan.flows) <= self.flows()
            except (ConnectionError, FileNotFoundError):  # a switch that is just starting
                return False

        wait_until(is_full, "the planned rows are in the switch", timeout_s)

    def flows(self) -> set[FlowRow]:
        """All rows in the switch."""
        with OpenFlowClient(self.ovs.management(self.site.name)) as client:
            return {stat.row for stat in client.flows()}

    def agent_rows(self) -> set[FlowRow]:
        """Rows in the switch that the agent put there."""
        return {row for row in self.flows() if split_cookie(row.cookie).kind == Kind.AGENT}

    def wait_rows(self, wanted: set[FlowRow], what: str) -> None:
        """Wait until the agent's rows are exactly these."""

        def are_there() -> bool:
            return self.agent_rows() == wanted

        wait_until(are_there, what)

    def delete_rows(self, rows: set[FlowRow]) -> None:
        """Delete rows as a controller would."""
        with OpenFlowClient(self.ovs.management(self.site.name)) as client:
            client.send(b"".join(map(encode.flow_delete, rows)))
            assert client.barrier() == []

    def set_port(self, port_no: int, up: bool) -> None:
        """Fail a port, or repair it."""
        self.ovs.set_port(f"{self.site.name}-p{port_no}", up)

    def receive(self, port_no: int, frame: bytes) -> None:
        """Let a frame arrive at a port."""
        self.ovs.receive(f"{self.site.name}-p{port_no}", frame)

    def sent_by(self, port_no: int) -> list[bytes]:
        """Frames that a port has sent since `record`."""
        return pcap_frames(self.ovs.folder / f"{self.site.name}-p{port_no}.pcap")

    def record(self) -> None:
        """Record what every port sends from now on."""
        for port_no in (1, *self.site.ports):
            self.ovs.record(f"{self.site.name}-p{port_no}")

    def events(self, name: str | None = None) -> list[dict[str, object]]:
        """Lines of the event log, of one kind or all."""
        found = [json.loads(line) for line in whole_lines(self.events_file)]
        return [event for event in found if name in (None, event["event"])]

    def wait_events(self, name: str, count: int = 1) -> list[dict[str, object]]:
        """Wait for a number of events of one kind."""
        wait_until(lambda: len(self.events(name)) >= count, f"{count} x {name} in the event log")
        return self.events(name)


@contextmanager
def running_agent(where: Site) -> Iterator[RunningAgent]:
    """A switch of the site's plan, not yet filled, with an agent that is not yet started."""
    with DummyOvs() as ovs, ovsdb_server({DATABASE: SCHEMA_PATH}) as database:
        running = RunningAgent(ovs, database, where)
        try:
            yield running
        finally:
            if running.process is not None:
                running.end(signal.SIGKILL)


def ipv4_frame(source: int, destination: int, tci: int = 0, payload: bytes = b"armor") -> bytes:
    """An Ethernet frame with an IPv4 packet (protocol 253, for experiments); `tci` other than 0 adds a tag.

    Bit 12 of the TCI stands for "tagged" in Open vSwitch; on the wire it is DEI, and 0.
    """
    header = struct.pack("!BBHHHBBHII", 0x45, 0, 20 + len(payload), 0, 0, 64, 253, 0, source, destination)
    words = sum(struct.unpack("!10H", header))
    words = (words & 0xFFFF) + (words >> 16)
    checksum = ~((words & 0xFFFF) + (words >> 16)) & 0xFFFF
    header = header[:10] + struct.pack("!H", checksum) + header[12:]
    tag = struct.pack("!HH", 0x8100, tci & ~0x1000) if tci else b""
    return b"\x02\0\0\0\0\x02" + b"\x02\0\0\0\0\x01" + tag + b"\x08\x00" + header + payload
