"""Random rows, every action and field among them."""

from __future__ import annotations

from hypothesis import strategies as st

from ryu_apps.openflow.actions import HASH_ALGORITHMS, HASH_FIELDS
from ryu_apps.openflow.fields import WIRE_FIELDS
from ryu_apps.plan.fields import FIELDS
from ryu_apps.plan.rows import (
    GROUP_TYPES,
    Bucket,
    Controller,
    FlowRow,
    Group,
    GroupRow,
    Learn,
    LearnLoad,
    LearnMatch,
    Load,
    Move,
    Multipath,
    Output,
    PopMpls,
    PopVlan,
    PushMpls,
    PushVlan,
    Recirculate,
    Resubmit,
    SetField,
    SetQueue,
)

U8, U16, U32, U64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
MATCHABLE = sorted(name for name, field in WIRE_FIELDS.items() if field.match_id is not None)


@st.composite
def match_fields(draw):
    name = draw(st.sampled_from(MATCHABLE))
    bits = FIELDS[name].n_bits
    value = draw(st.integers(0, 2**bits - 1))
    mask = draw(st.none() | st.integers(1, 2**bits - 1))
    return name, value if mask is None else value & mask, mask


matches = st.lists(match_fields(), max_size=6, unique_by=lambda given: given[0]).map(
    lambda fields: tuple(sorted(fields))
)


@st.composite
def parts(draw, made):
    name = draw(st.sampled_from(sorted(WIRE_FIELDS)))
    width = 8 * WIRE_FIELDS[name].subfield_bytes
    n_bits = draw(st.integers(1, min(width, 64)))
    first_bit = draw(st.integers(0, width - n_bits))
    return made(name, first_bit, n_bits, draw(st.integers(0, 2**n_bits - 1)))


@st.composite
def moves(draw):
    src, dst = (draw(st.sampled_from(sorted(WIRE_FIELDS))) for _ in range(2))
    widths = [8 * WIRE_FIELDS[name].subfield_bytes for name in (src, dst)]
    n_bits = draw(st.integers(1, min(widths)))
    first_bits = [draw(st.integers(0, width - n_bits)) for width in widths]
    return Move(src, first_bits[0], dst, first_bits[1], n_bits)


@st.composite
def set_fields(draw):
    name = draw(st.sampled_from(MATCHABLE))
    return SetField(name, draw(st.integers(0, 2 ** FIELDS[name].n_bits - 1)))


learns = st.builds(
    Learn,
    U8,
    U16,
    U64,
    st.lists(parts(LearnMatch), max_size=4).map(tuple),
    st.lists(parts(LearnLoad), max_size=4).map(tuple),
    U16,
    U16,
)
actions_but_learn = st.one_of(
    st.builds(Output, U32),
    st.builds(Group, U32),
    set_fields(),
    parts(Load),
    moves(),
    st.just(PushVlan()),
    st.just(PopVlan()),
    st.just(PushMpls()),
    st.builds(PopMpls, U16),
    st.builds(SetQueue, U32),
    st.builds(Resubmit, U8),
    st.builds(Recirculate, U8),
    st.builds(Controller, U16),
    st.builds(
        Multipath,
        st.sampled_from(HASH_FIELDS),
        U16,
        st.sampled_from(HASH_ALGORITHMS),
        st.integers(1, 65536),
        st.sampled_from(["reg0", "reg3", "reg7"]),
    ),
)
actions = actions_but_learn | learns
action_lists = st.lists(actions, max_size=5).map(tuple)
flow_rows = st.builds(
    FlowRow,
    st.integers(0, 254),
    U16,
    matches,
    action_lists,
    action_lists,
    st.none() | st.integers(0, 254),
    U64,
    U16,
    st.booleans(),
)
ports = st.none() | st.integers(1, 0xFEFF)
# Ryu leaves the padding of a learn away when it ends a bucket; Open vSwitch takes no learn in buckets anyway.
buckets = st.builds(Bucket, st.lists(actions_but_learn, max_size=5).map(tuple), ports, ports, U16)
group_rows = st.builds(
    GroupRow, st.integers(0, 0xFFFFFF00), st.sampled_from(GROUP_TYPES), st.lists(buckets, max_size=4).map(tuple)
)
