"""A real emulated network: it is what was planned, survives kills, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.bfd_probe import BfdUnstableError, bfd_missing, wait_bfd_up
from emulation.clean import clean_all, marked_processes
from emulation.decide.options import EmulationOptions
from emulation.decide.switch import SwitchSite
from emulation.doctor import install_path
from emulation.guard import GUARD
from emulation.network import EmulatedNetwork
from emulation.runfile import STATE_VARIABLE, list_runs
from emulation.status import EmulationTimeoutError, parse_bfd_show
from emulation.supervisor import ProcessError
from machine.json_rpc import call
from machine.places import CommandError, namespace_inode
from mininet_topos import toy
from mininet_topos.errors import BadInputError
from tests.patience import patient_s, wait_until

pytestmark = pytest.mark.emulation

SLOW_BFD = EmulationOptions(bfd_interval_ms=100)


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run files of the test itself, away from other runs of this machine."""
    folder = tmp_path_factory.mktemp("st")
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    return folder


@pytest.fixture(scope="module")
def square() -> Iterator[EmulatedNetwork]:
    with EmulatedNetwork(toy.square(), SLOW_BFD, command="test") as net:
        net.wait_bfd_up(patient_s(60))
        yield net


def root_interfaces() -> set[str]:
    return set(os.listdir("/sys/class/net"))


def test_ports_carry_their_planned_numbers_and_are_all_live(square: EmulatedNetwork) -> None:
    for node in square.topology.node_names:
        wanted = {1} | {port for name, port in square.ports.direction_at if name == node}
        assert set(square.live_ports(node)) == wanted
    wait_for(lambda: not unlive_ports(square))


def test_datapath_ids_are_the_positions_of_the_nodes(square: EmulatedNetwork) -> None:
    for node, site in square.sites.items():
        shown = subprocess.run(
            ["ovs-ofctl", "-O", "OpenFlow13", "show", f"unix:{site.mgmt_socket}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert f"dpid:{square.topology.index_of[node] + 1:016x}" in shown


def test_switches_run_with_real_time_priority_and_nothing_else_does(square: EmulatedNetwork) -> None:
    assert os.sched_getscheduler(square.pid_of("ovs-vswitchd", "s1")) == os.SCHED_RR
    assert os.sched_getscheduler(square.pid_of("ovsdb-server", "s1")) == os.SCHED_OTHER
    assert os.sched_getscheduler(square.shell_pid("h1")) == os.SCHED_OTHER


def test_a_secure_switch_without_rules_forwards_nothing(square: EmulatedNetwork) -> None:
    assert square.ping("h1", "h4", count=1) == 0


def test_hosts_reach_each_other_once_there_are_rules(square: EmulatedNetwork) -> None:
    install_path(square, ["s1", "s2", "s3"])
    assert square.ping("h1", "h3") == 3
    assert "nw_dst=10.0.0.3" in square.dump_flows("s2")


def test_full_frames_with_a_tag_fit_the_links(square: EmulatedNetwork) -> None:
    shown = square.run("s1", ["cat", f"/sys/class/net/{square.interface('s1', 2)}/mtu"]).stdout
    assert int(shown) == 1600
    assert int(square.run("h1", ["cat", "/sys/class/net/h1-eth0/mtu"]).stdout) == 1500


def test_hosts_know_all_others_and_speak_no_ipv6(square: EmulatedNetwork) -> None:
    neighbours = square.run("h2", ["ip", "neigh", "show"]).stdout
    assert all(
        f"10.0.0.{number} dev h2-eth0 lladdr 02:00:00:00:00:0{number} PERMANENT" in neighbours for number in (1, 3, 4)
    )
    for place in ("h2", "s2", "controller"):
        assert "inet6" not in square.run(place, ["ip", "addr", "show"]).stdout


def test_the_controller_reaches_every_switch_over_its_own_link(square: EmulatedNetwork) -> None:
    for site in square.sites.values():
        said = square.run("controller", ["ping", "-n", "-c", "1", "-W", "3", site.control_ip])
        assert said.returncode == 0, said.stdout


def test_nothing_stands_in_the_root_namespace(square: EmulatedNetwork) -> None:
    assert not {name for name in root_interfaces() if name.startswith(("s1", "h1", "ctl-"))}


def test_the_run_file_names_every_process_and_namespace(square: EmulatedNetwork) -> None:
    run = next(run for run in list_runs(square.run_dir.parents[1]) if run.run_id == square.run_id)
    names = {f"{record['name']}@{record['place']}" for record in run.of_kind("process")}
    assert {"ovs-vswitchd@s1", "ovsdb-server@s4", "shell@h2", "shell@controller"} <= names
    assert {record["place"] for record in run.of_kind("namespace")} == set(square.pids)
    recorded = {record["pid"] for record in run.of_kind("process")}
    assert {process.pid for process in marked_processes(square.run_id)} <= recorded


def test_an_unknown_place_is_refused(square: EmulatedNetwork) -> None:
    with pytest.raises(BadInputError, match="h99"):
        square.popen("h99", ["true"])
    with pytest.raises(BadInputError, match="h99"):
        square.ping("h1", "h99")


def test_a_program_that_does_not_end_is_ended(square: EmulatedNetwork) -> None:
    with pytest.raises(CommandError, match="did not end"):
        square.run("h1", ["sleep", "60"], timeout_s=0.2)


def test_mininets_own_tools_see_the_network(square: EmulatedNetwork) -> None:
    net = square.as_mininet()
    assert sorted(host.name for host in net.hosts) == ["h1", "h2", "h3", "h4"]
    assert sorted(switch.name for switch in net.switches) == ["s1", "s2", "s3", "s4"]
    assert net.get("h2").IP() == "10.0.0.2"
    assert net.get("s1").ports[net.get("s1").intf("s1-eth3")] == 3
    assert net.get("h1").cmd("hostname -I").strip() == "10.0.0.1"


def test_facts_for_the_record_are_plain_json(square: EmulatedNetwork) -> None:
    facts = json.loads(json.dumps(square.describe()))
    assert facts["bfd_interval_ms"] == 100
    assert facts["datapath"] in ("netdev", "kernel")
    assert facts["datapath_reason"]


def intervals_ms(net: EmulatedNetwork) -> set[str]:
    shown = (parse_bfd_show(call(group.vswitchd_control, "bfd/show", [])) for group in net.groups)
    sessions = [session for each in shown for session in each.values()]
    return {session[f"{way} Interval"] for session in sessions for way in ("TX", "RX")}


def test_bfd_is_slow_while_asked_and_no_session_fails(square: EmulatedNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    # So long that no session fails because the machine is busy. Not 1000: a session that is not up has that one.
    monkeypatch.setattr("emulation.running.SLOW_BFD_MS", 900)
    square.set_bfd_interval(600)
    flaps = sum(square.flap_counts().values())
    for _ in range(3):
        with square.slow_bfd():
            assert intervals_ms(square) == {"Approx 900ms"}
        assert intervals_ms(square) == {"Approx 600ms"}
    assert sum(square.flap_counts().values()) == flaps
    square.set_bfd_interval(100)


def test_a_session_that_is_up_with_another_interval_is_waited_for(square: EmulatedNetwork) -> None:
    square.wait_bfd_up(patient_s(60))
    assert set(bfd_missing(square.groups, square.settings, 100)) == set()
    ports = {f"{node} port {port}" for node, port in square.bfd_status()}
    assert set(bfd_missing(square.groups, square.settings, 99)) == ports
    with pytest.raises(BfdUnstableError, match="BFD sessions with 99 ms still missing") as raised:
        wait_bfd_up(square.groups, square.settings, 99, 0.1)
    assert raised.value.interval_ms == 99


def test_two_networks_with_the_same_names_run_side_by_side(square: EmulatedNetwork) -> None:
    with EmulatedNetwork(toy.square(), SLOW_BFD) as other:
        other.wait_bfd_up(patient_s(60))
        install_path(other, ["s1", "s4"])
        assert other.ping("h1", "h4") == 3
    wait_for(lambda: not unlive_ports(square))


def test_everything_is_gone_at_the_end_and_given_folders_stay(tmp_path: Path, state: Path) -> None:
    before = root_interfaces()
    folder = tmp_path / "r"
    with EmulatedNetwork(toy.pair(), SLOW_BFD, run_dir=folder) as net:
        run_id = net.run_id
        program = net.popen("h1", ["sleep", "60"])
    assert program.poll() is not None
    assert marked_processes(run_id) == []
    assert root_interfaces() == before
    assert list_runs(state) == ()
    kept = {path.name for path in (folder / "s1").iterdir()}
    assert {"ovs-vswitchd.log", "ovsdb-server.log", "Open_vSwitch.db"} <= kept
    assert all(path.suffix in (".log", ".out", ".db") for path in folder.rglob("*") if not path.is_dir())
    assert not list(folder.glob("*.db"))


def test_a_start_that_fails_half_way_leaves_nothing(tmp_path: Path, state: Path) -> None:
    broken = tmp_path / "broken.ovsschema"
    broken.write_text("{}", encoding="ascii")
    with pytest.raises(CommandError, match="ovsdb-tool"), EmulatedNetwork(toy.pair(), databases={"Broken": broken}):
        pytest.fail("entered")
    assert list_runs(state) == ()
    assert not list((state / "tmp").iterdir())


def test_a_further_database_is_served_locally_and_on_the_control_link(tmp_path: Path) -> None:
    schema = tmp_path / "toy.ovsschema"
    columns = {"name": {"type": "string"}}
    schema.write_text(
        json.dumps({"name": "Toy", "version": "1.0.0", "tables": {"Row": {"columns": columns}}}), encoding="ascii"
    )
    with EmulatedNetwork(toy.pair(), SLOW_BFD, databases={"Toy": schema}) as net:
        remote = f"tcp:{net.sites['s2'].control_ip}:6641"
        assert "Toy" in net.run("controller", ["ovsdb-client", "list-dbs", remote]).stdout.split()
        assert "Toy" in net.run("s2", ["ovsdb-client", "list-dbs", f"unix:{net.sites['s2'].db_socket}"]).stdout


def test_agents_and_controller_run_where_they_belong_and_come_back_when_killed(tmp_path: Path) -> None:
    def agent(site: SwitchSite) -> list[str] | None:
        return ["sleep", str(600 + site.dpid)] if site.name == "s2" else None

    events = tmp_path / "events.jsonl"
    listener = [sys.executable, "-c", "import os, time; print(os.environ['COLOUR'], flush=True); time.sleep(600)"]
    with EmulatedNetwork(
        toy.pair(),
        SLOW_BFD,
        agent_command=agent,
        controller_command=listener,
        environment={"COLOUR": "blue"},
        events=events,
        run_dir=tmp_path / "r",
    ) as net:
        assert not net.is_running("agent", "s1")
        # A moment after its start it may still be on its way into the namespace.
        wait_for(lambda: namespace_inode(net.pid_of("agent", "s2")) == namespace_inode(net.shell_pid("s2")))
        log = tmp_path / "r" / "controller.log"
        wait_for(lambda: log.read_text(encoding="ascii").count("blue") == 1)
        old = net.pid_of("controller")
        stamp = net.kill("controller")
        assert stamp.before_s <= stamp.after_s
        wait_for(lambda: len(net.restarts) == 1)
        assert net.pid_of("controller") != old
        wait_for(lambda: log.read_text(encoding="ascii").count("blue") == 2)
        with pytest.raises(ProcessError, match="agent@s2"):
            net.kill("agent", "s1")
    written = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    # In the order of their stamps: the watcher may note the end before the killer has noted its deed.
    events = sorted((line["t_monotonic_s"], line["event"]) for line in written if line["source"] == "emulation")
    assert [event for _, event in events] == ["inject", "error", "restart"]


HELLO_CONTROLLER = """
import socket, time
listener = socket.create_server(("", 6653))
kept = []
while True:
    connection, _ = listener.accept()
    connection.sendall(bytes([4, 0, 0, 8, 0, 0, 0, 1]))  # OFPT_HELLO, OpenFlow 1.3
    kept.append(connection)
"""


def test_waiting_for_the_controller_ends_with_it_or_names_the_switches_without_it() -> None:
    with EmulatedNetwork(toy.pair(), SLOW_BFD) as net:
        with pytest.raises(EmulationTimeoutError, match="s1, s2"):
            net.wait_connected(0.2)
        net.start_controller([sys.executable, "-c", HELLO_CONTROLLER])
        net.wait_connected(30)


def test_the_bfd_interval_is_found_out_when_it_is_not_given() -> None:
    with EmulatedNetwork(toy.pair(), EmulationOptions(bfd_probe_s=0.3)) as net:
        assert net.bfd_choice is not None
        assert net.bfd_choice.interval_ms == net.bfd_interval_ms
        shown = net.run(
            "s1", ["ovs-vsctl", f"--db=unix:{net.sites['s1'].db_socket}", "get", "Interface", "s1-eth2", "bfd"]
        )
        assert f'min_tx="{net.bfd_interval_ms}"' in shown.stdout
        assert net.describe()["bfd_flaps"]


def test_control_links_can_be_made_slow() -> None:
    with EmulatedNetwork(toy.pair(), EmulationOptions(bfd_interval_ms=100, control_rate_mbps=1.0)) as net:
        for place, interface in (("s1", "s1-ctl"), ("controller", "ctl-s1")):
            assert "rate 1Mbit ceil 1Mbit" in net.run(place, ["tc", "class", "show", "dev", interface]).stdout


@pytest.mark.parametrize("process", ["ovs-vswitchd", "ovsdb-server"])
def test_a_killed_daemon_is_back_with_its_ports_and_bfd(process: str) -> None:
    with EmulatedNetwork(toy.pair(), SLOW_BFD) as net:
        net.wait_bfd_up(patient_s(60))
        net.kill(process, "s1")
        wait_for(lambda: len(net.restarts) == 1)
        # A userspace switch without its database stands still until it has reconnected, about a second later.
        wait_for(lambda: not unlive_ports(net))
        assert net.warnings == tuple(note for note in net.warnings if "delay" in note)


def test_one_daemon_can_serve_all_switches() -> None:
    options = EmulationOptions(bfd_interval_ms=100, shared_ovs=True)
    with EmulatedNetwork(toy.square(), options) as net:
        net.wait_bfd_up(patient_s(60))
        assert len({net.pid_of("ovs-vswitchd", node) for node in net.topology.node_names}) == 1
        install_path(net, ["s1", "s2", "s3"])
        assert net.ping("h1", "h3") == 3


def unlive_ports(net: EmulatedNetwork) -> list[tuple[str, int]]:
    try:
        live = {node: net.live_ports(node) for node in net.topology.node_names}
    except CommandError:
        return [("a switch", 0)]  # its management socket is not back yet
    return [(node, port) for node, ports in live.items() for port, up in ports.items() if not up]


def wait_for(condition) -> None:
    wait_until(condition, "what is waited for", 60)


BACKGROUND = """
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored
from mininet_topos import toy
from emulation.decide.options import EmulationOptions
from emulation.network import EmulatedNetwork
with EmulatedNetwork(toy.pair(), EmulationOptions(bfd_interval_ms=100), command="background") as net:
    net.popen("h1", ["ping", "-q", "10.0.0.2"], stdout=subprocess.DEVNULL)
    print(net.run_id, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, None), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_unwinds_and_removes_everything(number: int, code: int | None, state: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", BACKGROUND],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert run.stdout is not None
    run_id = run.stdout.readline().strip()
    assert marked_processes(run_id)
    run.send_signal(number)
    status = run.wait(timeout=patient_s(60))
    run.stdout.close()
    assert status == (code if code is not None else -signal.SIGINT)
    assert marked_processes(run_id) == []
    assert list_runs(state) == ()
    assert not list((state / "tmp").iterdir())


@pytest.mark.parametrize(("delay_s", "guarded"), [(0.0, True), (0.2, True), (0.5, True), (0.2, False)])
def test_a_run_killed_at_any_moment_is_cleaned_to_the_last_process(delay_s: float, guarded: bool, state: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", BACKGROUND], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: any(record.of_kind("process") for record in list_runs(state)) or run.poll() is not None)
    (record,) = list_runs(state)
    time.sleep(delay_s)
    if not guarded:
        (guard,) = [one for one in record.of_kind("process") if one["name"] == GUARD]
        os.kill(int(guard["pid"]), signal.SIGKILL)
    run.kill()
    run.wait()
    if not guarded:
        (report,) = clean_all()
        assert (report.run_id, report.command, report.skipped) == (record.run_id, "background", "")
    wait_for(lambda: not list_runs(state) and not marked_processes(record.run_id))
    assert not (state / "tmp").exists() or not list((state / "tmp").iterdir())
    assert clean_all() == ()


def test_a_run_folder_that_is_too_long_is_refused_before_it_is_made(tmp_path: Path, state: Path) -> None:
    folder = tmp_path / ("x" * 100)
    with pytest.raises(BadInputError, match="use a shorter one"), EmulatedNetwork(toy.pair(), SLOW_BFD, run_dir=folder):
        pytest.fail("entered")
    assert not folder.exists()
    assert list_runs(state) == ()
