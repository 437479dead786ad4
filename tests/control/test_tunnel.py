"""What ingress switches are notified of: always what the pure plan says, whatever the history."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.catalogue import load_topology
from ryu_apps.control.decide.tunnel import (
    Failovers,
    FailoverState,
    compared_slots,
    cut_off,
    moved_slots,
    tunnels_to_json,
)
from ryu_apps.openflow.wire import FlowCommand
from ryu_apps.plan.kuijia.history import next_history
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.kuijia.sources import equal_commodities
from ryu_apps.schemes import find_tunnel_scheme, tunnel_schemes
from tests.examples import examples
from tests.openflow.decode_sent import decode_flow_mod
from tests.plan.kuijia.networks import figure1, figure1_traffic

THETA = load_topology("theta")
PLANNERS = {
    name: TunnelPlanner(scheme, THETA, equal_commodities(THETA), TunnelOptions())
    for name, scheme in tunnel_schemes().items()
}
FAILOVERS = {name: Failovers(planner) for name, planner in PLANNERS.items()}
FAILED = st.frozensets(st.sampled_from(THETA.link_ids), max_size=3)


@given(st.lists(FAILED, max_size=6))
def test_a_history_holds_what_is_failed_now_in_the_order_in_which_it_failed(states):
    history, order = (), []
    for failed in states:
        history = next_history(history, failed)
        order = [link for link in order if link in failed]
        order += [link for link in failed if link not in order]
        assert frozenset().union(*history) == failed
        assert sum(map(len, history)) == len(failed)
        assert all(history)
        at = {link: number for number, event in enumerate(history) for link in event}
        assert [at[link] for link in order] == sorted(at.values())
        assert next_history(history, failed) == history


@pytest.mark.parametrize("name", tunnel_schemes())
@examples(20)
@given(states=st.lists(FAILED, min_size=1, max_size=5))
def test_what_is_failover_is_what_the_plan_says_after_every_failure_and_repair(name, states):
    failover = FailoverState()
    for failed in states:
        history = next_history(failover.history, failed)
        failover, changes = FAILOVERS[name].after(failover, history)
        wanted = PLANNERS[name].failure_rows(history)
        assert {dpid: set(rows) for dpid, rows in failover.rows.items() if rows} == {
            dpid: set(rows) for dpid, rows in wanted.items()
        }
        assert all(change.messages and change.after is failover.rows[dpid] for dpid, change in changes.items())


@pytest.mark.parametrize("name", tunnel_schemes())
@examples(20)
@given(states=st.lists(FAILED, min_size=1, max_size=5))
def test_the_messages_take_a_switch_from_the_rows_before_to_the_rows_after(name, states):
    failover, held = FailoverState(), {}
    for failed in states:
        failover, changes = FAILOVERS[name].after(failover, next_history(failover.history, failed))
        for dpid, change in changes.items():
            rows = held.setdefault(dpid, {})
            assert set(rows.values()) == set(change.before)
            for sent in map(decode_flow_mod, change.messages):
                if sent.command == FlowCommand.DELETE_STRICT:
                    del rows[sent.row.key]
                else:
                    assert (sent.row.key in rows) == (sent.command == FlowCommand.MODIFY_STRICT)
                    rows[sent.row.key] = sent.row
            assert set(rows.values()) == set(change.after)
    assert {dpid: set(rows) for dpid, rows in failover.rows.items()} == {
        dpid: set(rows.values()) for dpid, rows in held.items()
    } | {dpid: set() for dpid in failover.rows if dpid not in held}


def test_a_single_failure_is_answered_with_messages_that_were_there_before():
    failovers = FAILOVERS["kuijia"]
    link = THETA.link_ids[0]
    _, first = failovers.after(FailoverState(), (frozenset({link}),))
    _, again = failovers.after(FailoverState(), (frozenset({link}),))
    pairs = [
        (one, other) for dpid in first for one, other in zip(first[dpid].messages, again[dpid].messages, strict=True)
    ]
    assert pairs
    assert all(one is other for one, other in pairs)


def test_only_ingress_switches_with_tunnels_over_the_link_are_written_to():
    planner = TunnelPlanner(find_tunnel_scheme("kuijia"), figure1(), [figure1_traffic()], TunnelOptions())
    failovers = Failovers(planner)
    failing = figure1().parse_link("s2-s4")
    failover, changes = failovers.after(FailoverState(), (frozenset({failing}),))
    assert set(changes) == {1, 4}  # both ends of the only pair
    _, more = failovers.after(failover, (frozenset({failing}), frozenset({figure1().parse_link("s1-s2")})))
    assert more == {}  # T1 is down already


def test_slots_that_move_are_counted_once_and_the_same_plan_moves_none():
    planners = [
        TunnelPlanner(find_tunnel_scheme("kuijia"), figure1(), [figure1_traffic(weights)], TunnelOptions())
        for weights in ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5))
    ]
    one, other = (planner.held() for planner in planners)
    assert moved_slots(one, one) == moved_slots(other, other) == 0
    rebased = TunnelPlanner(
        find_tunnel_scheme("kuijia"), figure1(), [figure1_traffic((0.2, 0.3, 0.5))], TunnelOptions(), held=one
    ).held()
    assert moved_slots(one, rebased) == 2 * 307  # 0.3 of 1,024 slots, there and back
    assert compared_slots(one, rebased) == 2 * 1024


def test_a_node_is_cut_off_once_all_its_links_have_failed():
    links = {THETA.link_id(link.direction) for link in THETA.links_from["s1"]}
    assert cut_off(THETA, "s1", frozenset(links))
    assert all(not cut_off(THETA, "s1", frozenset(links - {link})) for link in links)


def test_rest_shows_labels_weights_slots_and_who_is_down():
    planner = PLANNERS["kuijia"]
    link = THETA.link_ids[0]
    value = tunnels_to_json(planner, (frozenset({link}),))
    assert value["failures"] == [[str(link)]]
    assert len(value["commodities"]) == sum(map(len, planner.ingress_entries.values()))
    for commodity in value["commodities"]:
        assert sum(piece["stop"] - piece["first"] for piece in commodity["slots"]) == 1024
        for piece in commodity["slots"]:
            assert piece["tunnel"] is None or commodity["tunnels"][piece["tunnel"]]["live"]
        for tunnel in commodity["tunnels"]:
            assert tunnel["live"] == (str(link) not in tunnel["links"])
            assert (tunnel["nodes"][0], tunnel["nodes"][-1]) == (commodity["src"], commodity["dst"])


def test_while_links_have_failed_one_more_is_prepared_for_and_is_what_it_would_be_without():
    failovers = Failovers(PLANNERS["kuijia"])
    first, second = (frozenset({link}) for link in THETA.link_ids[:2])
    failover, _ = failovers.after(FailoverState(), (first,))
    unprepared, _ = failovers.after(failover, (first, second))
    assert sum(1 for _ in failovers.expect((first,))) > 0
    one, other = (failovers.after(failover, (first, second)) for _ in range(2))
    assert one[0].places == unprepared.places
    same = [one[0].places[place] is other[0].places[place] for place in one[0].places]
    assert all(same)
