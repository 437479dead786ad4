"""How long the switch-local agent takes, against what the paper says: O(f log R) for f affected rows of R.

    python -m benchmarks.agent_latency [--failures 200] [--out FILE]

One switch of a private Open vSwitch in dummy mode (no root), the agent beside it, its plan in a real backup
database. Three parts, every single measurement a JSON line of the result file:

latency   PORT_STATUS received -> last byte of the bundle sent, with f = 10, 100, 1000 rows affected (R = 20,000 in
          the table) and R = 2,000, 20,000, 200,000 (f = 100). Stamps are the agent's own (CLOCK_MONOTONIC).
outage    frames go to two switches in turn, one with the agent, one with FFG's fast-failover group; both lose their
          primary port; first frame out of the backup port minus the switch's own notice of the failure (the reply
          to the command that fails the port). Both sides pay for the round in which cached flows are revalidated.
memory    the agent's resident memory for switch s4 of Darkstrand, all pairs, both planners.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from benchmarks.trial_rows import memory_mb, parser_of, record
from machine.json_rpc import JsonRpcClient
from mininet_topos.catalogue import load_topology
from ovsdb_backup.agent import without_eventlet
from ovsdb_backup.agent_loop import PREPARE_AFTER_S
from ryu_apps.openflow import encode
from ryu_apps.plan.failure_sets import FailureSets
from ryu_apps.plan.ids import AGENT_CONTROLLER_ID, Kind, Priority, Status, Table, cookie
from ryu_apps.plan.recovery_rows import ANY_TAG, ETH_TYPE_IPV4, commodity_match
from ryu_apps.plan.rows import (
    BackupRow,
    Bucket,
    Controller,
    ExtensionRow,
    FlowRow,
    Group,
    GroupRow,
    Output,
    RulePlan,
    match,
)
from tests import schemes
from tests.openflow.openflow_client import OpenFlowClient
from tests.ovsdb_backup.running import RunningAgent, ipv4_frame, running_agent
from tests.ovsdb_backup.world import Site, site

FAILING, OTHER, BACKUP = 2, 3, 4
TAG_SPACE = (3, 1)
FIRST_DESTINATION = 0x0B000000
AFFECTED = ((10, 20_000), (100, 20_000), (1000, 20_000))
TABLE_SIZES = ((100, 2_000), (100, 20_000), (100, 200_000))
NO_WAIT = ("--wait-to-restore-s", "0")  # the benchmark flaps: damping would make it wait a minute
HOST, DESTINATION = 0x0A000001, FIRST_DESTINATION
WARM_UP_FRAMES, OBSERVED_S = 20, 0.1
OUTAGE_TRIALS = 100
LOADING_S = 300.0  # 200,000 rows through a database
PREPARING_S = 0.0004  # per row: the agent works failures out while nothing happens, and here they come fast


def synthetic_site(affected: int, table_rows: int) -> Site:
    """A switch with `affected` primaries by one port and `table_rows` rows in its backup table."""
    sets = FailureSets(*TAG_SPACE)
    failing, other = (sets.tag_id_of[1 << number] for number in (0, 1))
    backups: list[BackupRow] = []
    for number in range(table_rows // 2):
        destination, is_affected = FIRST_DESTINATION + number, number < affected
        port_no, tag_id = (FAILING, failing) if is_affected else (OTHER, other)
        backups.append(BackupRow(destination, None, 0, port_no, 0, False))
        backups.append(BackupRow(destination, None, tag_id, BACKUP, Status.RECOVERED, True))
    punt = FlowRow(
        Table.ROUTE,
        Priority.PUNT,
        match(eth_type=ETH_TYPE_IPV4, vlan_vid=ANY_TAG),
        (Controller(AGENT_CONTROLLER_ID),),
        cookie=cookie(schemes.SDFAST, Kind.PLANNED),
    )
    plan = RulePlan(
        1,
        "s1",
        (punt,),
        backups=tuple(backups),
        extensions=(ExtensionRow(0, FAILING, failing), ExtensionRow(0, OTHER, other)),
        tag_space=TAG_SPACE,
    )
    return Site("s1", plan, (FAILING, OTHER, BACKUP))


def latencies(affected: int, table_rows: int, failures: int) -> Iterator[dict[str, object]]:
    """One row a failure: when the agent heard of it and when its bundle was sent."""
    case = {"part": "latency", "affected": affected, "table_rows": table_rows}
    with running_agent(synthetic_site(affected, table_rows)) as running:
        running.options = NO_WAIT
        running.start_ready(timeout_s=LOADING_S)
        for trial in range(failures):
            yield {**case, "trial": trial, **measured(running, affected)}


def measured(running: RunningAgent, affected: int) -> dict[str, object]:
    """One failure; a measurement that failed says why."""
    try:
        return {"status": "ok", **one_failure(running, affected)}
    except AssertionError as error:
        return {"status": "failed", "error": str(error)}


def one_failure(running: RunningAgent, affected: int) -> dict[str, object]:
    """Fail the port, repair it, wait until all is as before."""
    installs, returns = len(running.events("agent_install")), len(running.events("return_done"))
    time.sleep(PREPARE_AFTER_S + 0.1 + affected * PREPARING_S)
    running.set_port(FAILING, up=False)
    event = running.wait_events("agent_install", installs + 1)[-1]
    assert event["rows"] == affected, event
    running.set_port(FAILING, up=True)
    running.wait_events("return_done", returns + 1)
    received_s, sent_s = float(str(event["t_received_s"])), float(str(event["t_monotonic_s"]))
    return {"latency_us": (sent_s - received_s) * 1e6}


def ffg_rows() -> tuple[GroupRow, FlowRow]:
    """FFG for the same destination: a fast-failover group over the same two ports."""
    buckets = tuple(Bucket((Output(port_no),), watch_port=port_no) for port_no in (FAILING, BACKUP))
    group = GroupRow(1, "ff", buckets)
    return group, FlowRow(Table.CLASSIFY, Priority.PRIMARY, commodity_match(DESTINATION, None, 0), (Group(1),))


def outages(trials: int) -> Iterator[dict[str, object]]:
    """One row a failure: how long after it the first frame left by the backup port, by agent and by FFG."""
    where = synthetic_site(1, 2)
    primary = FlowRow(
        Table.CLASSIFY,
        Priority.PRIMARY,
        commodity_match(DESTINATION, None, 0),
        (Output(FAILING),),
        cookie=cookie(schemes.SDFAST, Kind.PLANNED),
    )
    plan = RulePlan(
        1, "s1", (primary, *where.plan.flows), (), (), where.plan.backups, where.plan.extensions, tag_space=TAG_SPACE
    )
    with running_agent(Site("s1", plan, where.ports)) as running:
        running.options = NO_WAIT
        running.start_ready()
        running.ovs.add_bridge("f1", 2, (1, *where.ports))
        group, flow = ffg_rows()
        with OpenFlowClient(running.ovs.management("f1")) as client:
            client.send(encode.group_add(group) + encode.flow_add(flow))
            assert client.barrier() == []
        files = {name: running.ovs.record(f"{bridge}-p{BACKUP}") for name, bridge in BRIDGES.items()}
        control = JsonRpcClient(f"unix:{running.ovs.folder}/vswitchd.ctl")
        for trial in range(trials):
            yield {"part": "outage", "trial": trial, **one_outage(running, control, files)}
        control.close()


BRIDGES = {"agent": "s1", "ffg": "f1"}


def one_outage(running: RunningAgent, control: JsonRpcClient, files: dict[str, Path]) -> dict[str, object]:
    """Fail both primaries under traffic, look at what left by the backup ports, repair."""
    frame = ipv4_frame(HOST, DESTINATION).hex()
    ports = [f"{bridge}-p1" for bridge in BRIDGES.values()]
    for _warm_up in range(WARM_UP_FRAMES):
        for port in ports:
            control.call("netdev-dummy/receive", [port, frame])
    time.sleep(0.05)
    seen = {name: len(stamps(path)) for name, path in files.items()}
    returns = len(running.events("return_done"))
    failed_s = {}
    for name, bridge in BRIDGES.items():
        control.call("netdev-dummy/set-admin-state", [f"{bridge}-p{FAILING}", "down"])
        failed_s[name] = time.time()
    sent = 0
    end_s = time.time() + OBSERVED_S
    while time.time() < end_s:
        for port in ports:
            control.call("netdev-dummy/receive", [port, frame])
        sent += 1
    outage = {name: [at_s - failed_s[name] for at_s in stamps(path)[seen[name] :]] for name, path in files.items()}
    for bridge in BRIDGES.values():
        control.call("netdev-dummy/set-admin-state", [f"{bridge}-p{FAILING}", "up"])
    running.wait_events("return_done", returns + 1)
    found = {f"{name}_outage_ms": times[0] * 1e3 for name, times in outage.items() if times}
    status = "ok" if len(found) == len(BRIDGES) else "failed"
    return {"status": status, "frame_interval_ms": OBSERVED_S / sent * 1e3, **found}


def stamps(path: Path) -> list[float]:
    """Times of the frames in a pcap file that is still being written (CLOCK_REALTIME, seconds)."""
    data, found, at = path.read_bytes(), [], 24
    while at + 16 <= len(data):
        seconds, microseconds, length, _whole = struct.unpack_from("=IIII", data, at)
        found.append(seconds + microseconds / 1e6)
        at += 16 + length
    return found


def memory() -> Iterator[dict[str, object]]:
    """Resident memory of the agent of a Darkstrand switch."""
    topology = load_topology("darkstrand")
    for planner in ("tree", "pair"):
        where = site(topology, "s4", planner=planner)
        with running_agent(where) as running:
            running.start_ready()
            time.sleep(1.0)
            assert running.process is not None
            rows = {"planner": planner, "table_rows": len(where.plan.backups)}
            yield {"part": "memory", "status": "ok", **rows, **memory_mb(running.process.pid)}


def summary(rows: list[dict[str, object]]) -> list[str]:
    """One line a case, for people."""
    lines = []
    latency = [row for row in rows if row["part"] == "latency"]
    for affected, table_rows in sorted({(int(str(r["affected"])), int(str(r["table_rows"]))) for r in latency}):
        mine = [row for row in latency if (row["affected"], row["table_rows"]) == (affected, table_rows)]
        lines.append(f"f {affected:5} of R {table_rows:7}: {shown(mine, 'latency_us', 'us')}")
    outage = [row for row in rows if row["part"] == "outage"]
    lines += [f"outage beyond detection, {name:5}: {shown(outage, f'{name}_outage_ms', 'ms')}" for name in BRIDGES]
    for row in rows:
        if row["part"] == "memory":
            lines.append(
                f"agent memory, Darkstrand s4, {row['planner']}: {row['rss_mb']:.0f} MB ({row['table_rows']} rows)"
            )
    return lines


def shown(rows: list[dict[str, object]], key: str, unit: str) -> str:
    """Median, 99th percentile and number of measurements."""
    values = sorted(float(str(row[key])) for row in rows if key in row)
    failed = sum(row["status"] != "ok" for row in rows)
    if len(values) < 2:
        return f"{len(values)} measurements, {failed} failed"
    p99 = quantiles(values, n=100, method="inclusive")[98]
    return f"p50 {median(values):9.2f} {unit}, p99 {p99:9.2f} {unit}, {len(values)} failures, {failed} failed trials"


def measurements(failures: int) -> Iterator[dict[str, object]]:
    """Rows of all parts."""
    for affected, table_rows in sorted({*AFFECTED, *TABLE_SIZES}):
        yield from latencies(affected, table_rows, failures)
    yield from outages(min(failures, OUTAGE_TRIALS))
    yield from memory()


def main() -> int:
    """Measure, write the rows, print a summary."""
    parser = parser_of("agent_latency", __doc__)
    parser.add_argument("--failures", type=int, default=200)
    given = parser.parse_args()
    without_eventlet()
    return record("agent_latency", given.out, measurements(given.failures), summary)


if __name__ == "__main__":
    sys.exit(main())
