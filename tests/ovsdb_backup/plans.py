"""Plans that look like real ones: unique keys, fields within the schema's bounds."""

from __future__ import annotations

from hypothesis import strategies as st

from ryu_apps.plan.rows import (
    BackupRow,
    Bucket,
    ExtensionRow,
    FlowRow,
    GroupRow,
    Load,
    Output,
    RulePlan,
    match,
)

IPV4 = st.integers(0, 2**32 - 1)
PORTS = st.integers(1, 0xFEFF)
TAGS = st.integers(0, 4094)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
PORT_LINKS = st.dictionaries(PORTS, NAMES, max_size=4)
ASCENDING_TAGS = st.sets(st.integers(1, 4094), max_size=3).map(lambda tags: tuple(sorted(tags)))


def tuples_of(rows, key):
    """Tuples of rows that differ in `key`, as the rows of a plan do."""
    return st.lists(rows, max_size=4, unique_by=key).map(tuple)


ACTIONS = st.lists(st.builds(Output, PORTS) | st.just(Load("vlan_tci", 0, 16, 0x1003)), max_size=3).map(tuple)
MATCHES = st.dictionaries(st.sampled_from(["eth_type", "vlan_vid", "ipv4_dst"]), IPV4).map(lambda f: match(**f))
FLOWS = st.builds(
    FlowRow, st.integers(0, 254), st.integers(0, 65535), MATCHES, ACTIONS, cookie=st.integers(0, 2**64 - 1)
)
BACKUPS = st.builds(BackupRow, IPV4, st.none() | IPV4, TAGS, PORTS, st.integers(0, 2), st.booleans(), ASCENDING_TAGS)
GROUPS = st.builds(GroupRow, IPV4, st.just("all"), st.lists(st.builds(Bucket, ACTIONS), max_size=2).map(tuple))
PLANS = st.builds(
    RulePlan,
    st.integers(1, 2**64 - 1),
    NAMES,
    tuples_of(FLOWS, lambda row: row.key),
    tuples_of(GROUPS, lambda row: row.group_id),
    st.just(()),  # no agent can set queues, so none are kept
    tuples_of(BACKUPS, lambda row: row.key),
    tuples_of(st.builds(ExtensionRow, TAGS, PORTS, TAGS), lambda row: (row.tag_id, row.port_no)),
    st.sets(IPV4, max_size=2).map(lambda found: tuple(sorted(found))),
    st.tuples(st.integers(0, 100), st.integers(0, 4)),
)


def plan_with(n_rows: int, out_port: int = 2) -> RulePlan:
    """A plan whose backup rows all lead to one port, which tells plans apart."""
    backups = tuple(BackupRow(1000 + number, None, 1, out_port, 2, True) for number in range(n_rows))
    flows = (FlowRow(0, 20000, match(eth_type=0x800, ipv4_dst=7), (Output(out_port),)),)
    return RulePlan(1, "s1", flows, backups=backups, local_ipv4=(7,), tag_space=(5, 1))


SMALL_PLAN = plan_with(3)
