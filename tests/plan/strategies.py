"""Random plans that break no rule of `check`, and random failures of the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from hypothesis import strategies as st

from ryu_apps.plan import rows
from ryu_apps.plan.diff import groups_named_by, groups_used_by
from ryu_apps.plan.ids import ALWAYS_LIVE_GROUP, OFPP_IN_PORT, Kind, Table, cookie
from ryu_apps.plan.order import canonical
from ryu_apps.plan.rows import Bucket, FlowRow, GroupRow, Match, RulePlan, match
from tests import schemes

PORTS = st.integers(1, 6)
TABLES = st.sampled_from([int(table) for table in Table])
ADDRESSES = st.integers(0x0A000001, 0x0A000004)
ANY_TAG = (0x1000, 0x1000)
TAGS = st.sampled_from([0, 0x1001, 0x1FFE, ANY_TAG])


@cache  # as those below: to build a strategy takes longer than to draw from it
def bits(n_bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << n_bits) - 1)


@st.composite
def masked(draw: st.DrawFn, n_bits: int) -> tuple[int, int]:
    mask = draw(st.integers(1, (1 << n_bits) - 2))
    return draw(bits(n_bits)) & mask, mask


ADDRESS_TERMS = ADDRESSES | masked(32)
MATCHES: st.SearchStrategy[Match] = st.one_of(
    st.builds(match),
    st.builds(match, in_port=PORTS, vlan_vid=TAGS),
    st.builds(match, eth_type=st.just(0x800), vlan_vid=TAGS, ipv4_dst=ADDRESSES),
    st.builds(match, eth_type=st.just(0x800), vlan_vid=TAGS, ipv4_dst=ADDRESS_TERMS, ipv4_src=ADDRESS_TERMS),
    st.builds(match, eth_type=st.just(0x800), ip_proto=st.just(17), udp_dst=bits(16) | masked(16)),
    st.builds(match, eth_type=st.just(0x800), ip_proto=st.just(6), tcp_src=bits(16), ip_dscp=bits(6)),
    st.builds(match, eth_type=st.just(0x806), arp_op=st.just(1), arp_tpa=ADDRESSES),
    st.builds(match, eth_type=st.just(0x8847), mpls_label=bits(20), mpls_tc=bits(3)),
    st.builds(match, vlan_vid=st.just(ANY_TAG), vlan_pcp=bits(3), reg2=bits(32) | masked(32)),
    st.builds(match, eth_dst=bits(48) | masked(48), metadata=bits(64) | masked(64)),
)

LEARNS = st.builds(
    rows.Learn,
    st.just(int(Table.LEARNED)),
    st.just(30000),
    st.builds(lambda tag: cookie(schemes.SDFAST, Kind.LEARNED, tag), bits(12)),
    st.builds(
        lambda tag, address: (
            rows.LearnMatch("eth_type", 0, 16, 0x800),
            tag,
            rows.LearnMatch("ipv4_dst", 0, 32, address),
        ),
        st.just(rows.LearnMatch("vlan_tci", 12, 1, 0))
        | bits(12).map(lambda tag: rows.LearnMatch("vlan_tci", 0, 13, 0x1000 | tag)),
        ADDRESSES,
    ),
    st.builds(lambda tci: (rows.LearnLoad("vlan_tci", 0, 16, 0x1000 | tci),), bits(12)),
    st.just(0),
    st.integers(0, 9),
)


@cache
def single_actions(group_ids: tuple[int, ...]) -> st.SearchStrategy[tuple[rows.Action, ...]]:
    """Actions that any packet can meet; some need company, so each is a short list."""
    groups = [st.sampled_from(group_ids).map(lambda group_id: (rows.Group(group_id),))] if group_ids else []
    return st.one_of(
        st.builds(lambda port: (rows.Output(port),), PORTS | st.just(OFPP_IN_PORT)),
        *groups,
        st.builds(lambda value: (rows.SetField("reg1", value),), bits(32)),
        st.builds(lambda value: (rows.Load("reg2", 4, 8, value),), bits(8)),
        st.builds(lambda value: (rows.Load("reg2", 0, 32, value),), bits(32)),
        st.just((rows.Load("in_port", 0, 16, 0),)),
        st.builds(lambda tag: (rows.Load("vlan_tci", 0, 16, 0x1000 | tag),), bits(12)),
        st.just((rows.Move("reg1", 0, "reg2", 8, 16),)),
        st.builds(lambda tag: (rows.PushVlan(), rows.SetField("vlan_vid", 0x1000 | tag), rows.PopVlan()), bits(12)),
        st.builds(
            lambda label, tc: (
                rows.PushMpls(),
                rows.SetField("mpls_label", label),
                rows.SetField("mpls_tc", tc),
                rows.PopMpls(0x800),
            ),
            bits(20),
            bits(3),
        ),
        st.builds(lambda queue_id: (rows.SetQueue(queue_id),), bits(3)),
        st.builds(lambda table_id: (rows.Resubmit(table_id),), TABLES),
        st.builds(lambda controller_id: (rows.Controller(controller_id),), bits(16)),
        st.just((rows.Multipath("symmetric_l3l4+udp", 1024, "modulo_n", 1024, "reg0"),)),
        LEARNS.map(lambda learn: (learn,)),
    )


@cache
def action_lists(group_ids: tuple[int, ...]) -> st.SearchStrategy[tuple[rows.Action, ...]]:
    return st.lists(single_actions(group_ids), max_size=3).map(lambda lists: sum(lists, ()))


@cache
def bucket_lists(group_type: str, lower_ids: tuple[int, ...]) -> st.SearchStrategy[list[Bucket]]:
    """Buckets of a group."""
    size = (1, 1) if group_type == "indirect" else (1, 3)
    return st.lists(buckets(group_type, lower_ids), min_size=size[0], max_size=size[1])


def buckets(group_type: str, lower_ids: tuple[int, ...]) -> st.SearchStrategy[Bucket]:
    """Buckets of a group that may use only groups of lower ids, so that no circle closes."""
    finals = [PORTS.map(rows.Output), TABLES.map(rows.Resubmit)]
    finals += [st.sampled_from(lower_ids).map(rows.Group)] if lower_ids else []
    loads = st.builds(lambda value: (rows.Load("reg2", 0, 32, value),), bits(32)) | st.just(())
    actions = st.builds(lambda load, final: (*load, final), loads, st.one_of(*finals)) | st.just(())
    if group_type == "select":
        return st.builds(Bucket, actions, weight=st.integers(1, 9))
    if group_type == "ff":
        watched = st.sampled_from(lower_ids) if lower_ids else st.nothing()
        return st.builds(Bucket, actions, watch_port=PORTS) | st.builds(Bucket, actions, watch_group=watched)
    return st.builds(Bucket, actions)


GROUP_IDS = st.sets(st.integers(2, 9) | st.just(ALWAYS_LIVE_GROUP), max_size=4)
GROUP_TYPES = st.sampled_from(["all", "select", "indirect", "ff"])


@st.composite
def group_lists(draw: st.DrawFn) -> list[GroupRow]:
    """Groups without circles: each uses lower ids, whose order among the types is random."""
    made: list[GroupRow] = []
    for group_id in sorted(draw(GROUP_IDS)):
        group_type = draw(GROUP_TYPES)
        lower_ids = tuple(row.group_id for row in made)
        made.append(GroupRow(group_id, group_type, tuple(draw(bucket_lists(group_type, lower_ids)))))
    return made


def backup_row(destination: int, source: int | None, tag_id: int, out_port: int) -> rows.BackupRow:
    path = (2, 0, 1) if tag_id > 5 else ()
    return rows.BackupRow(destination, source, tag_id, out_port, 1 if tag_id else 0, tag_id > 3, path=path)


GROUP_LISTS = group_lists()
MATCH_LISTS = st.lists(MATCHES, max_size=8)
WRITE_ACTIONS = st.just(()) | PORTS.map(lambda port: (rows.SetQueue(1), rows.Output(port)))
GOTO_TABLES = {
    int(table): st.none() | st.sampled_from([int(later) for later in Table if later > table] or [None])
    for table in Table
}
HARD_TIMEOUTS_S = st.sampled_from([0, 0, 5])
BOOLEANS = st.booleans()
BACKUP_LISTS = st.lists(st.builds(backup_row, ADDRESSES, st.none() | ADDRESSES, bits(3), PORTS), max_size=3)


@st.composite
def plans(draw: st.DrawFn) -> RulePlan:
    """A sound plan. Each signature (fields and masks) has a priority of its own, so nothing overlaps."""
    groups = draw(GROUP_LISTS)
    ids = tuple(row.group_id for row in groups)
    flows: dict[tuple[int, int, Match], FlowRow] = {}
    priorities: dict[tuple[tuple[str, int | None], ...], int] = {}
    for fields in draw(MATCH_LISTS):
        signature = tuple((name, mask) for name, _, mask in fields)
        table_id = draw(TABLES)
        row = FlowRow(
            table_id,
            priorities.setdefault(signature, 20000 + len(priorities)),
            fields,
            draw(action_lists(ids)),
            draw(WRITE_ACTIONS),
            draw(GOTO_TABLES[table_id]),
            cookie=cookie(schemes.SDFAST, Kind.PLANNED, draw(bits(4))),
            hard_timeout_s=draw(HARD_TIMEOUTS_S),
            send_flow_removed=draw(BOOLEANS),
        )
        flows[row.key] = row
    backups = draw(BACKUP_LISTS)
    unique = {row.key: row for row in backups}
    return canonical(
        RulePlan(4, "s4", tuple(flows.values()), tuple(groups), (), tuple(unique.values()), local_ipv4=(0x0A000004,))
    )


PLANS = plans()
CHANGES: dict[str, Callable[[FlowRow], list[FlowRow]]] = {
    "keep": lambda row: [row],
    "drop": lambda _: [],
    "rename": lambda row: [replace(row, cookie=row.cookie ^ 1)],
    "empty": lambda row: [replace(row, apply_actions=(), write_actions=(), goto_table=None)],
}
CHANGE_NAMES = st.sampled_from(sorted(CHANGES))


@st.composite
def plan_pairs(draw: st.DrawFn) -> tuple[RulePlan, RulePlan]:
    """Two sound plans of one switch, unknown_groups or relatives: some rows kept, some changed, some gone."""
    old = draw(PLANS)
    if draw(BOOLEANS):
        return old, draw(PLANS)
    flows = [row for old_row in old.flows for row in CHANGES[draw(CHANGE_NAMES)](old_row)]
    groups = [replace(row, buckets=row.buckets[:1]) if draw(BOOLEANS) else row for row in old.groups]
    used = groups_named_by(action for row in flows for action in (*row.apply_actions, *row.write_actions))
    used = used.union(*(groups_used_by(row) for row in groups))
    new = replace(old, flows=tuple(flows), groups=tuple(row for row in groups if row.group_id in used))
    return (old, new) if draw(BOOLEANS) else (new, old)
