"""Markings: their text is read back, they choose what they name, and what fits no field is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.marking import EVERY_PACKET, Marking, parse_marking
from mininet_topos.errors import BadInputError

TCP, UDP = 6, 17
MARKINGS = st.builds(
    Marking,
    st.lists(st.integers(0, 65535), unique=True, max_size=3).map(tuple),
    st.lists(st.integers(0, 63), unique=True, max_size=3).map(tuple),
    st.lists(st.integers(0, 4094), unique=True, max_size=3).map(tuple),
)


@given(MARKINGS)
def test_the_text_of_a_marking_reads_back(marking: Marking) -> None:
    assert parse_marking("marked", str(marking)) == marking
    assert marking.is_all == (not str(marking))


@given(MARKINGS, st.sampled_from((TCP, UDP)), st.integers(0, 65535), st.integers(0, 63), st.integers(0, 4094))
def test_a_marking_chooses_by_any_of_its_fields(marking: Marking, proto: int, port: int, dscp: int, vlan: int) -> None:
    other = next(number for number in range(5) if number not in marking.tcp_ports)
    for ports in ((port, other), (other, port)):
        by_any = (proto == TCP and port in marking.tcp_ports) or dscp in marking.dscp or vlan in marking.vlans
        assert marking.chooses(proto, ports, dscp, vlan) == (by_any or marking == EVERY_PACKET)


@pytest.mark.parametrize("text", ["dscp=64", "tcp=65536", "vlan=4095", "dscp", "udp=53", "dscp=-1", "dscp=46;tcp=80"])
def test_what_marks_nothing_is_refused_with_a_repair(text: str) -> None:
    with pytest.raises(BadInputError, match="give"):
        parse_marking("marked", text)
