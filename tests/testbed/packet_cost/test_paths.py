"""The ways whose cost is compared: each exists, leaves by one port, and is what its name says."""

from __future__ import annotations

import pytest

from experiments.testbed.packet_cost.decide.paths import PATHS, CostPath, behind_a_state_table, cost_paths, find_scene
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import PlanError
from mininet_topos.ports import HOST_PORT
from mininet_topos.toy import figure2, star
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.ids import Status, Table
from ryu_apps.plan.interpret import Packet, SwitchModel, interpret_switch
from ryu_apps.plan.options import PlanOptions
from ryu_apps.plan.recovery_rows import split_tci
from ryu_apps.plan.rows import Group, Learn
from ryu_apps.schemes import plan_network


def ways(name: str) -> dict[str, CostPath]:
    """Ways of a catalogue network by name."""
    return {path.name: path for path in cost_paths(load_topology(name))}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["darkstrand", "usnet"])
def test_every_way_is_there_in_the_order_of_the_table(name: str) -> None:
    assert list(ways(name)) == list(PATHS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["darkstrand", "usnet"])
def test_fail_free_ways_all_leave_by_the_same_port_without_a_tag(name: str) -> None:
    found = ways(name)
    fail_free = ("plain", "group", "two_tables", "two_tables_group", "cb", "agent", "learned")
    assert len({found[each].out_port for each in fail_free}) == 1
    assert {found[each].tag_out for each in fail_free} == {0}


@pytest.mark.parametrize("name", ["darkstrand", "usnet"])
def test_ways_after_a_failure_push_a_tag_and_leave_by_another_port(name: str) -> None:
    found = ways(name)
    for each in ("learned_rule", "agent_rule", "cb_turned", "cb_tagged", "learned_tagged"):
        assert found[each].out_port != found["plain"].out_port, each
        assert split_tci(found[each].tag_out)[1] in tuple(Status), each
    assert found["learned_rule"].tag_out == found["agent_rule"].tag_out == found["learned_tagged"].tag_out


def test_only_the_turned_way_meets_a_failed_port_and_it_is_the_primary_one() -> None:
    found = ways("darkstrand")
    assert {path.name for path in found.values() if path.failed_port is not None} == {"cb_turned"}
    assert found["cb_turned"].failed_port == found["plain"].out_port


def test_ways_match_as_many_rules_as_they_have_tables() -> None:
    hops = {name: path.hops for name, path in ways("darkstrand").items()}
    assert hops["plain"] == hops["group"] == hops["agent"] == hops["agent_rule"] == 1
    assert hops["two_tables"] == hops["two_tables_group"] == hops["cb"] == 2
    assert hops["learned_rule"] == hops["learned"] + 1
    assert hops["cb_turned"] == max(hops.values())


def test_cb_rows_never_learn_and_learned_rows_do() -> None:
    found = ways("darkstrand")
    teaching = {
        name: any(isinstance(action, Learn) for row in path.plan.flows for action in row.apply_actions)
        for name, path in found.items()
    }
    assert not teaching["cb"]
    assert teaching["learned"]
    assert any(isinstance(action, Group) for row in found["cb"].plan.flows for action in row.apply_actions)


def test_a_state_table_in_front_changes_no_outcome() -> None:
    topology = figure2()
    hosts = hosts_of(topology)
    for scheme in ("shortest", "ffg"):
        for plan in plan_network(scheme, topology, PlanOptions()).values():
            behind = behind_a_state_table(plan)
            assert {row.table_id for row in behind.flows} == {Table.CLASSIFY, Table.ROUTE}
            for node in set(hosts) - {plan.node}:
                packet = Packet(hosts[plan.node].ipv4, hosts[node].ipv4)
                answers = [
                    interpret_switch(SwitchModel(each), packet, HOST_PORT, frozenset(range(9))).outputs
                    for each in (plan, behind)
                ]
                assert answers[0] == answers[1] != ()


def test_a_tree_has_no_scene_because_nothing_can_be_recovered() -> None:
    topology = star()
    with pytest.raises(PlanError, match="longer cycles"):
        find_scene(topology, plan_network("sdfast", topology, PlanOptions(max_failures=1)))
