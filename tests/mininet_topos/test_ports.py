"""Port numbers: fixed ones kept, the others the lowest free, the same on every run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given

from mininet_topos import toy
from mininet_topos.errors import TopologyError
from mininet_topos.ports import FIRST_LINK_PORT, HOST_PORT, assign_ports
from mininet_topos.topology import Direction, Topology
from tests.mininet_topos.strategies import topologies


def with_ports(topology, port_nos):
    """Return the topology with ports fixed on some directions."""
    links = (replace(link, port_no=port_nos.get(link.direction)) for link in topology.links)
    return Topology(topology.name, topology.nodes, tuple(links))


@given(topologies())
def test_ports_are_unique_on_a_switch_and_can_be_looked_up_both_ways(topology):
    ports = assign_ports(topology)
    assert set(ports.port_of) == {link.direction for link in topology.links}
    assert {(d.src, port): d for d, port in ports.port_of.items()} == ports.direction_at
    assert len(ports.direction_at) == len(topology.links)
    assert HOST_PORT not in ports.port_of.values()


@given(topologies())
def test_fixed_ports_are_kept_and_the_rest_fill_the_gaps(topology):
    ports = assign_ports(topology)
    for name in topology.node_names:
        fixed = {link.port_no for link in topology.links_from[name]} - {None}
        given_out = [ports.port_of[link.direction] for link in topology.links_from[name] if link.port_no is None]
        lowest = (port for port in range(FIRST_LINK_PORT, 200) if port not in fixed)
        assert given_out == [next(lowest) for _ in given_out]
        assert fixed <= {ports.port_of[link.direction] for link in topology.links_from[name]}


@given(topologies())
def test_ports_do_not_depend_on_the_order_of_the_links(topology):
    assume(all(link.port_no is None for link in topology.links))
    turned = Topology(topology.name, topology.nodes, topology.links[::-1])
    assert assign_ports(turned).port_of == assign_ports(topology).port_of


def test_neighbours_get_ports_in_node_order_from_two():
    ports = assign_ports(toy.figure2())
    assert [ports.port_of[Direction("s2", name)] for name in ("s1", "s3", "s6")] == [2, 3, 4]


@pytest.mark.parametrize(
    ("port_nos", "words"),
    [
        ({Direction("s1", "s2"): 1}, "s1 fixes port_no 1"),
        ({Direction("s1", "s2"): 0xFF00}, "s1 fixes port_no 65280"),
        ({Direction("s1", "s2"): 5, Direction("s1", "s4"): 5}, "s1 fixes port_no 5 for two links"),
    ],
)
def test_a_port_that_cannot_be_is_refused(port_nos, words):
    with pytest.raises(TopologyError, match=words):
        assign_ports(with_ports(toy.square(), port_nos))
