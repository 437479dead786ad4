"""Priority queues: laws of set-ups, trees and judgements, and real kernels that keep to them or are found out."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos import toy
from mininet_topos.emulation import EmulatedNetwork, EmulationOptions
from mininet_topos.emulation.build import lost_trees, place_shapes
from mininet_topos.emulation.features import kernel_features
from mininet_topos.emulation.places import inside, private_namespace, run_program
from mininet_topos.emulation.queue_bench import find_vlan_offset, machine_queue_facts, try_queue_bench
from mininet_topos.emulation.queue_trial_core import (
    BUDGETS_PPS,
    HIGH_SHARE,
    LOW_SHARE,
    Arrival,
    PairOutcome,
    Phase,
    QueueVerdict,
    TrialPort,
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
from mininet_topos.emulation.queues_core import (
    CONTROL_CLASS,
    DEMOTED,
    VLAN_NEW,
    VLAN_OLD,
    QueueFacts,
    QueueSetup,
    QueueTree,
    class_of,
    queue_of_class,
    queue_setup,
)
from mininet_topos.emulation.send_buffers import SendBufferError, can_widen_send_buffers, widen_send_buffer
from mininet_topos.emulation.traffic_core import (
    SEND_BUFFER_BYTES,
    PortShape,
    parse_queue_counters,
    port_tc_plan,
    send_buffer_bytes,
)
from mininet_topos.emulation.wiring_core import plan_wiring
from mininet_topos.errors import BadInputError
from mininet_topos.ports import assign_ports
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import Status
from ryu_apps.plan.kuijia.priorities import EIGHT, FOUR, PRIORITY_SETUPS, SINGLE, queue_rows

SETUPS = (*map(queue_setup, PRIORITY_SETUPS.values()), DEMOTED)
PORT = TrialPort("s1", 2, capacity_mbps=10.0)
CHARGE_BYTES = 2304  # what a queued packet of 1,500 bytes costs a socket
STRICT = PairOutcome(PORT, 1, 2, 80, 80, 100, 70, 0.5)
any_setup = pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)


def tree_of(setup: QueueSetup, *, by_filter: bool = True, queue_pkts: int = 50) -> QueueTree:
    return QueueTree(setup, by_filter=by_filter, queue_pkts=queue_pkts)


def lines_of(setup: QueueSetup, mbps: float = 10.0, *, by_filter: bool = True) -> list[str]:
    return port_tc_plan(PortShape("x", mbps, None, 20, tree_of(setup, by_filter=by_filter)))


def field(line: str, name: str) -> str:
    found = re.search(rf" {name} (\S+)", line)
    assert found, line
    return found[1]


def leaves(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("class") and "1:fffe classid" in line]


# ---- set-ups


@pytest.mark.parametrize("plan", PRIORITY_SETUPS.values(), ids=lambda plan: plan.name)
def test_every_mark_of_a_plan_waits_in_the_queue_that_its_rows_name(plan: object) -> None:
    setup = queue_setup(plan)  # type: ignore[arg-type]
    for traffic in plan.classes:  # type: ignore[attr-defined]
        for mark in (traffic.normal, traffic.victim):
            assert dict(setup.queue_of_tc)[mark.tc] == mark.queue_id
        if traffic.dscp:
            assert dict(setup.queue_of_dscp)[traffic.dscp] == traffic.normal.queue_id
    rows = queue_rows(plan, {1: None, 2: 10.0})  # type: ignore[arg-type]
    assert {row.queue_id for row in rows} == set(range(setup.n_queues))


def test_the_queues_of_the_paper_are_in_its_order() -> None:
    single, eight = queue_setup(SINGLE), queue_setup(EIGHT)
    assert (single.n_queues, single.queue_of_tc, single.control_class) == (3, ((0, 1), (1, 2)), "1:1")
    assert eight.queue_of_tc == tuple((number, number) for number in range(1, 8))
    assert eight.default_queue == 6
    assert "queue 5: TC 5" in eight.describe()


def test_control_packets_go_first_also_where_traffic_uses_queue_0() -> None:
    four = queue_setup(FOUR)
    assert four.control_class == CONTROL_CLASS == four.classes[0]
    assert four.traffic_queues == (0, 1, 2, 3)
    assert queue_of_class(four)[CONTROL_CLASS] == -1


def test_packets_that_met_a_failure_are_demoted_by_their_status() -> None:
    assert dict(DEMOTED.queue_of_pcp) == {Status.CRANKBACK: 2, Status.RECOVERED: 2}
    assert DEMOTED.default_queue == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_queues": 1}, "2 to 8"),
        ({"n_queues": 9}, "2 to 8"),
        ({"n_queues": 8, "control_is_queue_0": False}, "9 classes"),
        ({"queue_of_tc": ((8, 1),)}, "TC 8"),
        ({"queue_of_pcp": ((1, 3),)}, "queue 3"),
        ({"queue_of_dscp": ((26, 0),)}, "queue 1..2"),
        ({"queue_of_tc": ((1, 1), (1, 2))}, "two queues"),
        ({"default_queue": 0}, "queue 0"),
    ],
)
def test_a_set_up_that_cannot_be_is_refused(changes: Mapping[str, object], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        replace(QueueSetup("mine", 3, default_queue=1), **changes)  # type: ignore[arg-type]


# ---- trees


@any_setup
def test_every_queue_has_one_class_with_a_priority_of_its_own_and_the_whole_link_to_borrow(setup: QueueSetup) -> None:
    classes = leaves(lines_of(setup))
    assert [field(line, "classid") for line in classes] == list(setup.classes)
    assert [int(field(line, "prio")) for line in classes] == list(range(len(setup.classes)))
    assert {field(line, "ceil") for line in classes} == {"10000kbit"}
    assert {class_of(queue) for queue in range(setup.n_queues)} <= set(setup.classes)


@any_setup
@pytest.mark.parametrize("mbps", [0.5, 5.0, 1000.0])
def test_no_class_but_that_of_control_packets_has_a_share_that_matters(setup: QueueSetup, mbps: float) -> None:
    own = {field(line, "classid"): int(field(line, "rate")[:-4]) for line in leaves(lines_of(setup, mbps))}
    control = own.pop(setup.control_class)
    assert sum(own.values()) <= mbps * 1000 * 0.02
    assert control + sum(own.values()) < mbps * 1000


@any_setup
def test_each_mark_has_one_filter_on_the_userspace_datapath_and_none_on_the_kernel_one(setup: QueueSetup) -> None:
    def filters(*, by_filter: bool) -> list[str]:
        return [line for line in lines_of(setup, by_filter=by_filter) if line.startswith("filter")]

    marks = len(setup.queue_of_tc) + len(setup.queue_of_pcp) + len(setup.queue_of_dscp)
    assert len(filters(by_filter=True)) == 1 + marks
    assert all(field(line, "flowid") in setup.classes for line in filters(by_filter=True))
    (control,) = filters(by_filter=False)
    assert field(control, "flowid") == setup.control_class


def test_set_queue_of_the_kernel_datapath_finds_its_class() -> None:
    # Open vSwitch writes TC_H_MAKE(1 << 16, queue + 1) into the packet's priority, which HTB takes for a class id.
    assert [class_of(queue) for queue in (0, 1, 14)] == ["1:1", "1:2", "1:f"]


@any_setup
def test_a_full_queue_drops_its_oldest_packet_so_that_no_send_fails(setup: QueueSetup) -> None:
    limits = [line for line in lines_of(setup) if "parent 1:" in line and "limit" in line]
    assert len(limits) == len(setup.classes)
    assert all("pfifo_head_drop limit" in line for line in limits)


@given(st.integers(1, 12), st.sampled_from(SETUPS), st.integers(1, 100))
def test_everything_that_may_wait_in_a_daemons_queues_fits_the_send_buffer_asked_for(
    n_ports: int, setup: QueueSetup, queue_pkts: int
) -> None:
    shapes = [
        PortShape(f"x{number}", 10.0, None, 20, tree_of(setup, queue_pkts=queue_pkts)) for number in range(n_ports)
    ]
    limits = [
        int(field(line, "limit")) for shape in shapes for line in port_tc_plan(shape) if "pfifo_head_drop" in line
    ]
    assert sum(limits) * CHARGE_BYTES < send_buffer_bytes(shapes)


def shapes_of(options: EmulationOptions, facts: QueueFacts) -> list[PortShape]:
    topology = toy.square()
    ports = assign_ports(topology)
    wiring = plan_wiring(topology, ports, hosts_of(topology), 1600, shared=False)
    by_place = place_shapes(topology, ports, wiring, options, netem=False, kernel_datapath=False, facts=facts)
    return list(by_place["s1"])


def test_without_wide_send_buffers_queues_are_as_short_as_the_usual_one_needs() -> None:
    options = EmulationOptions(queues=queue_setup(SINGLE), default_capacity_mbps=10)
    shapes = shapes_of(options, QueueFacts(wide_buffers=False))
    assert send_buffer_bytes(shapes) <= SEND_BUFFER_BYTES
    assert send_buffer_bytes(shapes_of(options, QueueFacts())) > SEND_BUFFER_BYTES


def test_queues_need_links_that_are_shaped() -> None:
    with pytest.raises(BadInputError, match="shape is off"):
        EmulationOptions(queues=DEMOTED, shape=False)
    options = EmulationOptions(queues=DEMOTED)
    topology = toy.pair()
    topology = replace(topology, links=tuple(replace(link, capacity_mbps=None) for link in topology.links))
    ports = assign_ports(topology)
    wiring = plan_wiring(topology, ports, hosts_of(topology), 1600, shared=False)
    with pytest.raises(BadInputError, match="default_capacity_mbps"):
        place_shapes(topology, ports, wiring, options, netem=False, kernel_datapath=False)


def test_a_link_too_slow_for_its_classes_is_refused() -> None:
    with pytest.raises(BadInputError, match="capacity_scale"):
        lines_of(queue_setup(EIGHT), 0.05)


def test_without_queues_the_tree_is_the_plain_one() -> None:
    assert EmulationOptions().queues is None
    assert not any("pfifo_head_drop" in line for line in port_tc_plan(PortShape("x", 10.0, None, 20)))
    assert send_buffer_bytes([PortShape("x", 10.0, None, 20)]) == 0


def test_counters_are_told_by_queue() -> None:
    text = """class htb 1:10 parent 1:fffe leaf 20: prio 0 rate 1Mbit ceil 10Mbit burst 4800b cburst 4800b
 Sent 66 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)
class htb 1:fffe root rate 10Mbit ceil 10Mbit burst 4800b cburst 4800b
 Sent 3000 bytes 3 pkt (dropped 0, overlimits 0 requeues 0)
class htb 1:4 parent 1:fffe leaf 24: prio 4 rate 1Kbit ceil 10Mbit burst 4800b cburst 4800b
 Sent 2000 bytes 2 pkt (dropped 7, overlimits 0 requeues 0)
"""
    counters = parse_queue_counters(text, tree_of(queue_setup(FOUR)))
    assert set(counters) == {-1, 3}
    assert (counters[3].sent_pkts, counters[3].sent_bytes, counters[3].dropped_pkts) == (2, 2000, 7)


# ---- trials


@given(st.floats(0.5, 1000.0), st.integers(1, 100))
def test_a_phase_overflows_the_low_queue_and_spares_the_high_one(mbps: float, queue_pkts: int) -> None:
    port, frames = TrialPort("s1", 2, mbps), phase_frames(queue_pkts)
    assert frames * (HIGH_SHARE + LOW_SHARE - 1) > queue_pkts
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


def test_a_verdict_counts_the_best_outcome_and_names_the_first_complaint() -> None:
    lost = replace(STRICT, high_received=70)
    assert judge_queues(DEMOTED, [lost, STRICT]).ok
    assert judge_queues(DEMOTED, [STRICT, lost]).ok
    bad = judge_queues(DEMOTED, [lost, replace(lost, port=replace(PORT, port_no=3)), replace(STRICT, high=2, low=3)])
    assert not bad.ok
    assert "s1 port 2: queue 1 lost 10 of 80" in bad.describe()
    assert "(and 1 more)" in bad.describe()
    assert next_load(bad.outcomes) == {(1, 2): [PORT, replace(PORT, port_no=3)]}
    assert not QueueVerdict(DEMOTED, ()).ok
    assert "not tried" in QueueVerdict(DEMOTED, ()).describe()


def test_arrivals_are_summed_up_by_queue() -> None:
    arrivals = [Arrival(1, 0.5), Arrival(2, 9.0), Arrival(1, 1.5), Arrival(1, 0.7)]
    outcome = outcome_of(PORT, Phase(0, 1, 2, (PORT,)), {1: 3, 2: 4}, arrivals)
    assert outcome == PairOutcome(PORT, 1, 2, 3, 3, 4, 1, 0.7)


# ---- real kernels (root, a namespace of their own, no Open vSwitch)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


@as_root
@pytest.mark.parametrize("setup", [queue_setup(EIGHT), queue_setup(FOUR)], ids=lambda setup: setup.name)
def test_this_kernel_serves_queues_strictly(setup: QueueSetup) -> None:
    verdict = try_queue_bench(tree_of(setup))
    assert verdict.ok, verdict.describe()


@as_root
def test_this_kernel_tells_tagged_packets_apart_at_the_offset_that_was_found() -> None:
    facts = machine_queue_facts(DEMOTED, kernel_datapath=False)
    assert facts.vlan_at == find_vlan_offset() in (VLAN_NEW, VLAN_OLD)
    tree = replace(tree_of(DEMOTED), vlan_at=facts.vlan_at)
    assert try_queue_bench(tree).ok
    wrong = VLAN_OLD if facts.vlan_at == VLAN_NEW else VLAN_NEW
    assert not try_queue_bench(replace(tree, vlan_at=wrong)).ok


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
    verdict = try_queue_bench(tree, [line for line in lines if line])
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


# ---- emulated networks

QUEUED = EmulationOptions(bfd_interval_ms=100, capacity_scale=0.05, default_capacity_mbps=100)


def check_network(options: EmulationOptions) -> None:
    assert options.queues is not None
    with EmulatedNetwork(toy.square(), options) as net:
        verdict = net.queue_verdict
        assert verdict is not None
        assert verdict.ok, verdict.describe()
        assert not [said for said in net.warnings if "strict" in said]
        assert len({(outcome.port.node, outcome.port.port_no) for outcome in verdict.outcomes}) == 8
        counters = net.queue_counters()
        first, *_, last = options.queues.traffic_queues
        assert set(counters) == set(net.ports.direction_at)
        assert all(by_queue[first].dropped_pkts == 0 < by_queue[last].dropped_pkts for by_queue in counters.values())
        assert "dl_dst" not in net.dump_flows("s1")
        assert lost_trees(net.traffic, net.pids) == []
        assert options.queues.name in net.describe()["queue_trial"]


@pytest.mark.emulation
@any_setup
def test_every_port_of_a_userspace_network_is_proven_before_the_run(setup: QueueSetup) -> None:
    check_network(replace(QUEUED, queues=setup, datapath="netdev"))


@pytest.mark.emulation
@any_setup
def test_every_port_of_a_kernel_network_is_proven_before_the_run(setup: QueueSetup) -> None:
    features = kernel_features()
    if not features.openvswitch:
        pytest.skip(f"kernel {features.release} has no openvswitch datapath: {features.reason('openvswitch')}")
    check_network(replace(QUEUED, queues=setup, datapath="kernel"))


@pytest.mark.emulation
def test_a_network_whose_filters_are_lost_says_so_and_a_restarted_switch_keeps_its_wide_buffer() -> None:
    options = replace(QUEUED, queues=queue_setup(SINGLE), datapath="netdev")
    with EmulatedNetwork(toy.pair(), options) as net:
        net.wait_bfd_up()
        wanted = send_buffer_bytes(shapes_of(options, QueueFacts())) // 2  # a pair's switch has one link, not two
        net.kill("ovs-vswitchd", "s1")
        net.wait_bfd_up()
        assert widen_send_buffer(net.pid_of("ovs-vswitchd", "s1"), 0) >= wanted
        assert net.try_queues().ok
        net.run("s1", ["tc", "filter", "del", "dev", "s1-eth2"])
        verdict = net.try_queues()
        assert not verdict.ok
        assert all("s1 port 2" in said for said in verdict.complaints)
