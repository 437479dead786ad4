"""Priority queues: laws of set-ups and of the trees that carry them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.build import place_shapes
from emulation.decide.options import EmulationOptions
from emulation.decide.queues import (
    CONTROL_CLASS,
    CS6_TOS,
    LOW_QUEUE,
    QUEUE_SETUPS,
    QueueFacts,
    QueueSetup,
    QueueTree,
    class_of,
    queue_of_class,
    queue_setup,
    rows_of_queues,
)
from emulation.decide.traffic import (
    SEND_BUFFER_BYTES,
    PortShape,
    parse_queue_counters,
    port_tc_plan,
    send_buffer_bytes,
    with_rows,
)
from emulation.decide.wiring import plan_wiring
from mininet_topos import toy
from mininet_topos.errors import BadInputError
from mininet_topos.ports import assign_ports
from ryu_apps.control.decide.queues import queue_config
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import Status
from ryu_apps.plan.kuijia.priorities import EIGHT, FOUR, PRIORITY_SETUPS, SINGLE, PrioritySetup, queue_rows
from ryu_apps.plan.kuijia.tunnel_field import MAX_DSCP
from ryu_apps.plan.notification import AFRESH
from ryu_apps.plan.rows import QueueRow

SETUPS = (*QUEUE_SETUPS.values(), queue_setup(SINGLE, "dscp"))
CHARGE_BYTES = 2304  # what a queued packet of 1,500 bytes costs a socket
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
    assert (single.n_queues, single.queue_of_tc, single.control_class) == (3, ((0, 1), (1, 2), (7, 0)), "1:1")
    assert eight.queue_of_tc == tuple((number, number) for number in range(8))
    assert eight.default_queue == 6
    assert "queue 5: TC 5" in eight.describe()


def test_tunnels_in_the_dscp_have_the_same_queues_by_ecn_on_the_userspace_datapath() -> None:
    by_tc, by_ecn = queue_setup(SINGLE), queue_setup(SINGLE, "dscp")
    assert (by_ecn.queue_of_ecn, by_ecn.queue_of_tc) == (((0, 1), (3, 2)), ())
    assert replace(by_ecn, queue_of_ecn=(), queue_of_tc=by_tc.queue_of_tc) == by_tc
    assert by_ecn.describe().endswith("queue 1: ECN 0, the rest; queue 2: ECN 3")
    filters = [line for line in lines_of(by_ecn) if line.startswith("filter")]
    assert [line.partition("protocol ip ")[2] for line in filters[1:]] == [
        "prio 1 u32 match ip tos 0x0 0x3 flowid 1:2",
        "prio 1 u32 match ip tos 0x3 0x3 flowid 1:3",
    ]
    assert "0xc0 0xfc flowid 1:1" in filters[0], "control packets go first, whatever their ECN"
    assert MAX_DSCP < CS6_TOS >> 2


def test_control_packets_go_first_also_where_traffic_uses_queue_0() -> None:
    four = queue_setup(FOUR)
    assert four.control_class == CONTROL_CLASS == four.classes[0]
    assert four.traffic_queues == (0, 1, 2, 3)
    assert queue_of_class(four)[CONTROL_CLASS] == -1


def test_packets_that_met_a_failure_are_moved_to_the_low_priority_queue_by_their_status() -> None:
    met = {status: 2 for each in (Status.CRANKBACK, Status.RECOVERED) for status in (each, AFRESH | each)}
    control = {Status.NOTIFICATION: 0, AFRESH | Status.NOTIFICATION: 0}
    assert dict(LOW_QUEUE.queue_of_pcp) == {**met, AFRESH: 2, **control}
    assert LOW_QUEUE.describe().startswith("low-queue: queue 0: control (CS6), PCP 3, PCP 7; queue 1: the rest;")
    assert LOW_QUEUE.default_queue == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_queues": 1}, "2 to 8"),
        ({"n_queues": 9}, "2 to 8"),
        ({"n_queues": 8, "control_is_queue_0": False}, "9 classes"),
        ({"queue_of_tc": ((8, 1),)}, "TC 8"),
        ({"queue_of_pcp": ((1, 3),)}, "queue 3"),
        ({"queue_of_dscp": ((26, 0),)}, "queue 1..2"),
        ({"queue_of_ecn": ((4, 1),)}, "ECN 4"),
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

    marks = len((*setup.queue_of_tc, *setup.queue_of_pcp, *setup.queue_of_dscp, *setup.queue_of_ecn))
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
        EmulationOptions(queues=LOW_QUEUE, shape=False)
    options = EmulationOptions(queues=LOW_QUEUE)
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


def test_counters_are_shown_by_queue() -> None:
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


# ---- rows of a controller


def config(rows: tuple[QueueRow, ...]) -> dict[int, dict[str, str]]:
    return {row.queue_id: queue_config(row) for row in rows}


@pytest.mark.parametrize("plan", PRIORITY_SETUPS.values(), ids=lambda plan: plan.name)
def test_a_plans_rows_make_the_tree_that_the_emulation_makes_of_the_set_up(plan: PrioritySetup) -> None:
    """Both take the same rows: what a controller writes changes nothing that is there already."""
    shape = PortShape("x", 5.0, None, 20, tree_of(queue_setup(plan)))
    rows = rows_of_queues(2, config(queue_rows(plan, {2: 10.0})), capacity_scale=0.5)
    assert port_tc_plan(with_rows(shape, rows)) == port_tc_plan(shape)


def test_a_queue_that_has_gone_has_no_class_and_no_filter() -> None:
    shape = PortShape("x", 10.0, None, 20, tree_of(queue_setup(SINGLE)))
    rows = queue_rows(SINGLE, {2: 10.0})
    lines = port_tc_plan(with_rows(shape, (rows[0], rows[2])))
    assert [field(line, "classid") for line in leaves(lines)] == ["1:1", "1:3"]
    assert {field(line, "flowid") for line in lines if line.startswith("filter")} <= {"1:1", "1:3"}


def test_a_port_without_rows_has_the_plain_tree() -> None:
    shape = PortShape("x", 10.0, None, 20, tree_of(queue_setup(SINGLE)))
    assert port_tc_plan(with_rows(shape, ())) == port_tc_plan(replace(shape, tree=None))


def test_the_rate_of_a_row_is_the_ceiling_of_its_class() -> None:
    shape = PortShape("x", 10.0, None, 20, tree_of(queue_setup(SINGLE)))
    rows = (QueueRow(2, 0, 0), QueueRow(2, 1, 1, None, 4.0), QueueRow(2, 2, 2, None, 40.0))
    assert [field(line, "ceil") for line in leaves(port_tc_plan(with_rows(shape, rows)))] == [
        "10000kbit",
        "4000kbit",
        "10000kbit",
    ]


def test_queues_by_a_controller_need_the_marks_of_packets() -> None:
    with pytest.raises(BadInputError, match="queues_by_controller"):
        EmulationOptions(queues_by_controller=True)
