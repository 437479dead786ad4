"""Kuijia's plans of a whole network keep their meaning in every shape, in the model and on a real Open vSwitch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.verify.against_ovs.tunnels import compare_tunnels
from mininet_topos.errors import BadInputError, PlanError
from ryu_apps.plan.addressing import hosts_of
from ryu_apps.plan.check import violations
from ryu_apps.plan.choices import DECOMPOSED, REPLICATED, SHAPES, TWO_TABLE
from ryu_apps.plan.decompose.count import count_fields
from ryu_apps.plan.decompose.shapes import decompose, decompose_plan
from ryu_apps.plan.fields import ETH_IPV4
from ryu_apps.plan.ids import SPARE_TABLES, Table
from ryu_apps.plan.interpret import Packet
from ryu_apps.plan.kuijia.crossing import cross
from ryu_apps.plan.kuijia.plan import Failures
from ryu_apps.plan.kuijia.priorities import PRIORITY_SETUPS
from ryu_apps.plan.rows import FlowRow, Output, RulePlan, match
from ryu_apps.plan.walk import Learning, Network
from tests.examples import scaled
from tests.plan.decompose.networks import GSCALE, commodities, gscale_plans, in_shape
from tests.plan.decompose.tables import figure6

FAILURES: Failures = [frozenset({GSCALE.link_ids[number]}) for number in (3, 11)]
SETUPS = [("four", (1, 6)), ("eight", (1, 2, 3, 4, 6)), ("single", (1,))]


@pytest.mark.slow
# Every two of the three parameters meet in every way.
@pytest.mark.parametrize(
    ("setup", "priorities", "failures", "strict"),
    [
        *((*SETUPS[0], failures, strict) for failures in ((), FAILURES) for strict in (True, False)),
        *((*setup, failures, strict) for setup in SETUPS[1:] for failures, strict in (((), True), (FAILURES, False))),
    ],
)
def test_every_pair_crosses_as_before(
    setup: str, priorities: tuple[int, ...], failures: Failures, strict: bool
) -> None:
    traffic = commodities(5, priorities, seed=4)
    plans = gscale_plans(traffic, setup, failures)
    hosts, gone = hosts_of(GSCALE), frozenset(link for event in failures for link in event)
    shaped = [plans, *(in_shape(plans, shape, strict=strict)[0] for shape in (TWO_TABLE, DECOMPOSED))]
    networks = [Network(GSCALE, each, Learning(), gone) for each in shaped]
    delivered = 0
    for each in traffic:
        dscp = PRIORITY_SETUPS[setup].class_of(each.priority).dscp or 0
        packet = Packet(hosts[each.src].ipv4, hosts[each.dst].ipv4, ip_dscp=dscp)
        for slot in range(0, 1024, 146):
            expected, *others = (cross(network, each.src, packet, slot) for network in networks)
            delivered += expected.delivered_to == each.dst
            assert others == [expected, expected]
    assert delivered > len(traffic)


@pytest.mark.slow
@pytest.mark.parametrize(("setup", "priorities"), SETUPS)
def test_shapes_of_sound_plans_are_sound_and_each_saves_more(setup: str, priorities: tuple[int, ...]) -> None:
    plans = gscale_plans(commodities(5, priorities, seed=4), setup, FAILURES[:1])
    totals = []
    for shape in SHAPES:
        made, outcomes = in_shape(plans, shape)
        assert [violations(plan) for plan in made.values() if violations(plan)] == []
        totals.append(sum(count_fields(plan.flows) for plan in made.values()))
        assert totals[-1] == sum(each.fields for each in outcomes)
        assert sum(len(plan.flows) for plan in made.values()) == sum(each.rows for each in outcomes)
        assert all(each.fields <= each.fields_before for each in outcomes)
    assert totals == sorted(totals, reverse=True)
    assert totals[2] < totals[1] < totals[0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_experiment_of_section_5_4_saves_more_than_the_papers_38_percent(seed: int) -> None:
    """Five random pairs of Gscale, four queues: fields of all entries (the paper: 2552 to 1580)."""
    plans = gscale_plans(commodities(5, (1, 6), seed), "four")
    for only in (None, (int(Table.TE_TRANSIT),)):
        _, outcomes = in_shape(plans, DECOMPOSED, only=only)
        counted = [each for each in outcomes if only is None or each.table_id in only]
        before, after = (sum(getattr(each, name) for each in counted) for name in ("fields_before", "fields"))
        assert after <= 0.62 * before


@pytest.mark.ovs
@pytest.mark.parametrize("shape", [TWO_TABLE, DECOMPOSED])
def test_a_real_switch_with_decomposed_tables_does_what_the_logical_tables_say(shape: str) -> None:
    plans = gscale_plans(commodities(12, (1, 2, 6), seed=8), "eight", FAILURES[:1])
    made, _ = in_shape(plans, shape)
    outcome = compare_tunnels(GSCALE, made, plans, samples=scaled(300), seed=3)
    assert (outcome.differences, outcome.first_difference) == (0, None)
    assert outcome.hops > outcome.packets


@pytest.mark.ovs
def test_a_real_switch_notices_a_decomposed_table_that_lost_a_row() -> None:
    plans = gscale_plans(commodities(12, (1, 2, 6), seed=8), "eight")
    made, _ = in_shape(plans, DECOMPOSED)
    corrupted = {
        dpid: replace(
            plan, flows=tuple(row for row in plan.flows if row.table_id < SPARE_TABLES[0] or row.priority % 2)
        )
        for dpid, plan in made.items()
    }
    assert compare_tunnels(GSCALE, corrupted, plans, samples=100, seed=3).differences > 0


def test_tables_that_nobody_asked_for_stay_as_they_are() -> None:
    plans = gscale_plans(commodities(5, (1, 6), seed=4), "four")
    plan = max(plans.values(), key=lambda each: len(each.flows))
    made, outcomes = decompose_plan(plan, DECOMPOSED, SPARE_TABLES, only=(Table.TE_TRANSIT,))
    kept = {row for row in plan.flows if row.table_id != Table.TE_TRANSIT}
    assert kept <= set(made.flows)
    assert {each.table_id for each in outcomes if each.kept_because is None} == {Table.TE_TRANSIT}


def test_no_spare_table_serves_two_tables() -> None:
    plans = gscale_plans(commodities(5, (1, 6), seed=4), "four")
    for dpid in plans:
        _, outcomes = in_shape({dpid: plans[dpid]}, TWO_TABLE)
        used = [table_id for each in outcomes for table_id in each.tables]
        assert len(used) == len(set(used))


def test_a_table_that_cannot_be_taken_apart_says_why() -> None:
    waiting = FlowRow(6, 1, match(in_port=1), write_actions=(Output(2),))
    plan = RulePlan(1, "s1", (*figure6(), waiting))
    made, outcomes = decompose_plan(plan, DECOMPOSED, SPARE_TABLES)
    assert [each.kept_because is None for each in outcomes] == [True, False]
    assert "write-actions" in (outcomes[1].kept_because or "")
    assert waiting in made.flows


def test_bad_options_are_refused_with_their_value() -> None:
    with pytest.raises(BadInputError, match="unknown shape 'round'; use one of replicated, two-table, decomposed"):
        decompose(figure6(), "round", SPARE_TABLES)
    with pytest.raises(BadInputError, match="unknown shape 'round'"):
        decompose_plan(RulePlan(1, "s1"), "round", SPARE_TABLES)
    with pytest.raises(PlanError, match=r"spare tables \[0, 5\] must rise and lie above table 0"):
        decompose(figure6(), DECOMPOSED, [0, 5])
    with pytest.raises(PlanError, match=r"not of tables \[0, 6\]"):
        decompose([*figure6(), FlowRow(6, 1, match())], DECOMPOSED, SPARE_TABLES)
    first, second, *_ = figure6()
    swapped = replace(second, apply_actions=second.apply_actions[::-1])
    with pytest.raises(PlanError, match="in another order"):
        decompose([first, swapped], DECOMPOSED, SPARE_TABLES)
    with pytest.raises(PlanError, match="has rows of 2 owners"):
        decompose([first, replace(second, cookie=0)], DECOMPOSED, SPARE_TABLES)


def test_shapes_without_spare_tables_are_the_table_itself() -> None:
    for shape in SHAPES:
        assert set(decompose(figure6(), shape, ())) == set(figure6())
    assert decompose(figure6(), REPLICATED, SPARE_TABLES) == decompose(figure6(), DECOMPOSED, ())


@pytest.mark.slow
def test_labels_are_popped_before_delivery_in_every_shape() -> None:
    plans = gscale_plans(commodities(5, (1, 6), seed=4), "four")
    made, _ = in_shape(plans, DECOMPOSED)
    pops = [
        action for plan in made.values() for row in plan.flows for action in (*row.apply_actions, *row.write_actions)
    ]
    assert {action.eth_type for action in pops if hasattr(action, "eth_type")} == {ETH_IPV4}
