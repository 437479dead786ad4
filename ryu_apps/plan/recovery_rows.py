"""SD-FAST's flow rows, made from backup rows: used by the planner and by the switch-local agent."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from mininet_topos.ports import HOST_PORT
from ryu_apps.plan.ids import VLAN_PRESENT, Kind, Priority, Table, cookie, port_group
from ryu_apps.plan.rows import (
    Action,
    BackupRow,
    FlowRow,
    Group,
    Learn,
    LearnLoad,
    LearnMatch,
    Load,
    Match,
    Output,
    PopVlan,
    match,
)

ETH_TYPE_IPV4 = 0x0800
OWNER = 2  # number of SD-FAST, whose rows, learned ones and agents' too, schemes built on it hold
UNTAGGED = 0  # OFPVID_NONE
ANY_TAG = (VLAN_PRESENT, VLAN_PRESENT)
FORGET_IN_PORT = Load("in_port", 0, 16, 0)
PCP_FIRST_BIT, PCP_BITS = 13, 3
TCI_BITS = PCP_FIRST_BIT + PCP_BITS
TAG_ID_BITS = 0xFFF  # of a TCI


class LearnedTag(NamedTuple):
    """What a switch learns about packets of one commodity that carry `tag_in` (0: no tag): the tag that they get.

    Attributes
    ----------
    source
        None for every source.
    status
        `ids.Status` that comes with the tag.
    rank
        Of the rows that a packet meets, the one of the highest rank decides.
    """

    destination: int
    source: int | None
    tag_in: int
    tag_id: int
    status: int
    rank: int = 0


def tag_tci(tag_id: int, status: int) -> int:
    """802.1Q TCI of a tag: PCP = status, CFI = present, VLAN id = failed-set id."""
    return status << PCP_FIRST_BIT | VLAN_PRESENT | tag_id


def split_tci(tci: int) -> tuple[int, int]:
    """(tag id, status) of a TCI."""
    return tci & TAG_ID_BITS, tci >> PCP_FIRST_BIT & 0x7


@lru_cache(maxsize=1 << 16)  # switches share most matches
def commodity_match(destination: int, source: int | None, tag_id: int) -> Match:
    """Match of a commodity's packets that carry `tag_id` (0: no tag at all)."""
    vlan_vid = VLAN_PRESENT | tag_id if tag_id else UNTAGGED
    if source is None:
        return match(eth_type=ETH_TYPE_IPV4, vlan_vid=vlan_vid, ipv4_dst=destination)
    return match(eth_type=ETH_TYPE_IPV4, vlan_vid=vlan_vid, ipv4_dst=destination, ipv4_src=source)


def untagged_row(backup: BackupRow, hard_timeout_s: int = 0) -> FlowRow:
    """Agent mode: untagged packets of the commodity get the tag and take the backup port."""
    return _agent_row(backup, 0, Table.CLASSIFY, hard_timeout_s)


def tagged_row(backup: BackupRow, tag_id_in: int | None = None, hard_timeout_s: int = 0) -> FlowRow:
    """Agent mode: packets tagged `tag_id_in` (default: the row's own set) take the backup port."""
    return _agent_row(backup, backup.tag_id if tag_id_in is None else tag_id_in, Table.ROUTE, hard_timeout_s)


def rows_on_punt(backup: BackupRow, hard_timeout_s: int = 0) -> tuple[FlowRow, ...]:
    """Agent mode: all rows that a tagged packet of this (commodity, failed set) calls for."""
    rows = [tagged_row(backup, None, hard_timeout_s)]
    if backup.crosses:
        rows.append(untagged_row(backup, hard_timeout_s))
    rows.extend(tagged_row(backup, tag_id, hard_timeout_s) for tag_id in backup.replaces)
    return tuple(rows)


def deliver_seen_row(tag_id: int, source: int, local: int, hard_timeout_s: int = 0) -> FlowRow:
    """Agent mode: the destination has swung the reverse path, so this flow is delivered without a copy."""
    return FlowRow(
        Table.ROUTE,
        Priority.DELIVER_SEEN,
        commodity_match(local, source, tag_id),
        (PopVlan(), Output(HOST_PORT)),
        cookie=cookie(OWNER, Kind.AGENT, tag_id, local),
        hard_timeout_s=hard_timeout_s,
        send_flow_removed=True,
    )


def tags_learned_from(backup: BackupRow) -> tuple[LearnedTag, ...]:
    """What a packet that takes the row teaches the switch, when nobody notifies it: the packet's own tag."""
    destination, source, status = backup.destination, backup.source, backup.status
    tags_in = (0,) * backup.crosses + backup.replaces
    return tuple([LearnedTag(destination, source, tag_in, backup.tag_id, status) for tag_in in tags_in])


def learned_route_row(
    backup: BackupRow, learned: Iterable[LearnedTag], hard_timeout_s: int = 0, *, pcp_bits: int = PCP_BITS
) -> FlowRow:
    """Learned mode: route packets that carry the set, and teach this switch about it in passing.

    `pcp_bits` are those of the PCP that the status takes; `learn` has the same.
    """
    learns: tuple[Action, ...] = tuple([learn(each, hard_timeout_s, pcp_bits) for each in learned])
    return FlowRow(
        Table.ROUTE,
        Priority.PRIMARY,
        commodity_match(backup.destination, backup.source, backup.tag_id),
        learns + _onward(backup.status, backup.out_port, pcp_bits),
        cookie=cookie(OWNER, Kind.PLANNED, backup.tag_id, backup.destination),
    )


@lru_cache(maxsize=1 << 12)  # one value for all rows that do the same
def _onward(status: int, out_port: int, pcp_bits: int) -> tuple[Action, ...]:
    return Load("vlan_tci", PCP_FIRST_BIT, pcp_bits, status), Group(port_group(out_port))


def _agent_row(backup: BackupRow, tag_id_in: int, table: Table, hard_timeout_s: int) -> FlowRow:
    return FlowRow(
        table,
        Priority.RECOVERY,
        commodity_match(backup.destination, backup.source, tag_id_in),
        (
            FORGET_IN_PORT,
            Load("vlan_tci", 0, TCI_BITS, tag_tci(backup.tag_id, backup.status)),
            Output(backup.out_port),
        ),
        cookie=cookie(OWNER, Kind.AGENT, backup.tag_id, backup.destination),
        hard_timeout_s=hard_timeout_s,
        send_flow_removed=True,
    )


@lru_cache(maxsize=1 << 16)  # a switch learns the same from many failed sets
def learn(learned: LearnedTag, hard_timeout_s: int, pcp_bits: int = PCP_BITS) -> Learn:
    """Learned rows only load a tag; the ROUTE table then picks the port, so a later failure of that port is met too."""
    tag_in = learned.tag_in
    tci_in = LearnMatch("vlan_tci", 0, 13, VLAN_PRESENT | tag_in) if tag_in else LearnMatch("vlan_tci", 12, 1, 0)
    matches = [LearnMatch("eth_type", 0, 16, ETH_TYPE_IPV4), tci_in, LearnMatch("ipv4_dst", 0, 32, learned.destination)]
    if learned.source is not None:
        matches.append(LearnMatch("ipv4_src", 0, 32, learned.source))
    return Learn(
        Table.LEARNED,
        Priority.RECOVERY + learned.rank,
        cookie(OWNER, Kind.LEARNED, learned.tag_id, learned.destination),
        tuple(matches),
        (LearnLoad("vlan_tci", 0, PCP_FIRST_BIT + pcp_bits, tag_tci(learned.tag_id, learned.status)),),
        hard_timeout_s=hard_timeout_s,
    )
