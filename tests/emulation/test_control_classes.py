"""The control plane of an emulated network by message classes: rows, queues, and a real network under PSO."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from emulation.decide.control_classes import control_queue_setup, controller_words
from emulation.decide.options import EmulationOptions
from emulation.decide.traffic import control_tc_plan, parse_class_counters
from emulation.decide.wiring import CONTROLLER
from emulation.network import EmulatedNetwork
from machine.places import inside, run_program
from mininet_topos.catalogue import load_topology
from ryu_apps.control.priority.decide.channels import connections
from ryu_apps.pmt.parse import parse_pmt
from ryu_apps.pmt.serial import show
from tests.control.running import MANAGER
from tests.dummy_ovs import DummyOvs
from tests.patience import wait_until

ROOT = Path(__file__).resolve().parents[2]
PMT = ROOT / "examples" / "pmt" / "out_of_band.yaml"
TABLE = parse_pmt(PMT.read_text(encoding="utf-8"), "out_of_band")


def test_marks_are_queues_in_their_order_and_the_rest_waits_with_the_last() -> None:
    setup = control_queue_setup(TABLE)
    assert setup.queue_of_dscp == ((56, 0), (48, 1), (40, 2), (32, 3), (0, 4))
    assert setup.default_queue == 4
    assert len(setup.classes) == 5
    assert setup.describe().startswith("control classes: queue 0: DSCP 56; queue 1: DSCP 48")


def test_each_queue_of_a_control_link_has_a_class_and_a_filter_and_none_is_for_bfd() -> None:
    lines = control_tc_plan("ctl-s1", 2.0, None, control_queue_setup(TABLE))
    filters = [line for line in lines if line.startswith("filter")]
    assert [line.split("tos ")[1].split()[0] for line in filters] == ["0xe0", "0xc0", "0xa0", "0x80", "0x0"]
    assert [line.rsplit(" ", 1)[1] for line in filters] == ["1:1", "1:2", "1:3", "1:4", "1:5"]
    assert sum("prio" in line and line.startswith("class") for line in lines) == 5
    assert control_tc_plan("ctl-s1", None, None, control_queue_setup(TABLE)) == []


@pytest.mark.ovs
def test_open_vswitch_takes_the_rows_and_shows_the_table() -> None:
    from experiments.cli.main import main

    with DummyOvs() as ovs:
        ovs.add_bridge("s1", 1, ())
        ovs.vsctl(*controller_words("s1", TABLE)[1:])
        shown = ovs.vsctl("--bare", "--columns=target,other_config", "list", "controller")
        for row in connections(TABLE, 6653):
            assert f"tcp:10.255.255.254:{row.port}\ndscp={row.dscp}" in shown.replace('"', "")
        assert main(["pmt", "show", ovs.database, str(PMT)]) == 0


@pytest.mark.emulation
def test_an_emulated_switch_under_pso_marks_its_classes_in_both_directions(capsys, monkeypatch) -> None:
    from experiments.cli.main import main

    state = tempfile.TemporaryDirectory(prefix="armor-")  # so that no other run has an s1; its sockets need short paths
    monkeypatch.setenv("ARMOR_STATE_DIR", state.name)
    topology = load_topology("pair")
    options = EmulationOptions(bfd_interval_ms=100, control_rate_mbps=10.0, pmt=TABLE)
    command = (*MANAGER, str(ROOT / "ryu_apps" / "pso.py"), "ryu.app.simple_switch_13")
    with EmulatedNetwork(topology, options, controller_command=command, environment={"ARMOR_PSO_PMT": str(PMT)}) as net:
        net.wait_connected(40)
        node = topology.node_names[0]
        place, site = net.wiring.place_of[node], net.sites[node]
        wait_until(lambda: _has_classes(net, node), "each class has its connection", 60)
        rows = run_program(["ovs-vsctl", f"--db=unix:{site.db_socket}", "list", "controller"])
        for row in connections(TABLE, 6653):
            assert f'dscp="{row.dscp}"' in rows
        hosts = [host.name for host in net.hosts.values()]
        target = list(net.hosts.values())[1].address
        wait_until(lambda: _delivers(net, hosts[0], target), "the learning switch forwards", 60)
        _send_udp(net, hosts[0], target)
        interface = site.control_interface
        wait_until(lambda: _used(net, place, interface) >= {0, 1}, "the switch marks both classes", 60)
        back = net.wiring.controller_interface_of[place]
        wait_until(lambda: _used(net, CONTROLLER, back) >= {0, 1}, "the controller marks both classes", 60)
        capsys.readouterr()
        assert main(["pmt", "show", node]) == 0
        assert capsys.readouterr().out == show(TABLE)
    state.cleanup()


def _has_classes(net: EmulatedNetwork, node: str) -> bool:
    site = net.sites[node]
    command = ["ovs-ofctl", "--no-names", "-OOpenFlow13", "dump-flows", f"unix:{site.mgmt_socket}", "table=253"]
    return "id=2" in run_program(command)


def _used(net: EmulatedNetwork, place: str, interface: str) -> set[int]:
    """Queues of a control interface that have sent packets."""
    shown = run_program(inside(net.pids[place], ["tc", "-s", "class", "show", "dev", interface]))
    return {int(name[2:], 16) - 1 for name, each in parse_class_counters(shown).items() if each.sent_pkts}


def _delivers(net: EmulatedNetwork, host: str, target: str) -> bool:
    words = ["sh", "-c", f"ping -c 1 -W 1 {target} >/dev/null && echo yes || echo no"]
    return run_program(inside(net.pids[host], words)).strip() == "yes"


def _send_udp(net: EmulatedNetwork, host: str, target: str) -> None:
    # The learning switch matches no UDP ports: what it has learned has to go, so that the packet is a new one to it.
    for site in net.sites.values():
        run_program(["ovs-ofctl", "-OOpenFlow13", "del-flows", f"unix:{site.mgmt_socket}", "table=0,in_port=1"])
    send = f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('{target}', 20000))"
    run_program(inside(net.pids[host], ["python3", "-c", send]))
