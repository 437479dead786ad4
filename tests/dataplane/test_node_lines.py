"""What the controller and the nodes of 1+1 protection say to each other: what has another form is refused whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataplane.model.node_lines import NodeError, NodeRequest, read_request, read_state
from dataplane.model.protection_node import Connection
from dataplane.model.sequence import Egress, Ingress
from mininet_topos.errors import BadInputError

OWN, OTHER = "10.254.0.1", "10.254.0.3"
TO, FROM = (Connection(number, *map(IPv4Address, ends)) for number, ends in ((1, (OWN, OTHER)), (3, (OTHER, OWN))))
REQUEST: dict[str, Any] = {
    "connections": [[1, OWN, OTHER, 1], [3, OTHER, OWN, 2]],
    "sending": [[1, OTHER, 1000]],
    "receiving": [[3, 7]],
}
STATE: dict[str, Any] = {
    "epoch": "a",
    "configured": True,
    "connections": REQUEST["connections"],
    "sending": [{"number": 1, "egress": OTHER, "last": 1000, "sent": 1000}],
    "receiving": [{"number": 3, "ingress": OTHER, "last": 7, "accepted": 7, "duplicate": 7, "out_of_window": 0}],
}


def test_a_request_says_connections_with_slots_and_the_numbers_of_this_node() -> None:
    expected = NodeRequest({TO: 1, FROM: 2}, ((TO, Ingress(1000)),), ((FROM, Egress(7)),))
    assert read_request(REQUEST, IPv4Address(OWN)) == expected
    assert read_request({}, IPv4Address(OWN)) is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ([], "a request is '\\[\\]'; give an object"),
        ({"connections": 5}, "connections is '5'; give a list of rows of 4 values"),
        ({"connections": [[1, OWN]]}, "give a list of rows of 4 values"),
        ({"connections": [[1 << 24, OWN, OTHER, 1]]}, "from 0 to 16777215"),
        ({"connections": [[True, OWN, OTHER, 1]]}, "the number of a connection is 'True'"),
        ({"connections": [[1, OWN, "10.254.0.300", 1]]}, "the address of an end is '10.254.0.300'"),
        ({"connections": [[1, OWN, OTHER, 4096]]}, "a slot is '4096'"),
        ({**REQUEST, "sending": [[2, OTHER, 9]]}, f"connection 2 to {OTHER} is none of the request's"),
        ({**REQUEST, "sending": [[1, OTHER, 1 << 32]]}, "from 0 to 4294967295"),
        ({**REQUEST, "receiving": [[3, [7]]]}, "the last number of an end is"),
    ],
)
def test_what_is_no_request_is_refused_in_a_sentence(changed: Any, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        read_request(changed, IPv4Address(OWN))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ([], "no state: an answer is"),
        ({"error": "no\nsuch device"}, "says: no such device"),
        ({**STATE, "epoch": None}, "epoch is 'None'; give a value of type str"),
        ({**STATE, "configured": 1}, "configured is '1'; give a value of type bool"),
        ({**STATE, "connections": [[1], [None]]}, "give a list of rows of 4 values"),
        ({**STATE, "connections": [[1, OWN, OTHER, 1], ["1", OWN, OTHER, 1]]}, "the number of a connection is '1'"),
        (
            {**STATE, "sending": [{"number": [1], "egress": OTHER, "last": 1, "sent": 1}]},
            "the number of a connection is",
        ),
        ({**STATE, "sending": [{"number": 1, "egress": 5, "last": 1, "sent": 1}]}, "the address of an end is '5'"),
        (
            {**STATE, "sending": [{"number": 1, "egress": OTHER, "last": "x", "sent": 1}]},
            "the last number of an end is 'x'",
        ),
        ({**STATE, "sending": [{"number": 1, "egress": OTHER, "last": 1}]}, "sent is 'None'"),
        ({**STATE, "receiving": [7]}, "an entry of receiving is '7'"),
        ({**STATE, "receiving": [{"number": 3, "last": 1 << 32}]}, "from 0 to"),
    ],
)
def test_what_is_no_state_is_refused_in_a_sentence(changed: Any, said: str) -> None:
    with pytest.raises(NodeError, match=said):
        read_state(changed)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([OWN, OTHER]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*REQUEST, *STATE]), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("read", [lambda line: read_request(line, IPv4Address(OWN)), read_state])
@given(value=st.dictionaries(st.sampled_from([*REQUEST, *STATE, "error"]), ANYTHING))
def test_any_json_is_read_or_refused_shortly(read: Callable[[Any], object], value: Any) -> None:
    said = ""
    try:
        read(json.loads(json.dumps({**STATE, **value})))
    except (BadInputError, NodeError) as refusal:
        said = str(refusal)
    assert len(said) < 600
