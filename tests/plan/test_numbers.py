"""Addresses, ids and rows: numbers that schemes share must not collide and must come apart again."""

from __future__ import annotations

import ast
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import PlanError, PlanLimitError
from mininet_topos.ports import FIRST_LINK_PORT, HOST_PORT, MAX_PORT_NO
from ryu_apps.plan.addressing import MAX_HOSTS, dpid_of, host_ipv4, host_mac, hosts_of
from ryu_apps.plan.fields import FIELDS, openflow_match
from ryu_apps.plan.ids import (
    ALWAYS_LIVE_GROUP,
    KIND_MASK,
    SCHEME_MASK,
    TAG_MASK,
    Kind,
    Owner,
    Priority,
    cookie,
    pair_group,
    port_group,
    split_cookie,
)
from ryu_apps.plan.interpret import Packet, packet_meets
from ryu_apps.plan.order import canonical, match_order
from ryu_apps.plan.rows import RulePlan, match
from ryu_apps.schemes import all_schemes
from tests import schemes
from tests.plan.strategies import MATCHES, bits, plans
from tests.quality.layers import ROOT, source_files

NUMBERS = st.integers(1, MAX_HOSTS)
PORTS = st.integers(FIRST_LINK_PORT, MAX_PORT_NO)


@given(NUMBERS, NUMBERS)
def test_two_hosts_never_share_an_address(first: int, second: int) -> None:
    assert (host_ipv4(first) == host_ipv4(second)) == (first == second)
    assert (host_mac(first) == host_mac(second)) == (first == second)


@given(NUMBERS)
def test_a_host_address_is_10_0_k_and_its_mac_is_local_and_unicast(number: int) -> None:
    assert host_ipv4(number).to_bytes(4, "big") == bytes([10, 0, number // 256, number % 256])
    assert int(host_mac(number).split(":")[0], 16) & 3 == 2


@pytest.mark.parametrize("number", [0, -1, MAX_HOSTS + 1])
def test_a_host_number_outside_the_network_is_refused(number: int) -> None:
    with pytest.raises(PlanLimitError, match=str(number)):
        host_ipv4(number)


def test_every_switch_has_one_host_on_the_host_port() -> None:
    topology = load_topology("gscale")
    hosts = hosts_of(topology)
    assert list(hosts) == list(topology.node_names)
    assert {host.port_no for host in hosts.values()} == {HOST_PORT}
    assert [hosts[node].name for node in ("s1", "s12")] == ["h1", "h12"]
    assert hosts["s12"].address == "10.0.0.12"
    assert [dpid_of(topology, node) for node in topology.node_names] == list(range(1, 13))


@given(st.integers(1, 255), st.sampled_from(Kind), bits(16), bits(32))
def test_a_cookie_comes_apart_into_what_it_was_made_of(scheme: int, kind: Kind, tag: int, destination: int) -> None:
    made = cookie(scheme, kind, tag, destination)
    assert split_cookie(made) == (scheme, kind, tag, destination)
    assert made < 1 << 64
    assert made & SCHEME_MASK == cookie(scheme, Kind.PLANNED)
    assert made & KIND_MASK == cookie(scheme, kind) & KIND_MASK
    assert made & TAG_MASK == cookie(scheme, Kind.PLANNED, tag) & TAG_MASK


def test_two_owners_of_rows_never_share_a_number() -> None:
    owners = [*Owner, *(scheme.number for scheme in all_schemes().values() if scheme.number is not None)]
    assert len({cookie(owner, Kind.PLANNED) for owner in owners}) == len(owners)


def cookies_by_hand(source: str) -> list[int]:
    """Numbers that reach into the owner's byte of a cookie; all ones is a mask."""
    numbers = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [each for each in numbers if isinstance(each, int) and 1 << 48 <= each < (1 << 64) - 1]


def test_no_module_writes_a_cookie_by_hand() -> None:
    assert cookies_by_hand("_COOKIE = 0xA9_0E0E_0000_0000") == [0xA9_0E0E_0000_0000]
    product = [path for path in source_files() if path.parts[0] not in ("tests", "benchmarks")]
    assert product
    assert [path for path in product if cookies_by_hand((ROOT / path).read_text())] == []


@pytest.mark.parametrize(("tag", "destination"), [(1 << 16, 0), (-1, 0), (0, 1 << 32), (0, -1)])
def test_a_cookie_part_that_does_not_fit_is_refused(tag: int, destination: int) -> None:
    with pytest.raises(PlanError, match=str(tag or destination)):
        cookie(schemes.SDFAST, Kind.PLANNED, tag, destination)


@given(PORTS, PORTS, PORTS, PORTS)
def test_group_ids_of_different_purposes_never_meet(port: int, first: int, second: int, other: int) -> None:
    assert port_group(port) not in (ALWAYS_LIVE_GROUP, pair_group(first, second))
    assert pair_group(first, second) != ALWAYS_LIVE_GROUP
    assert (pair_group(first, second) == pair_group(first, other)) == (second == other)
    assert pair_group(first, second) <= 0xFFFFFF00


def test_priority_bands_are_in_the_order_of_their_purposes() -> None:
    order = ["GUARD", "EDGE", "DELIVER", "RECOVERY", "PRIMARY", "PUNT", "MISS"]
    found = [name for name in Priority.__members__ if name in order]
    assert sorted(found, key=lambda name: -Priority[name]) == order
    assert len(set(Priority)) == len(Priority.__members__)


def test_a_match_is_sorted_whatever_order_it_is_written_in() -> None:
    assert match(reg0=1, eth_type=2) == match(eth_type=2, reg0=1) == (("eth_type", 2, None), ("reg0", 1, None))
    assert match(reg0=(2, 6)) == (("reg0", 2, 6),)


@given(plans(), st.randoms())
def test_equal_plans_are_equal_values_after_canonical(plan: RulePlan, lot: random.Random) -> None:
    shuffled = RulePlan(
        plan.dpid,
        plan.node,
        tuple(lot.sample(plan.flows, len(plan.flows))),
        tuple(lot.sample(plan.groups, len(plan.groups))),
        backups=tuple(lot.sample(plan.backups, len(plan.backups))),
        local_ipv4=plan.local_ipv4,
    )
    assert canonical(shuffled) == canonical(plan)
    assert [row.table_id for row in plan.flows] == sorted(row.table_id for row in plan.flows)


@given(MATCHES, MATCHES)
def test_the_order_of_matches_tells_different_matches_apart(first: tuple, second: tuple) -> None:  # type: ignore[type-arg]
    assert (match_order(first) == match_order(second)) == (first == second)


@given(plans())
def test_rows_stand_by_table_and_in_each_table_the_highest_priority_first(plan: RulePlan) -> None:
    for row, following in pairwise(plan.flows):
        assert (row.table_id, -row.priority) <= (following.table_id, -following.priority)


TCI = st.sampled_from([0, 0x1000, 0x1005, 0x3005, 0x5FFF, 0xF001])
TCI_MASKS = st.sampled_from([None, 0x1000, 0x1FFF, 0xFFFF, 0xF000, 0x0FFF, 0xE000, 0x3000])


@given(TCI, TCI_MASKS, TCI)
def test_a_vlan_tci_match_and_its_openflow_form_let_the_same_packets_through(
    value: int, mask: int | None, tci: int
) -> None:
    nicira = (("vlan_tci", value if mask is None else value & mask, mask),)
    packet = Packet(vlan_tci=tci)
    assert packet_meets(packet, openflow_match(nicira)) == packet_meets(packet, nicira)


def test_a_match_without_vlan_tci_is_in_openflow_form_already() -> None:
    fields = match(eth_type=0x800, vlan_vid=0)
    assert openflow_match(fields) is fields


def test_every_field_with_a_prerequisite_names_fields_that_exist() -> None:
    for field in FIELDS.values():
        assert all(name in FIELDS for name, _ in field.needs)
        assert field.action_bits <= field.n_bits
