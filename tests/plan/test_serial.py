"""Plans survive the trip through JSON, and wrong JSON is refused in one sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.errors import BadInputError
from ryu_apps.plan import rows
from ryu_apps.plan.rows import (
    BackupRow,
    Bucket,
    ExtensionRow,
    FlowRow,
    GroupRow,
    QueueRow,
    RulePlan,
    match,
)
from ryu_apps.plan.serial import (
    canonical_row,
    canonical_text,
    flow_from_json,
    flow_to_json,
    group_from_json,
    group_to_json,
    parse_text,
    plan_from_json,
    plan_to_json,
)

NUMBERS = st.integers(0, 2**32 - 1)
PORTS = st.integers(1, 0xFEFF)
NAMES = st.sampled_from(["vlan_tci", "in_port", "reg2", "ipv4_dst", "eth_type"])
BITS = st.tuples(NAMES, st.integers(0, 31), st.integers(1, 32), NUMBERS)


def actions():
    """Every class of action that rows.py knows: a new one without a strategy fails the test below."""
    return st.one_of(
        *(st.from_type(kind) for kind in ACTION_KINDS),
    )


ACTION_KINDS = rows.Action.__args__
MATCHES = st.dictionaries(NAMES, st.one_of(NUMBERS, st.tuples(NUMBERS, NUMBERS))).map(lambda found: match(**found))
ACTIONS = st.lists(actions(), max_size=4).map(tuple)
FLOWS = st.builds(
    FlowRow,
    st.integers(0, 254),
    st.integers(0, 65535),
    MATCHES,
    ACTIONS,
    ACTIONS,
    st.none() | st.integers(0, 254),
    st.integers(0, 2**64 - 1),
    st.integers(0, 65535),
    st.booleans(),
)
BUCKETS = st.builds(Bucket, ACTIONS, st.none() | PORTS, st.none() | NUMBERS, st.integers(0, 65535))
GROUPS = st.builds(
    GroupRow,
    NUMBERS,
    st.sampled_from(["all", "select", "indirect", "ff"]),
    st.lists(BUCKETS, max_size=3).map(tuple),
)
RATES = st.none() | st.floats(0.001, 1e6)
TAGS = st.lists(st.integers(1, 4094), max_size=3).map(tuple)
PLANS = st.builds(
    RulePlan,
    st.integers(1, 2**64 - 1),
    st.text(max_size=8),
    st.lists(FLOWS, max_size=3).map(tuple),
    st.lists(GROUPS, max_size=2).map(tuple),
    st.lists(st.builds(QueueRow, PORTS, NUMBERS, NUMBERS, RATES, RATES), max_size=2).map(tuple),
    st.lists(
        st.builds(
            BackupRow, NUMBERS, st.none() | NUMBERS, st.integers(0, 4094), PORTS, st.integers(0, 2), st.booleans(), TAGS
        ),
        max_size=3,
    ).map(tuple),
    st.lists(st.builds(ExtensionRow, NUMBERS, PORTS, NUMBERS), max_size=3).map(tuple),
    st.lists(NUMBERS, max_size=2).map(tuple),
    st.tuples(st.integers(0, 100), st.integers(0, 4)),
)


@given(PLANS)
def test_plan_survives_the_trip_through_json_text(plan):
    assert plan_from_json(parse_text(canonical_text(plan_to_json(plan)))) == plan


@given(FLOWS)
def test_flow_survives_the_trip_through_json_text(row):
    assert flow_from_json(json.loads(canonical_row(row))) == row


@given(GROUPS)
def test_group_survives_the_trip_through_json_text(row):
    assert group_from_json(json.loads(canonical_row(row))) == row


@given(PLANS, PLANS)
def test_canonical_texts_agree_exactly_when_plans_do(one, other):
    texts = {canonical_text(plan_to_json(plan)) for plan in (one, other)}
    assert (len(texts) == 1) == (one == other)


@given(FLOWS)
def test_canonical_text_is_ascii_without_blanks_between_tokens(row):
    text = canonical_row(row)
    assert text.isascii()
    assert text == canonical_text(json.loads(text))


def test_cookie_is_a_string_so_that_no_json_reader_loses_its_low_bits():
    assert flow_to_json(FlowRow(0, 1, (), cookie=2**64 - 1))["cookie"] == "0xffffffffffffffff"


GOOD_FLOW = flow_to_json(FlowRow(0, 1, match(eth_type=0x800), (rows.Output(3),)))
GOOD_GROUP = group_to_json(GroupRow(1, "ff", (Bucket((rows.Output(3),), watch_port=3),)))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"table_id": "0"}, "whole number"),
        ({"table_id": True}, "whole number"),
        ({"priority": None}, "whole number"),
        ({"match": [1]}, "match"),
        ({"match": {"eth_type": "x"}}, "whole number"),
        ({"match": {"eth_type": [1, 2, 3]}}, "whole number"),
        ({"apply_actions": {}}, "list"),
        ({"apply_actions": ["Output"]}, "none of"),
        ({"apply_actions": [{"action": "Fly"}]}, "none of"),
        ({"apply_actions": [{"action": "Output"}]}, "lacks field 'port_no'"),
        ({"apply_actions": [{"action": "Output", "port_no": 1, "queue": 2}]}, "no field 'queue'"),
        ({"goto_table": 1.5}, "whole number"),
        ({"cookie": 7}, "string"),
        ({"cookie": "seven"}, "hexadecimal"),
        ({"send_flow_removed": 1}, "true nor false"),
        ({"colour": "red"}, "no field 'colour'"),
    ],
)
def test_wrong_flow_is_refused_in_a_sentence_that_names_it(change, word):
    with pytest.raises(BadInputError, match=word):
        flow_from_json({**GOOD_FLOW, **change})


def test_wrong_bucket_inside_a_group_is_refused():
    with pytest.raises(BadInputError, match="is not an object"):
        group_from_json({**GOOD_GROUP, "buckets": [3]})


@pytest.mark.parametrize("value", [None, 3, "x", []])
def test_something_that_is_no_object_is_refused(value):
    with pytest.raises(BadInputError, match="not an object"):
        plan_from_json(value)


@pytest.mark.parametrize("field", ["dpid", "node"])
def test_missing_field_is_named(field):
    value = plan_to_json(RulePlan(1, "s1"))
    del value[field]
    with pytest.raises(BadInputError, match=field):
        plan_from_json(value)


def test_text_that_is_not_json_is_refused():
    with pytest.raises(BadInputError, match="not JSON"):
        parse_text("{")


def test_queue_rate_that_is_text_is_refused():
    value = plan_to_json(RulePlan(1, "s1", queues=(QueueRow(1, 2, 3, 4.5),)))
    value["queues"][0]["min_rate_mbps"] = "fast"
    with pytest.raises(BadInputError, match="neither a number nor null"):
        plan_from_json(value)
