"""The wiring plan: every port has its cable, nobody shares a name, and nothing stands in the root namespace."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.decide.options import EmulationOptions
from emulation.decide.switch import (
    ovsdb_server_command,
    plan_groups,
    port_settings,
    vsctl_arguments,
    vswitchd_command,
)
from emulation.decide.wiring import (
    CONTROLLER,
    MAX_INTERFACE_NAME,
    Wiring,
    cable_lines,
    control_ipv4,
    host_lines,
    place_lines,
    plan_wiring,
    switch_names,
)
from mininet_topos import generators, toy
from mininet_topos.catalogue import darkstrand
from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Link, Node, Topology
from ryu_apps.plan.addressing import hosts_of


def wire(topology: Topology, shared: bool = False) -> Wiring:
    return plan_wiring(topology, assign_ports(topology), hosts_of(topology), 1600, shared)


def two_nodes(first: str, second: str) -> Topology:
    links = (Link(first, second), Link(second, first))
    return Topology("two", (Node(first), Node(second)), links)


@given(st.integers(2, 12), st.integers(0, 6), st.integers(0, 1000), st.booleans())
def test_every_port_host_and_control_link_has_exactly_one_cable_end(
    nodes: int, extra: int, seed: int, shared: bool
) -> None:
    links = min(nodes - 1 + extra, nodes * (nodes - 1) // 2)
    topology = generators.random_connected("random", nodes, links, seed)
    wiring = wire(topology, shared)
    ends = Counter((end.place, end.interface) for cable in wiring.cables for end in (cable.a, cable.b))
    assert set(ends.values()) == {1}
    ports = {(wiring.place_of[node], name) for (node, _), name in wiring.interface_of.items()}
    assert len(ports) == len(topology.links) + nodes
    hosts = {(host.name, f"{host.name}-eth0") for host in hosts_of(topology).values()}
    control = set(wiring.control_interface_of.items()) | {
        (CONTROLLER, name) for name in wiring.controller_interface_of.values()
    }
    assert set(ends) == ports | hosts | control


def test_cables_join_the_two_ports_of_the_same_link() -> None:
    topology = toy.parallel()
    ports, wiring = assign_ports(topology), wire(topology)
    joined = {frozenset((cable.a.interface, cable.b.interface)) for cable in wiring.cables}
    for link_id in topology.link_ids:
        there, back = topology.directions(link_id)
        ends = (wiring.interface_of[d.src, ports.port_of[d]] for d in (there, back))
        assert frozenset(ends) in joined


def test_no_mac_address_is_given_twice() -> None:
    macs = [end.mac for cable in wire(darkstrand()).cables for end in (cable.a, cable.b) if end.mac]
    assert len(macs) == 62 + 28 + 28
    assert len(set(macs)) == len(macs)


def test_both_ends_of_every_cable_are_created_inside_a_namespace() -> None:
    wiring = wire(toy.square())
    places = {end.place for cable in wiring.cables for end in (cable.a, cable.b)}
    pid_of = {place: number for number, place in enumerate(sorted(places), start=100)}
    lines = cable_lines(wiring.cables, pid_of)
    assert len(lines) == len(wiring.cables)
    assert all(line.count(" netns ") == 2 for line in lines)


@pytest.mark.parametrize(
    ("first", "second"), [("Frankfurt am Main", "Offenbach"), ("a", "n" * 40), ("münchen", "ulm"), ("a-b", "c")]
)
def test_names_that_linux_cannot_hold_are_replaced_by_numbers(first: str, second: str) -> None:
    topology = two_nodes(first, second)
    assert switch_names(topology, assign_ports(topology)) == {first: "s1", second: "s2"}
    wiring = wire(topology)
    assert all(len(end.interface) <= MAX_INTERFACE_NAME for cable in wiring.cables for end in (cable.a, cable.b))


def test_short_plain_names_are_kept() -> None:
    topology = two_nodes("ulm", "wien")
    assert switch_names(topology, assign_ports(topology)) == {"ulm": "ulm", "wien": "wien"}


@pytest.mark.parametrize("name", ["h2", "controller", "ovs"])
def test_a_node_called_like_another_place_is_refused(name: str) -> None:
    with pytest.raises(BadInputError, match=name):
        wire(two_nodes("a", name))


def test_control_addresses_are_distinct_and_leave_the_controllers_own_out() -> None:
    addresses = [control_ipv4(number) for number in (1, 255, 256, 300)]
    assert addresses == ["10.255.0.1", "10.255.0.255", "10.255.1.0", "10.255.1.44"]


def test_each_place_gets_its_addresses_and_fixed_neighbours() -> None:
    topology = toy.pair()
    wiring, hosts = wire(topology), hosts_of(topology)
    assert "addr add 10.255.0.1 peer 10.255.255.254 dev s1-ctl" in place_lines(wiring, "s1")
    assert "addr add 10.255.255.254 peer 10.255.0.2 dev ctl-s2" in place_lines(wiring, CONTROLLER)
    lines = host_lines(hosts["s1"], hosts.values())
    assert "addr add 10.0.0.1/16 dev h1-eth0" in lines
    assert [line for line in lines if line.startswith("neigh")] == [
        "neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev h1-eth0 nud permanent"
    ]


def test_a_shared_daemon_has_one_place_and_one_control_link() -> None:
    wiring = wire(toy.square(), shared=True)
    assert wiring.switch_places == ("ovs",)
    groups = plan_groups(toy.square(), assign_ports(toy.square()), wiring, Path("/run/x"))
    assert [len(group.sites) for group in groups] == [4]
    assert len({site.mgmt_socket for site in groups[0].sites}) == 4


def test_a_run_folder_too_long_for_sockets_is_refused_with_its_name() -> None:
    topology = toy.pair()
    folder = Path("/run/" + "x" * 90)
    with pytest.raises(BadInputError, match="too long for Unix sockets"):
        plan_groups(topology, assign_ports(topology), wire(topology), folder)


def test_one_transaction_sets_up_all_ports_with_fixed_numbers_noop_qos_and_bfd_on_links_only() -> None:
    topology = toy.square()
    ports, wiring = assign_ports(topology), wire(topology)
    group = plan_groups(topology, ports, wiring, Path("/run/x"))[0]
    settings = {"s1": port_settings(ports, wiring, "s1")}
    words = vsctl_arguments(group, settings, "netdev", 5)
    text = " ".join(words)
    assert words.count("ovs-vsctl") == 1
    assert f"--db=unix:{group.db_socket}" in words
    assert "other_config:datapath-id=0000000000000001" in words
    assert {"fail_mode=secure", "protocols=OpenFlow13", "datapath_type=netdev"} <= set(words)
    for port in settings["s1"]:
        assert f"set Port {port.interface} qos=@noop" in text
        bfd = f"ofport_request={port.port_no} bfd:enable=true bfd:min_tx=5 bfd:min_rx=5 bfd:mult=3"
        assert (bfd in text) == (port.port_no != HOST_PORT)


def test_the_database_listens_on_the_control_link_too() -> None:
    topology = toy.pair()
    group = plan_groups(topology, assign_ports(topology), wire(topology), Path("/run/x"))[1]
    assert "--remote=ptcp:6641:10.255.0.2" in ovsdb_server_command(group, [Path("/run/x/a.db")])
    assert all("/etc/openvswitch" not in word and "/var/run" not in word for word in vswitchd_command(group))


@pytest.mark.parametrize(
    "wrong",
    [
        {"bfd_interval_ms": 0},
        {"bfd_interval_ms": -5},
        {"datapath": "dpdk"},
        {"mtu_bytes": 1400},
        {"capacity_scale": 0.0},
        {"default_capacity_mbps": 0.0},
        {"default_capacity_mbps": float("nan")},
        {"control_rate_mbps": -1.0},
        {"bfd_probe_s": 0.0},
    ],
)
def test_an_option_out_of_range_is_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(BadInputError, match=next(iter(wrong))):
        EmulationOptions(**wrong)  # type: ignore[arg-type]
