"""The agent process against a real Open vSwitch (dummy datapath): failures, punts, restarts, kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from machine.authority import files_of, make_certificates
from mininet_topos.toy import figure2
from ovsdb_backup.decide.packet import read_packet
from ryu_apps.backup_database.store import BackupStore
from ryu_apps.openflow import encode
from ryu_apps.plan.addressing import host_ipv4
from ryu_apps.plan.ids import Kind, Owner, Status, cookie, split_cookie
from ryu_apps.plan.recovery_rows import deliver_seen_row, rows_on_punt, split_tci, tag_tci, untagged_row
from ryu_apps.plan.rows import FlowRow, RulePlan, match
from tests import schemes
from tests.openflow.openflow_client import OpenFlowClient
from tests.ovsdb_backup.running import WAIT_TO_RESTORE_S, ipv4_frame, running_agent
from tests.ovsdb_backup.world import site
from tests.patience import patient_s, wait_until

pytestmark = pytest.mark.ovs
pytest.importorskip("ovs", reason="Python package ovs is not installed")

A, B, D, E = (host_ipv4(number) for number in (1, 2, 4, 5))
# Figure 2: the primary from A to E is A-B-C-D-E; when D-E fails, D sends packets back and B finds the other way.
NODE_B, NODE_D, NODE_E = (site(figure2(), name) for name in ("s2", "s4", "s5"))


@pytest.fixture
def at_b():
    with running_agent(NODE_B) as found:
        yield found


@pytest.fixture
def at_d():
    with running_agent(NODE_D) as found:
        yield found


def primary_port(where, destination):
    """Port by which untagged packets leave while nothing has failed."""
    return next(row.out_port for row in where.plan.backups if (row.destination, row.tag_id) == (destination, 0))


def wanted_after_failure(where, port_no):
    """Rows for the failure of one port, written down without the agent: one failed-set extension, one look-up each."""
    larger = next(row.new_tag_id for row in where.plan.extensions if (row.tag_id, row.port_no) == (0, port_no))
    planned = {(row.destination, row.tag_id): row for row in where.plan.backups}
    rerouted = {row.destination for row in where.plan.backups if (row.tag_id, row.out_port) == (0, port_no)}
    return {untagged_row(planned[destination, larger]) for destination in rerouted if (destination, larger) in planned}


TAG_DE = next(
    row.new_tag_id for row in NODE_D.plan.extensions if row.tag_id == 0 and row.port_no == primary_port(NODE_D, E)
)


def backup(where, destination, tag_id):
    """The planned backup row."""
    return next(row for row in where.plan.backups if (row.destination, row.tag_id) == (destination, tag_id))


def test_an_empty_switch_is_filled_with_the_plan_of_the_backup_database(at_d):
    at_d.start_ready()
    assert at_d.flows() == set(NODE_D.plan.flows)


def test_rows_of_a_failed_port_move_into_the_switch_and_leave_after_its_return(at_d):
    at_d.start_ready()
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    at_d.wait_rows(wanted_after_failure(NODE_D, port_no), "the backup rows are in the switch")
    installed = at_d.wait_events("agent_install")[-1]
    assert (installed["node"], installed["cause"]) == ("s4", "local failure")
    assert at_d.wait_events("port_status")[-1]["link"] == f"link {port_no}"
    at_d.set_port(port_no, up=True)
    at_d.wait_rows(set(), "the port has been up long enough and the rows are gone")
    # The wait counts from when the agent heard of it; it may be held up before it writes that down.
    down, up = (event["t_received_s"] for event in at_d.wait_events("port_status", 2)[-2:])
    returned = at_d.wait_events("return_done")[-1]["t_monotonic_s"]
    assert down < up
    assert returned - up >= WAIT_TO_RESTORE_S


def test_every_port_that_can_fail_alone_has_its_rows(at_b):
    at_b.start_ready()
    for port_no in NODE_B.ports:
        at_b.set_port(port_no, up=False)
        at_b.wait_rows(wanted_after_failure(NODE_B, port_no), f"rows for port {port_no}")
        at_b.set_port(port_no, up=True)
        at_b.wait_rows(set(), f"no rows after the return of port {port_no}")


def test_punted_crankback_packet_is_released_and_ends_the_backtracking(at_b):
    at_b.start_ready()
    at_b.record()
    towards_c = primary_port(NODE_B, E)
    row = backup(NODE_B, E, TAG_DE)
    at_b.receive(towards_c, ipv4_frame(A, E, tag_tci(TAG_DE, Status.CRANKBACK)))
    at_b.wait_rows(set(rows_on_punt(row)), "the rows of the failed set")
    wait_until(lambda: at_b.sent_by(row.out_port), "the packet went on")
    released = read_packet(at_b.sent_by(row.out_port)[0])
    assert (released.ipv4_src, released.ipv4_dst) == (A, E)
    assert split_tci(released.vlan_tci) == (TAG_DE, Status.RECOVERED)
    at_b.receive(primary_port(NODE_B, A), ipv4_frame(A, E))
    wait_until(lambda: len(at_b.sent_by(row.out_port)) == 2, "an untagged packet takes the new way at once")
    assert at_b.sent_by(towards_c) == []


def test_packets_that_waited_for_the_agent_go_on_in_their_order_and_only_once(at_b):
    at_b.start_ready()
    at_b.record()
    towards_c, row = primary_port(NODE_B, E), backup(NODE_B, E, TAG_DE)
    frames = [
        ipv4_frame(A, destination, tag_tci(TAG_DE, Status.CRANKBACK), b"%d" % number)
        for number, destination in enumerate((E, D, E, D, E))
    ]
    os.kill(at_b.process.pid, signal.SIGSTOP)
    for frame in frames:
        at_b.receive(towards_c, frame)
    os.kill(at_b.process.pid, signal.SIGCONT)
    to_e = [0, 2, 4]
    wait_until(lambda: [int(frame[-1:]) for frame in at_b.sent_by(row.out_port) if to(frame, E)] == to_e, "all went on")
    at_b.wait_rows({*rows_on_punt(row), *rows_on_punt(backup(NODE_B, D, TAG_DE))}, "rows of both destinations")
    at_b.receive(towards_c, frames[0])
    wait_until(lambda: len([frame for frame in at_b.sent_by(row.out_port) if to(frame, E)]) == 4, "the next one too")


def to(frame, destination):
    """Whether a frame is for an address."""
    return read_packet(frame).ipv4_dst == destination


def test_recovered_packet_at_its_destination_switches_the_reverse_path_over():
    with running_agent(NODE_E) as at_e:
        at_e.start_ready()
        at_e.record()
        at_e.set_port(primary_port(NODE_E, D), up=True)
        far_port = next(port_no for port_no in NODE_E.ports if port_no != primary_port(NODE_E, D))
        # A set that E is not an end of: C-D (a link of the reverse primary E-D-C-B-A).
        reverse = next(
            row
            for row in NODE_E.plan.backups
            if row.destination == A
            and row.crosses
            and row.out_port == far_port
            and not any(e.new_tag_id == row.tag_id and e.tag_id == 0 for e in NODE_E.plan.extensions)
        )
        at_e.receive(far_port, ipv4_frame(A, E, tag_tci(reverse.tag_id, Status.RECOVERED)))
        wait_until(lambda: at_e.sent_by(1), "the packet reaches the host")
        delivered = read_packet(at_e.sent_by(1)[0])
        assert (delivered.vlan_tci, delivered.ipv4_src, delivered.ipv4_dst) == (0, A, E)
        wanted = {*rows_on_punt(reverse), deliver_seen_row(reverse.tag_id, A, E)}
        at_e.wait_rows(wanted, "replies take the reverse commodity's backup rows")
        at_e.receive(1, ipv4_frame(E, A))
        wait_until(lambda: at_e.sent_by(far_port), "the reply leaves on the new side")
        assert split_tci(read_packet(at_e.sent_by(far_port)[0]).vlan_tci)[0] == reverse.tag_id


def test_agent_killed_during_a_failure_finds_its_rows_again(at_d):
    at_d.start_ready()
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    rows = wanted_after_failure(NODE_D, port_no)
    at_d.wait_rows(rows, "the backup rows")
    assert at_d.end(signal.SIGKILL) == -signal.SIGKILL
    installs = len(at_d.events("agent_install"))
    at_d.start()
    at_d.wait_events("reconnect", 2)
    assert at_d.agent_rows() == rows
    assert len(at_d.events("agent_install")) == installs
    at_d.set_port(port_no, up=True)
    at_d.wait_rows(set(), "the rows are gone after the return")


def test_port_that_failed_and_returned_while_the_agent_was_down(at_d):
    at_d.start_ready()
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    rows = wanted_after_failure(NODE_D, port_no)
    at_d.wait_rows(rows, "the backup rows")
    at_d.end(signal.SIGKILL)
    at_d.set_port(port_no, up=True)
    at_d.start()
    at_d.wait_rows(set(), "rows about a link that is up go after the wait")


def test_failure_while_the_agent_was_down_is_met_at_its_start(at_d):
    at_d.start_ready()
    at_d.end(signal.SIGKILL)
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    at_d.start()
    at_d.wait_rows(wanted_after_failure(NODE_D, port_no), "the backup rows")


def test_a_plan_and_a_later_one_come_over_tls(at_d, tmp_path):
    make_certificates(tmp_path / "tls", ("switch", "agent"), days=1)
    mine = files_of(tmp_path / "tls", "agent")
    at_d.remote = at_d.database.restart_with_tls(files_of(tmp_path / "tls", "switch"))
    at_d.options += ("--private-key", mine.private_key, "--certificate", mine.certificate)
    at_d.options += ("--ca-cert", mine.ca_certificate)
    at_d.start_ready()
    at_d.database.kill_hard()
    at_d.database.start()
    BackupStore(at_d.database.remote).replace_plan("s4", NODE_D.plan)  # no names of links: another generation
    at_d.wait_events("plan_loaded", 2)


def test_restarted_switch_is_refilled_without_any_controller(at_d):
    at_d.start_ready()
    at_d.ovs.kill_vswitchd()
    at_d.wait_events("disconnect")
    at_d.ovs.start_vswitchd()
    at_d.wait_refilled()
    assert len(at_d.wait_events("refilled", 2)) == 2
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    at_d.wait_rows(wanted_after_failure(NODE_D, port_no), "it still meets failures")


def test_failure_is_met_while_the_database_server_is_down_and_its_return_noticed(at_d):
    at_d.start_ready()
    at_d.database.kill_hard()
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    at_d.wait_rows(wanted_after_failure(NODE_D, port_no), "the backup rows")
    at_d.database.start()
    smaller = RulePlan(4, "s4", NODE_D.plan.flows[:3], local_ipv4=(D,))
    BackupStore(at_d.database.remote).replace_plan("s4", smaller)
    at_d.wait_events("plan_loaded", 2)
    assert at_d.process.poll() is None


def test_plan_that_arrives_after_the_agent_is_used(at_d):
    at_d.start()
    at_d.wait_events("reconnect")
    assert at_d.flows() == set()
    at_d.fill()
    at_d.wait_refilled()


def test_rows_of_others_are_left_alone(at_d):
    mine = FlowRow(0, 7, match(eth_type=0x88CC), cookie=0x77)
    planned = FlowRow(0, 9, match(eth_type=0x0806), cookie=cookie(Owner.EDGE, Kind.PLANNED))
    with OpenFlowClient(at_d.ovs.management("s4")) as client:
        client.send(encode.flow_add(mine) + encode.flow_add(planned))
        assert client.barrier() == []
    at_d.start_ready()
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    at_d.wait_rows(wanted_after_failure(NODE_D, port_no), "the backup rows")
    assert {mine, planned} <= at_d.flows()


def test_row_that_a_controller_removes_is_learned_again_by_the_next_packet(at_b):
    at_b.start_ready()
    towards_c = primary_port(NODE_B, E)
    frame = ipv4_frame(A, E, tag_tci(TAG_DE, Status.CRANKBACK))
    wanted = set(rows_on_punt(backup(NODE_B, E, TAG_DE)))
    for _round in range(3):
        at_b.receive(towards_c, frame)
        at_b.wait_rows(wanted, "the rows of the failed set")
        at_b.delete_rows(wanted)
        at_b.wait_rows(set(), "the rows are gone")
        at_b.wait_events("agent_install", 1 + _round)


def test_agent_gives_up_waiting_when_the_controller_says_that_the_link_is_back(at_d):
    at_d.options = ("--wait-to-restore-s", "3600")
    at_d.start_ready()
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    rows = wanted_after_failure(NODE_D, port_no)
    at_d.wait_rows(rows, "the backup rows")
    at_d.set_port(port_no, up=True)
    at_d.wait_events("port_status", 2)
    at_d.delete_rows({min(rows, key=lambda row: row.cookie)})
    at_d.wait_rows(set(), "the agent removes the rest by itself")


def test_row_removed_while_its_port_is_down_comes_back(at_d):
    at_d.start_ready()
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    rows = wanted_after_failure(NODE_D, port_no)
    at_d.wait_rows(rows, "the backup rows")
    installs = len(at_d.events("agent_install"))
    at_d.delete_rows(rows)
    at_d.wait_events("agent_install", installs + 1)
    at_d.wait_rows(rows, "the rows are back")


@pytest.mark.parametrize(
    "frame",
    [
        b"\xff" * 60,
        ipv4_frame(A, E, tag_tci(TAG_DE, 1))[:30],
        ipv4_frame(A, 0x01020304, tag_tci(TAG_DE, 1)),
        ipv4_frame(A, E, tag_tci(4094, 1)),
        ipv4_frame(A, E, tag_tci(TAG_DE, 7)),
    ],
    ids=["no IPv4", "truncated", "unknown destination", "unknown set", "unknown status"],
)
def test_odd_packets_do_no_harm(at_b, frame):
    at_b.start_ready()
    towards_c = primary_port(NODE_B, E)
    for _copy in range(3):
        at_b.receive(towards_c, frame)
    at_b.receive(towards_c, ipv4_frame(A, E, tag_tci(TAG_DE, Status.CRANKBACK)))
    wanted = set(rows_on_punt(backup(NODE_B, E, TAG_DE)))
    wait_until(lambda: wanted <= at_b.agent_rows(), "a good packet is served after odd ones")
    assert all(not row.apply_actions for row in at_b.agent_rows() - wanted)
    assert at_b.process.poll() is None


def test_sigterm_ends_the_agent_and_leaves_its_rows(at_d):
    at_d.start_ready()
    port_no = primary_port(NODE_D, E)
    at_d.set_port(port_no, up=False)
    rows = wanted_after_failure(NODE_D, port_no)
    at_d.wait_rows(rows, "the backup rows")
    assert at_d.end(signal.SIGTERM) == 0
    assert at_d.agent_rows() == rows
    assert at_d.output == ""


def test_agent_rows_have_the_life_that_was_asked_for(at_d):
    at_d.options = ("--hard-timeout-s", "77")
    at_d.start_ready()
    at_d.set_port(primary_port(NODE_D, E), up=False)
    wait_until(at_d.agent_rows, "the backup rows")
    assert {row.hard_timeout_s for row in at_d.agent_rows()} == {77}
    assert {split_cookie(row.cookie).scheme for row in at_d.agent_rows()} == {schemes.SDFAST}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "--bridge"),
        (["--bridge", "s1", "--database", "unix:x", "--management", "s1.mgmt"], "no management socket"),
        (["--bridge", "s1", "--database", "unix:x", "--management", "unix:y", "--wait-to-restore-s", "-1"], "-1"),
        (["--bridge", "s1", "--database", "unix:x", "--management", "unix:y", "--hard-timeout-s", "70000"], "70000"),
        (["--bridge", "s1", "--database", "x.db", "--management", "unix:y"], "x.db"),
    ],
)
def test_bad_option_is_one_line_and_exit_code_2(arguments, word):
    done = subprocess.run(
        [sys.executable, "-m", "ovsdb_backup.agent", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=patient_s(60),
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert word in done.stderr
    assert done.stderr.count("\n") == 1
