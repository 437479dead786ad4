"""Backup and failed-set extension rows: laws that make the scheme loop-free."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from mininet_topos.ports import assign_ports
from mininet_topos.toy import figure2
from ryu_apps.plan.addressing import host_ipv4
from ryu_apps.plan.backup_planner import BackupPlanner
from ryu_apps.plan.failure_sets import NO_TAG
from ryu_apps.plan.ids import Status
from ryu_apps.plan.options import PlanOptions
from te_solver.commodity import Commodity
from te_solver.routes import NO_LINK
from tests.examples import examples
from tests.verify.networks import connected, options


@st.composite
def planners(draw):
    """A planner on a random network, whatever its options."""
    return BackupPlanner(draw(connected()), draw(options()))


class Rows:
    """Backup rows of a planner, by (commodity, tag id, node), and its failed-set extensions by node."""

    def __init__(self, planner):
        self.planner = planner
        self.backups, self.extensions = {}, defaultdict(dict)
        for node, rows in planner.rows().items():
            for row in rows.backups:
                source = None if row.source is None else row.source - host_ipv4(1)
                commodity = Commodity(row.destination - host_ipv4(1), source)
                assert (commodity, row.tag_id, node) not in self.backups
                self.backups[commodity, row.tag_id, node] = row
            for row in rows.extensions:
                assert (row.tag_id, row.port_no) not in self.extensions[node]
                self.extensions[node][row.tag_id, row.port_no] = row.new_tag_id
        self._ports = assign_ports(planner.topology)

    def link(self, node, port_no):
        """(number of the link behind a port, far node)."""
        topology = self.planner.topology
        direction = self._ports.direction_at[topology.node_names[node], port_no]
        return topology.link_ids.index(topology.link_id(direction)), topology.index_of[direction.dst]

    def path(self, commodity, tag_id, node):
        """Link numbers from a node to the destination by the rows of one set."""
        numbers = []
        while node != commodity.destination:
            number, node = self.link(node, self.backups[commodity, tag_id, node].out_port)
            numbers.append(number)
            assert len(numbers) < 99
        return numbers


@examples(50)
@given(planners())
def test_every_row_leads_to_the_destination_without_the_links_of_its_set(planner):
    rows = Rows(planner)
    for commodity, tag_id, node in rows.backups:
        assert not set(rows.path(commodity, tag_id, node)) & set(planner.sets.numbers(tag_id))


@examples(50)
@given(planners())
def test_every_row_says_what_its_router_says(planner):
    rows, residual = Rows(planner), planner.router.residual
    for (commodity, tag_id, node), row in rows.backups.items():
        link = planner.router.next_link(commodity, planner.sets.masks[tag_id], node)
        assert rows.link(node, row.out_port) == (
            residual.link_number[link],
            planner.topology.index_of[residual.links[link].dst],
        )


@examples(50)
@given(planners())
def test_a_failed_port_of_any_row_leads_to_the_row_of_the_larger_set_or_there_is_no_way(planner):
    rows = Rows(planner)
    for (commodity, tag_id, node), row in rows.backups.items():
        number, _ = rows.link(node, row.out_port)
        larger = planner.sets.with_link(tag_id, number)
        assert rows.extensions[node].get((tag_id, row.out_port)) == larger
        if larger is not None:
            link = planner.router.next_link(commodity, planner.sets.masks[larger], node)
            assert ((commodity, larger, node) in rows.backups) == (link != NO_LINK)


@examples(50)
@given(planners())
def test_a_row_crosses_when_the_primary_from_here_meets_its_set(planner):
    rows = Rows(planner)
    for (commodity, tag_id, node), row in rows.backups.items():
        if tag_id == NO_TAG:
            assert (row.status, row.crosses, row.replaces) == (0, False, ())
            continue
        primary = (commodity, NO_TAG, node) in rows.backups
        meets = primary and bool(set(rows.path(commodity, NO_TAG, node)) & set(planner.sets.numbers(tag_id)))
        assert row.crosses == meets


@examples(50)
@given(planners())
def test_a_row_replaces_smaller_sets_whose_path_from_here_meets_the_rest(planner):
    rows = Rows(planner)
    for (commodity, tag_id, node), row in rows.backups.items():
        chosen = set(planner.sets.numbers(tag_id))
        expected = [
            smaller
            for smaller in planner.sets.subsets(tag_id)
            if smaller != NO_TAG
            and (commodity, smaller, node) in rows.backups
            and set(rows.path(commodity, smaller, node)) & chosen - set(planner.sets.numbers(smaller))
        ]
        assert list(row.replaces) == expected


@examples(50)
@given(planners())
def test_the_status_is_crankback_exactly_while_a_row_leads_against_the_primary_of_the_next_switch(planner):
    rows = Rows(planner)
    for (commodity, tag_id, node), row in rows.backups.items():
        if tag_id == NO_TAG:
            continue
        number, far = rows.link(node, row.out_port)
        onward = planner.router.next_link(commodity, 0, far)
        against = onward != NO_LINK and planner.router.residual.link_number[onward] == number
        assert row.status == (Status.CRANKBACK if against else Status.RECOVERED)


@examples(50)
@given(connected(), options())
def test_only_states_that_a_packet_can_reach_have_rows(topology, chosen):
    """From the entries along rows, over failed ports, and where an agent or a notification says it.

    In agent mode a reply is turned round where its own path crosses the failure; a notification tells the entries of
    every failure on their path.
    """
    planner = BackupPlanner(topology, chosen)
    rows = Rows(planner)
    reachable = set()
    for commodity in planner.router.commodities:
        waiting = [(NO_TAG, node) for node in planner.router.start_nodes(commodity)]
        if chosen.mode == "agent":
            waiting += [
                (tag_id, start)
                for start in planner.router.start_nodes(commodity)
                if (commodity, NO_TAG, start) in rows.backups
                for number in rows.path(commodity, NO_TAG, start)
                if (tag_id := planner.sets.with_link(NO_TAG, number)) is not None
            ]
        while waiting:
            tag_id, node = waiting.pop()
            key = commodity, tag_id, node
            if key in reachable or key not in rows.backups:
                continue
            reachable.add(key)
            number, far = rows.link(node, rows.backups[key].out_port)
            waiting.append((tag_id, far))
            if (larger := planner.sets.with_link(tag_id, number)) is not None:
                waiting.append((larger, node))
            if chosen.floods and node in planner.router.start_nodes(commodity):
                larger_sets = (planner.sets.with_link(tag_id, each) for each in rows.path(commodity, tag_id, node))
                waiting += [(each, node) for each in larger_sets if each is not None]
    assert reachable == set(rows.backups)


def test_rows_of_figure_2_backtrack_at_d_with_status_crankback_and_go_on_from_b_recovered():
    planner = BackupPlanner(figure2(), PlanOptions(planner="pair", max_failures=1))
    rows = Rows(planner)
    failed = planner.sets.with_link(NO_TAG, planner.topology.link_ids.index(planner.topology.parse_link("s4-s5")))
    commodity = Commodity(4, 0)
    status = {node: rows.backups[commodity, failed, node].status for node in (3, 2, 1, 5)}
    assert status == {3: Status.CRANKBACK, 2: Status.CRANKBACK, 1: Status.RECOVERED, 5: Status.RECOVERED}


@given(connected())
@examples(30)
def test_in_agent_mode_switches_upstream_have_rows_for_replies_that_turn_round(topology):
    planner = BackupPlanner(topology, PlanOptions(mode="agent", notification="off"))
    rows, router, sets = Rows(planner), planner.router, planner.sets
    for commodity in router.commodities:
        for start in router.start_nodes(commodity):
            for number in rows.path(commodity, NO_TAG, start):
                tag_id = sets.with_link(NO_TAG, number)
                has_path = router.next_link(commodity, sets.masks[tag_id], start) != NO_LINK
                assert ((commodity, tag_id, start) in rows.backups) == has_path
