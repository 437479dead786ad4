"""In-band control of an emulated network, before anything is built: cables, connections, marks, queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.decide.control_classes import shared_queue_setup
from emulation.decide.in_band import in_band_channel, local_lines
from emulation.decide.options import EmulationOptions
from emulation.decide.queue_trial import TrialPort, make_frame, read_stamp, stamp
from emulation.decide.queues import QUEUE_SETUPS
from emulation.decide.switch import ovsdb_server_command, plan_groups, port_settings, vsctl_arguments
from emulation.decide.traffic import PortShape, port_shapes, port_tc_plan
from emulation.decide.wiring import CONTROLLER, Wiring, place_lines, plan_wiring
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import BadInputError
from mininet_topos.ports import assign_ports
from ryu_apps.control.priority.decide.channels import connections
from ryu_apps.control.priority.decide.in_band import channel_of
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import CONTROL_PORT
from ryu_apps.plan.in_band.values import DataMarking, Service
from ryu_apps.pmt.parse import parse_pmt

PMTS = Path(__file__).resolve().parents[2] / "examples" / "pmt"
TABLE = parse_pmt((PMTS / "in_band.yaml").read_text(encoding="utf-8"), "in_band")
RING = load_topology("ring:4")
BFD = "match ip protocol 17 0xff match ip dport 3784 0xffff"


def wiring_at(node: str) -> Wiring:
    return plan_wiring(RING, assign_ports(RING), hosts_of(RING), 1600, False, in_band_at=node)


def filters(shape: PortShape) -> list[str]:
    return [line for line in port_tc_plan(shape) if line.startswith("filter")]


def shape_of(options: EmulationOptions, *, kernel: bool = False) -> PortShape:
    link = RING.links_from["s1"][0]
    shapes = port_shapes(
        RING, options, dict.fromkeys(RING.links, "s1-eth2"), ["s1"], netem=False, kernel_datapath=kernel
    )
    assert len(shapes) == len(RING.links_from[link.src])
    return shapes[0]


def test_there_is_one_control_cable_and_it_leads_to_a_port_of_the_controllers_switch() -> None:
    wiring = wiring_at("s3")
    (cable,) = [cable for cable in wiring.cables if CONTROLLER in (cable.a.place, cable.b.place)]
    assert (cable.a.place, cable.a.interface) == ("s3", wiring.interface_of["s3", CONTROL_PORT])
    assert cable.b.mac == "02:02:00:00:00:00"
    assert wiring.control_interface_of == {name: name for name in ("s1", "s2", "s3", "s4")}
    assert place_lines(wiring, CONTROLLER)[-1] == "addr add 10.255.255.254/16 dev ctl-s3"
    assert not any("addr" in line for line in place_lines(wiring, "s3"))
    assert local_lines("s3", 3) == ["link set s3 up", "addr replace 10.255.0.3/16 dev s3"]


def test_bridges_get_the_port_and_the_address_that_rows_know() -> None:
    ports, wiring = assign_ports(RING), wiring_at("s2")
    groups = plan_groups(RING, ports, wiring, Path("/tmp/x"), TABLE)
    settings = {node: port_settings(ports, wiring, node) for node in RING.node_names}
    assert (settings["s2"][-1].port_no, settings["s2"][-1].bfd) == (CONTROL_PORT, False)
    words = vsctl_arguments(groups[1], settings, "netdev", 100)
    assert "other_config:hwaddr=02:02:00:00:00:02" in words
    assert "other_config:disable-in-band=true" in words
    assert words.count("connection_mode=out-of-band") == len(connections(TABLE, 6653))
    # The address of the switch is not there yet when its database server starts.
    assert "--remote=ptcp:6641:0.0.0.0" in ovsdb_server_command(groups[1], [Path("a.db")])


def test_connections_of_classes_keep_their_marks_in_band_and_data_may_not_have_them() -> None:
    channel = in_band_channel(EmulationOptions(in_band_at="s2", pmt=TABLE))
    assert {(each.tcp_port, each.dscp) for each in channel.services if each.at_controller} == {
        (row.port, row.dscp) for row in connections(TABLE, 6653)
    }
    assert Service(6641, at_controller=False, dscp=56) in channel.services
    assert channel.data_markings == tuple(DataMarking(dscp, 32) for dscp in range(40, 64))


@pytest.mark.parametrize(("line", "marks"), [("data_dscp: refuse\n", {None}), ("", set())])
def test_data_with_marks_of_control_is_refused_or_left_as_the_table_says(line: str, marks: set[None]) -> None:
    table = parse_pmt(line + "rules:\n  - {traffic_type: 1, action: dscp:CS6}\n", "t")
    assert {mark.becomes for mark in channel_of(table, "s1", 6653).data_markings} == marks


def test_without_a_table_there_is_one_connection_without_a_mark() -> None:
    channel = in_band_channel(EmulationOptions(in_band_at="s1"))
    assert [each for each in channel.services if each.at_controller] == [Service(6653)]
    assert {each.dscp for each in channel.services} == {None}
    assert channel.data_markings == ()


def test_links_serve_bfd_then_the_marks_of_control_then_data() -> None:
    setup = shared_queue_setup(TABLE)
    assert setup.queue_of_dscp == ((56, 0), (48, 1), (40, 2))
    assert (setup.n_queues, setup.default_queue) == (4, 3)
    for kernel in (False, True):  # nothing sets queues of control, so marks decide with either datapath
        shape = shape_of(EmulationOptions(in_band_at="s1", pmt=TABLE, default_capacity_mbps=10), kernel=kernel)
        first, *marks = filters(shape)
        assert BFD in first
        assert first.endswith("flowid 1:10")
        assert [line.split("tos ")[1].split()[0] for line in marks] == ["0xe0", "0xc0", "0xa0"]
    assert setup.describe().startswith("control before data: queue before 0: BFD; queue 0: DSCP 56")


def test_without_classes_only_bfd_goes_before_data() -> None:
    for queues in (None, QUEUE_SETUPS["single"]):
        options = EmulationOptions(in_band_at="s1", queues=queues, default_capacity_mbps=10)
        assert [line for line in filters(shape_of(options)) if " ip " in line and "mpls" not in line] == [
            filters(shape_of(options))[0]
        ]
        assert BFD in filters(shape_of(options))[0]
    assert "tos 0xc0" in filters(shape_of(EmulationOptions(default_capacity_mbps=10)))[0]


def test_frames_that_try_such_queues_carry_the_marks() -> None:
    setup, port = shared_queue_setup(TABLE), TrialPort("s1", 2, 10.0)
    for queue_id in setup.traffic_queues:
        frame, start = make_frame(port, queue_id, setup)
        stamp(frame, start, 7, queue_id, 99)
        assert read_stamp(bytes(frame)) == (7, queue_id, 99)
        marked = {queue: dscp for dscp, queue in setup.queue_of_dscp}
        if queue_id in marked:
            assert (frame[12:14], frame[15] >> 2) == (b"\x08\x00", marked[queue_id])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"control_rate_mbps": 2.0}, "control_rate_mbps is 2.0"),
        ({"control_delay_ms": 5.0}, "control_delay_ms is 5.0"),
        ({"shared_ovs": True}, "shared_ovs"),
        ({"pmt": TABLE, "queues": QUEUE_SETUPS["single"]}, "'single'"),
    ],
)
def test_options_that_in_band_control_leaves_without_a_meaning_are_refused(wrong: dict, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        EmulationOptions(in_band_at="s1", **wrong)


def test_links_without_a_capacity_cannot_serve_classes() -> None:
    with pytest.raises(BadInputError, match="default_capacity_mbps"):
        shape_of(EmulationOptions(in_band_at="s1", pmt=TABLE))
