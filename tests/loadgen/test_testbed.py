"""Loads on a shaped control link and on a real Open vSwitch, with stock Ryu behind them."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from experiments.figures.pso import setup
from experiments.figures.pso.setup import LINK_MBPS, LINK_PARAMETERS
from experiments.loadgen.controllers import RESPONDER, Controller, running
from experiments.loadgen.decide.load import Load
from experiments.loadgen.generator import SwitchRegistry
from experiments.loadgen.link import LinkShape
from experiments.loadgen.ports import free_port
from experiments.loadgen.switch_line import transit_rows
from experiments.loadgen.testbed import LoadContext, measure
from experiments.loadgen.trials import full_load_pps
from machine.environment import REPOSITORY
from mininet_topos.catalogue import load_topology

pytestmark = [pytest.mark.emulation, pytest.mark.ryu]
PATIENT = SwitchRegistry((), patience_s=30.0)


def test_a_full_link_carries_its_rate_and_no_more() -> None:
    full_pps = full_load_pps(LINK_PARAMETERS)
    load = Load(1, 2 * full_pps, 2.0, buffered=True)
    around = LoadContext(LinkShape(LINK_MBPS), PATIENT, send_buffer_bytes=16384)
    found = measure(load, Controller((RESPONDER,)), around)
    for each in found.result.classes.values():
        assert each.refused > 0
        assert each.offered == each.answered + each.refused + each.waiting + each.unanswered
    assert sum(each.answers_pps for each in found.result.classes.values()) < 1.05 * full_pps
    assert found.link_mbps is not None
    assert found.link_mbps < 1.05 * LINK_MBPS


def test_an_urgent_controller_may_keep_a_processor_to_itself() -> None:
    with running(Controller((RESPONDER,)), "127.0.0.1", free_port()) as watched:
        watched.go_first()
        assert os.getpriority(os.PRIO_PROCESS, watched.pid) == -20
        # Linux would take 50 ms of every second from a real-time process without rest.
        assert os.sched_getscheduler(watched.pid) == os.SCHED_OTHER


@pytest.mark.parametrize("line", [None, str(REPOSITORY / setup.LINE)])
def test_real_switches_let_packets_go_when_the_controller_answers_the_first(line: str | None) -> None:
    load = Load(1, 100, 1.0)
    around = LoadContext(LinkShape(LINK_MBPS), PATIENT, send_buffer_bytes=16384, real_switch=True)
    around = replace(around, line=None if line is None else load_topology(line), knows_later_hops=True)
    controller = replace(Controller((RESPONDER,)), settings={"ARMOR_RESPONDER_FLOWS": "0"})
    found = measure(load, controller, around)
    for each in found.result.classes.values():
        assert each.answered == each.offered > 0
    assert found.packet_ins == found.result.ledger.n_sent


@pytest.mark.parametrize(("setting", "packet_ins_a_flow"), [("PATH=hop", 4), ("CONFIRM=on", 1)])
def test_flows_through_four_switches_ask_once_a_switch_or_once(setting: str, packet_ins_a_flow: int) -> None:
    name, _, value = setting.partition("=")
    settings = {"ARMOR_TOPOLOGY": str(REPOSITORY / setup.LINE), f"ARMOR_REACTIVE_{name}": value}
    line = load_topology(settings["ARMOR_TOPOLOGY"])
    around = LoadContext(LinkShape(LINK_MBPS), PATIENT, send_buffer_bytes=16384, real_switch=True, line=line)
    found = measure(Load(1, 50, 1.0), Controller(("ryu_apps/reactive.py",), settings=settings), around)
    assert all(each.answered == each.offered > 0 for each in found.result.classes.values())
    assert found.packet_ins == packet_ins_a_flow * found.result.ledger.n_sent


def test_later_switches_of_a_line_pass_on_what_comes_from_the_one_before() -> None:
    assert transit_rows(load_topology(str(REPOSITORY / setup.LINE))) == {
        "s1": ("priority=100,in_port=2,actions=output:1",),
        "s2": ("priority=100,in_port=2,actions=output:1",),
        "s3": ("priority=100,in_port=2,actions=output:3", "priority=100,in_port=3,actions=output:2"),
        "s4": ("priority=100,in_port=2,actions=output:3", "priority=100,in_port=3,actions=output:2"),
    }
