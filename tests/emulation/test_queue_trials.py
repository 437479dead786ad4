"""Trials of priority queues: what counts as a proof, and real kernels that give one or are found out."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation import queue_trial
from emulation.build import lost_trees
from emulation.decide.options import EmulationOptions
from emulation.decide.queue_trial import (
    BUDGETS_PPS,
    HIGH_SHARE,
    LOW_SHARE,
    Arrival,
    PairOutcome,
    Phase,
    QueueVerdict,
    TrialPort,
    destination,
    first_load,
    judge_queues,
    make_frame,
    next_load,
    outcome_of,
    phase_frames,
    phases,
    read_stamp,
    stamp,
)
from emulation.decide.queues import (
    LOW_QUEUE,
    QUEUE_SETUPS,
    VLAN_NEW,
    VLAN_OLD,
    QueueSetup,
    QueueTree,
    queue_setup,
)
from emulation.decide.traffic import (
    PortShape,
    port_tc_plan,
    send_buffer_bytes,
)
from emulation.features import kernel_features
from emulation.network import EmulatedNetwork
from emulation.queue_testbed import find_vlan_offset, machine_queue_facts, try_queue_testbed
from emulation.queue_trial import TrialWire, open_receiver, open_sender, run_trial
from emulation.send_buffers import SendBufferError, can_widen_send_buffers, widen_send_buffer
from experiments.testbed.packet_cost.switch import cost_switch, far_end, near_end
from machine.places import inside, private_namespace, run_batch, run_program
from mininet_topos import toy
from ryu_apps.plan.kuijia.priorities import EIGHT, FOUR, SINGLE
from ryu_apps.plan.rows import FlowRow, Output, RulePlan, match
from tests.patience import patient_s

SETUPS = (*QUEUE_SETUPS.values(), queue_setup(SINGLE, "dscp"))
PORT = TrialPort("s1", 2, capacity_mbps=10.0)
STRICT = PairOutcome(PORT, 1, 2, 80, 80, 100, 70, 0.5)
any_setup = pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)


def tree_of(setup: QueueSetup) -> QueueTree:
    return QueueTree(setup, by_filter=True, queue_pkts=50)


# ---- trials


@given(st.floats(0.5, 1000.0), st.integers(1, 100), st.sampled_from((0.0, 5.0, 40.0)))
def test_a_phase_overflows_the_low_queue_and_spares_the_high_one(mbps: float, queue_pkts: int, delay_ms: float) -> None:
    port = TrialPort("s1", 2, mbps, delay_ms)
    under_way = mbps * 1e3 * delay_ms / 12_000
    assert phase_frames(port, queue_pkts) * (HIGH_SHARE + LOW_SHARE - 1) > queue_pkts + under_way
    assert port.emptying_s(queue_pkts) >= queue_pkts / port.link_pps + delay_ms / 1e3
    assert HIGH_SHARE < 1
    assert port.link_pps * port.frame_bytes * 8 / 1e6 == pytest.approx(mbps)


@any_setup
def test_each_queue_of_traffic_meets_the_next_on_every_port_and_none_is_fed_too_fast(setup: QueueSetup) -> None:
    ports = [TrialPort("s1", number, 10.0) for number in range(2, 40)]
    load = first_load(ports, setup)
    assert list(load) == list(zip(setup.traffic_queues, setup.traffic_queues[1:], strict=False))
    for pair, together in load.items():
        parts = list(phases(300, pair, together, BUDGETS_PPS[0]))
        assert [port for part in parts for port in part.ports] == ports
        assert all(sum(port.offered_pps for port in part.ports) <= BUDGETS_PPS[0] for part in parts)
        assert {part.number for part in parts} == {300 % 256}


@given(st.sampled_from(SETUPS), st.integers(0, 255), st.integers(0, 2**63))
def test_a_frame_says_when_it_left_and_looks_like_packets_of_its_queue(setup: QueueSetup, phase: int, at: int) -> None:
    marks = set()
    for queue_id in setup.traffic_queues:
        frame, start = make_frame(PORT, queue_id, setup)
        stamp(frame, start, phase, queue_id, at)
        assert len(frame) == PORT.frame_bytes
        assert read_stamp(bytes(frame)) == (phase, queue_id, at)
        marks.add(bytes(frame[12:18]))
    assert len(marks) == len(setup.traffic_queues)
    assert read_stamp(bytes(64)) is None
    assert read_stamp(b"") is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"high_received": 0, "high_delay_ms": None}, "no frame of queue 1"),
        ({"high_received": 79}, "queue 1 lost 1 of 80 frames beside a full queue 2"),
        ({"low_received": 100}, "could not be filled"),
        ({"high_delay_ms": 20.0}, "waits 20.0 ms behind queue 2"),
        ({"low_received": 3}, "got 3 frames of 20"),
    ],
)
def test_only_strict_priority_on_a_full_link_is_a_proof(changes: Mapping[str, object], words: str | None) -> None:
    said = replace(STRICT, **changes).complaint()  # type: ignore[arg-type]
    assert said is None if words is None else said is not None and words in said and "s1 port 2" in said


def test_the_delay_of_a_link_is_no_waiting() -> None:
    far = replace(STRICT, port=replace(PORT, delay_ms=20.0), high_delay_ms=20.5)
    assert far.complaint() is None
    assert "waits 20.0 ms" in str(replace(far, high_delay_ms=40.0).complaint())


def test_a_verdict_counts_the_best_outcome_and_names_the_first_complaint() -> None:
    lost = replace(STRICT, high_received=70)
    assert judge_queues(LOW_QUEUE, [lost, STRICT]).ok
    assert judge_queues(LOW_QUEUE, [STRICT, lost]).ok
    bad = judge_queues(LOW_QUEUE, [lost, replace(lost, port=replace(PORT, port_no=3)), replace(STRICT, high=2, low=3)])
    assert not bad.ok
    assert "s1 port 2: queue 1 lost 10 of 80" in bad.describe()
    assert "(and 1 more)" in bad.describe()
    assert next_load(bad.outcomes) == {(1, 2): [PORT, replace(PORT, port_no=3)]}
    assert not QueueVerdict(LOW_QUEUE, ()).ok
    assert "not tried" in QueueVerdict(LOW_QUEUE, ()).describe()


def test_arrivals_are_summed_up_by_queue() -> None:
    arrivals = [Arrival(1, 0.5), Arrival(2, 9.0), Arrival(1, 1.5), Arrival(1, 0.7)]
    outcome = outcome_of(PORT, Phase(0, 1, 2, (PORT,)), {1: 3, 2: 4}, arrivals)
    assert outcome == PairOutcome(PORT, 1, 2, 3, 3, 4, 1, 0.7)


# ---- real kernels (root, a namespace of their own, no Open vSwitch)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


@as_root
@pytest.mark.parametrize("setup", [queue_setup(EIGHT), queue_setup(FOUR), SETUPS[-1]], ids=lambda setup: setup.name)
def test_this_kernel_serves_queues_strictly(setup: QueueSetup) -> None:
    verdict = try_queue_testbed(tree_of(setup))
    assert verdict.ok, verdict.describe()


@as_root
def test_this_kernel_tells_tagged_packets_apart_at_the_offset_that_was_found() -> None:
    facts = machine_queue_facts(LOW_QUEUE, kernel_datapath=False)
    assert facts.vlan_at == find_vlan_offset() in (VLAN_NEW, VLAN_OLD)
    tree = replace(tree_of(LOW_QUEUE), vlan_at=facts.vlan_at)
    assert try_queue_testbed(tree).ok
    wrong = VLAN_OLD if facts.vlan_at == VLAN_NEW else VLAN_NEW
    assert not try_queue_testbed(replace(tree, vlan_at=wrong)).ok


def without_filters(line: str) -> str:
    return "" if line.startswith("filter") else line


def with_one_priority(line: str) -> str:
    return re.sub(r" prio \d quantum", " prio 1 quantum", line)


def with_turned_priorities(line: str) -> str:
    return re.sub(r" prio (\d) quantum", lambda found: f" prio {7 - int(found[1])} quantum", line)


@as_root
@pytest.mark.parametrize("mutate", [without_filters, with_one_priority, with_turned_priorities])
def test_a_tree_that_is_not_strict_is_found_out(mutate: object) -> None:
    tree = tree_of(queue_setup(SINGLE))
    lines = [mutate(line) for line in port_tc_plan(PortShape("near0", 10.0, None, 50, tree))]  # type: ignore[operator]
    verdict = try_queue_testbed(tree, [line for line in lines if line])
    assert not verdict.ok
    assert "not strict" in verdict.describe()


@as_root
def test_the_send_buffer_of_a_process_is_widened_from_outside() -> None:
    assert can_widen_send_buffers()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender:
        before = sender.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        assert widen_send_buffer(os.getpid(), 3 * before) >= 3 * before
        assert sender.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) >= 3 * before
        assert widen_send_buffer(os.getpid(), before) >= 3 * before


def test_a_process_without_a_packet_socket_is_named() -> None:
    with pytest.raises(SendBufferError, match=f"process {os.getpid()}"):
        widen_send_buffer(os.getpid(), 1_000_000, timeout_s=0.05)


@as_root
def test_nothing_is_left_of_a_trial() -> None:
    with private_namespace() as pid:
        shown = run_program(inside(pid, ["ip", "-o", "link", "show"]))
    assert "near0" not in shown
    assert not os.path.exists(f"/proc/{pid}")
    assert "near0" not in os.listdir("/sys/class/net")


# ---- a private switch


def try_private_switch(mutate: Callable[[str], str]) -> QueueVerdict:
    """Verdict on three links of 10 Mbit/s behind one switch with a userspace datapath, two of them fed at once."""
    tree, links = tree_of(queue_setup(SINGLE)), (2, 3, 4)
    shapes = [PortShape(near_end(port), 10.0, None, 50, tree) for port in links]
    rows = tuple(
        FlowRow(0, 1, match(in_port=1, eth_dst=int.from_bytes(destination(port, queue), "big")), (Output(port),))
        for port in links
        for queue in tree.setup.traffic_queues
    )
    with cost_switch((1, *links)) as switch, ExitStack() as stack:
        run_batch(
            switch.holder, ["tc", "-batch", "-"], [mutate(line) for each in shapes for line in port_tc_plan(each)]
        )
        switch.install(RulePlan(1, "s1", flows=rows))
        sender = stack.enter_context(open_sender(switch.holder, far_end(1)))
        wires = [
            TrialWire(
                TrialPort("s1", port, 10.0), sender, stack.enter_context(open_receiver(switch.holder, far_end(port)))
            )
            for port in links
        ]
        sender.send(make_frame(wires[0].port, 1, tree.setup)[0])  # the switch opens its socket when it first sends
        assert widen_send_buffer(switch.pid, send_buffer_bytes(shapes)) >= send_buffer_bytes(shapes)
        return run_trial(wires, tree.setup, tree.queue_pkts)


@pytest.mark.emulation
@pytest.mark.alone
def test_links_of_a_real_switch_are_proven_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_trial, "BUDGETS_PPS", (2.5 * PORT.offered_pps,) * 3)
    verdict = try_private_switch(lambda line: line)
    assert verdict.ok, verdict.describe()
    assert len(verdict.outcomes) == 3


@pytest.mark.emulation
@pytest.mark.alone
def test_a_tree_that_refuses_the_newest_packet_is_found_out_behind_a_real_switch() -> None:
    verdict = try_private_switch(lambda line: line.replace("pfifo_head_drop", "pfifo"))
    assert not verdict.ok
    assert "beside a full queue 2" in verdict.describe()


# ---- emulated networks

QUEUED = EmulationOptions(bfd_interval_ms=100, capacity_scale=0.05, default_capacity_mbps=100)


def check_network(options: EmulationOptions) -> None:
    assert options.queues is not None
    with EmulatedNetwork(toy.square(), options) as net:
        verdict = net.queue_verdict
        assert verdict is not None
        assert verdict.ok, verdict.describe()
        assert net.faults == ()
        assert len({(outcome.port.node, outcome.port.port_no) for outcome in verdict.outcomes}) == 8
        counters = net.queue_counters()
        first, *_, last = options.queues.traffic_queues
        assert set(counters) == set(net.ports.direction_at)
        assert all(by_queue[first].dropped_pkts == 0 < by_queue[last].dropped_pkts for by_queue in counters.values())
        assert "dl_dst" not in net.dump_flows("s1")
        assert lost_trees(net.traffic, net.pids) == []
        assert options.queues.name in net.describe()["queue_trial"]


@pytest.mark.emulation
@pytest.mark.alone
@any_setup
def test_every_port_of_a_userspace_network_is_proven_before_the_run(setup: QueueSetup) -> None:
    check_network(replace(QUEUED, queues=setup, datapath="netdev"))


@pytest.mark.emulation
@pytest.mark.alone
@any_setup
def test_every_port_of_a_kernel_network_is_proven_before_the_run(setup: QueueSetup) -> None:
    features = kernel_features()
    if not features.openvswitch:
        pytest.skip(f"kernel {features.release} has no openvswitch datapath: {features.reason('openvswitch')}")
    check_network(replace(QUEUED, queues=setup, datapath="kernel"))


@pytest.mark.emulation
@pytest.mark.alone
def test_a_network_whose_filters_are_lost_says_so_and_a_restarted_switch_keeps_its_wide_buffer() -> None:
    options = replace(QUEUED, queues=queue_setup(SINGLE), datapath="netdev")
    with EmulatedNetwork(toy.pair(), options) as net:
        net.wait_bfd_up(patient_s(30))
        wanted = send_buffer_bytes([PortShape("x", 5.0, None, 20, tree_of(queue_setup(SINGLE)))])
        net.kill("ovs-vswitchd", "s1")
        net.wait_bfd_up(patient_s(30))
        assert widen_send_buffer(net.pid_of("ovs-vswitchd", "s1"), 0) >= wanted
        assert net.try_queues().ok
        net.run("s1", ["tc", "filter", "del", "dev", "s1-eth2"])
        verdict = net.try_queues()
        assert not verdict.ok
        assert all("s1 port 2" in said for said in verdict.complaints)
