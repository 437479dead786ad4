"""10,000 packets/s into a port that fails: frames for each of them until switches have looked again, and none after."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from emulation.decide.options import EmulationOptions
from emulation.failure_injection import FailureInjection
from emulation.network import EmulatedNetwork
from experiments.analysis.frames import parse_pcap
from experiments.analysis.notices import notices_of
from experiments.analysis.packet_counts import Clock
from experiments.testbed.instruments.capture import Captures, Tap
from mininet_topos.catalogue import load_topology
from ryu_apps.plan.ids import Kind, Table, split_cookie
from ryu_apps.plan.notification import cache_row
from tests.openflow.openflow_client import OpenFlowClient
from tests.patience import wait_until

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]

FIGURE2 = load_topology("figure2")
LINK = FIGURE2.parse_link("s4-s5")
QUIET_S = 2.0  # cached flows are looked at again at least every 0.5 s
STORM = """
import socket, sys, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sent, begin = 0, time.monotonic()
while True:
    for _ in range(int((time.monotonic() - begin) * 10_000) - sent):
        out.sendto(bytes(400), (sys.argv[1], 7))
        sent += 1
    time.sleep(0.001)
"""


@pytest.fixture
def network():
    settings = {"TOPOLOGY": "figure2", "NOTIFICATION": "flood", "WAIT_TO_RESTORE_S": "1"}
    with (
        tempfile.TemporaryDirectory(prefix="armor-", dir="/tmp") as folder,
        EmulatedNetwork(
            FIGURE2,
            EmulationOptions(bfd_interval_ms=100),
            run_dir=Path(folder) / "run",
            environment={f"ARMOR_{name}": value for name, value in settings.items()},
            controller_command=[sys.executable, "-m", "ryu.cmd.manager", "ryu_apps/sdfast.py"],
        ) as running,
    ):
        running.wait_bfd_up(60)
        wait_until(lambda: running.ping("h4", "h5", count=2) == 2, "packets arrive", 60)
        yield running


def counted(network):
    """Packets by (table, switch, failed set), of the planned rows that extend sets and send notifications on."""
    counts = Counter()
    for node in FIGURE2.node_names:
        with OpenFlowClient(f"unix:{network.sites[node].mgmt_socket}") as client:
            for stat in client.flows():
                parts = split_cookie(stat.cookie)
                if stat.table_id in (Table.EXTEND, Table.NOTIFY) and parts.kind == Kind.PLANNED and stat.n_packets:
                    counts[Table(stat.table_id), node, parts.tag_id] += stat.n_packets
    return counts


def has_notified(counts):
    return any(table == Table.NOTIFY for table, _node, _tag_id in counts)


@pytest.mark.parametrize("kind", ["silent", "carrier"])
def test_a_storm_floods_only_until_switches_have_looked_again(network, tmp_path, kind):
    taps = [Tap(node, network.interface(node, port), "out", "vlan") for node, port in network.ports.direction_at]
    with FailureInjection(network) as injection, Captures(network, taps, tmp_path, drains=True) as captures:
        sender = network.popen("h4", [sys.executable, "-c", STORM, network.hosts["s5"].address])
        try:
            time.sleep(1.0)
            getattr(injection, kind)(LINK)

            def is_quiet():
                before = counted(network)
                time.sleep(QUIET_S)
                return has_notified(before) and counted(network) == before and before

            counts = wait_until(is_quiet, "no notification for a while, though the storm goes on", 60)
            quiet_ns = time.time_ns()
            time.sleep(QUIET_S)
            assert sender.poll() is None
        finally:
            sender.kill()
            sender.wait()
    notices = [
        notice
        for tap, path in captures.files.items()
        for notice in notices_of(parse_pcap(path.read_bytes()), direction_of(network, tap), Clock(0))
    ]
    met = {node: count for (table, node, _tag_id), count in counts.items() if table == Table.EXTEND}
    print(f"{kind}: {sum(met.values())} packets met the failure, {len(notices)} notification frames")
    assert notices
    assert max(notice.t_s for notice in notices) < quiet_ns / 1e9
    sent, received = (Counter(getattr(one.direction, end) for one in notices) for end in ("src", "dst"))
    # Frames are counted at ports: Open vSwitch credits packets of a cached flow to rows of its later translation, so
    # that counters of rows do not say how many packets the ends of the link have met the failure with.
    for node in set(FIGURE2.node_names) - {LINK.a, LINK.b}:
        assert sent[node] <= len(FIGURE2.links_from[node]) * received[node]


def test_a_link_that_fails_again_soon_notifies_as_the_first_time(network, tmp_path):
    """Open vSwitch keeps the cached flows of the first notification for 10 s; they must not carry the next ones."""
    taps = [Tap(node, network.interface(node, port), "out", "vlan") for node, port in network.ports.direction_at]
    frames = []
    with FailureInjection(network) as injection:
        for number in range(4):
            folder = tmp_path / str(number)
            folder.mkdir()
            with Captures(network, taps, folder, drains=True) as captures:
                injection.carrier(LINK)
                wait_until(lambda: network.ping("h4", "h5", count=1) == 1, "the way around is found", 10)
                time.sleep(QUIET_S)
            frames.append(
                sum(
                    len(notices_of(parse_pcap(path.read_bytes()), direction_of(network, tap), Clock(0)))
                    for tap, path in captures.files.items()
                )
            )
            injection.restore(LINK)
            wait_until(lambda: has_returned(network), "all switches have forgotten, and notify again", 30)
    print(f"notification frames: {frames}")
    assert all(0 < count <= 2 * 2 * len(FIGURE2.link_ids) for count in frames)  # each end of the link may begin one


def has_returned(network):
    rows = []
    for node in FIGURE2.node_names:
        with OpenFlowClient(f"unix:{network.sites[node].mgmt_socket}") as client:
            rows += [stat.row for stat in client.flows()]
    learned = [row for row in rows if split_cookie(row.cookie).kind == Kind.LEARNED]
    return not learned and rows.count(cache_row(returning=False)) == len(FIGURE2.node_names)


def direction_of(network, tap):
    return next(
        direction
        for (node, port), direction in network.ports.direction_at.items()
        if (node, network.interface(node, port)) == (tap.place, tap.device)
    )
