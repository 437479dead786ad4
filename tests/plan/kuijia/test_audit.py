"""The audit holds plans to their promises on whole networks, and finds what is wrong with broken ones."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from mininet_topos.catalogue import load_topology
from mininet_topos.errors import PlanError
from mininet_topos.topology import LinkId
from ryu_apps.plan.choices import DECOMPOSED, TWO_TABLE
from ryu_apps.plan.hash_ranges import N_SLOTS
from ryu_apps.plan.ids import OFPP_IN_PORT, SPARE_TABLES, Priority, Table
from ryu_apps.plan.kuijia.audit import Audit, audit, distinct_slots
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.kuijia.plan import Failures, TunnelPlanner
from ryu_apps.plan.kuijia.sources import allocated_commodities, equal_commodities
from ryu_apps.plan.rows import FlowRow, Output, RulePlan, SetField, SetQueue
from ryu_apps.schemes import find_tunnel_scheme
from te_solver.demands import random_pairs
from te_solver.network import to_network
from te_solver.solve import solve
from te_solver.tunnels import to_problem
from tests.plan.kuijia.networks import FIGURE2_OPTIONS, figure1, figure1_traffic

GSCALE = load_topology("gscale")
S2_S4: Failures = [frozenset({LinkId("s2", "s4")})]
WEIGHTS = (0.5, 0.3, 0.2)


def figure1_planner(scheme: str, options: TunnelOptions = FIGURE2_OPTIONS) -> TunnelPlanner:
    return TunnelPlanner(find_tunnel_scheme(scheme), figure1(), (figure1_traffic(WEIGHTS),), options)


@pytest.mark.slow
def test_kuijia_on_gscale_keeps_its_promise_for_every_pair_and_every_single_failure() -> None:
    found = audit(
        TunnelPlanner(find_tunnel_scheme("kuijia"), GSCALE, equal_commodities(GSCALE), TunnelOptions()),
        [(), *([frozenset({link})] for link in GSCALE.link_ids[::3])],
    )
    assert found.faults == ()
    assert found.cases == 132 * 8
    assert found.delivered == found.slots == found.cases * N_SLOTS
    assert found.victims > 0
    assert (found.dropped, found.moved) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["kuijia", "rescaling", "te"])
@pytest.mark.parametrize("shape", [TWO_TABLE, DECOMPOSED])
def test_every_slot_meets_the_same_in_the_tables_that_switches_hold(scheme: str, shape: str) -> None:
    demands = random_pairs(GSCALE, 5, 900.0, seed=2)
    traffic = allocated_commodities(solve(to_problem(to_network(GSCALE), demands)))
    planner = TunnelPlanner(find_tunnel_scheme(scheme), GSCALE, traffic, TunnelOptions())
    links = [frozenset({link}) for link in GSCALE.link_ids]
    histories: list[Failures] = [(), *([link] for link in links[::4]), links[:2], links[5:8]]
    held = installed_plans(planner.plans(), shape)
    assert any(row.goto_table in SPARE_TABLES for row in hash_rows(held.values()))
    found = audit(planner, histories, shape)
    assert found.faults == ()
    assert found == audit(planner, histories)


def test_a_lost_row_of_a_spare_table_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    planner = figure1_planner("kuijia")
    last = max(row.table_id for row in installed_plans(planner.plans(), DECOMPOSED)[1].flows)
    assert last in SPARE_TABLES

    def broken(plans: dict[int, RulePlan], shape: str) -> dict[int, RulePlan]:
        held = installed_plans(plans, shape)
        return {
            dpid: replace(plan, flows=tuple(row for row in plan.flows if row.table_id != last))
            for dpid, plan in held.items()
        }

    monkeypatch.setattr("ryu_apps.plan.kuijia.audit.installed_plans", broken)
    assert audit(planner, [()], DECOMPOSED).faults


def hash_rows(plans: Iterable[RulePlan]) -> list[FlowRow]:
    """Rows of the table of hash ranges."""
    return [row for plan in plans for row in plan.flows if row.table_id == Table.TE_HASH]


@pytest.mark.parametrize(
    ("scheme", "delivered", "victims", "moved"),
    # T1 has 512 slots; rescaling lets T2 begin at slot 0 instead of 512 and end at 614 instead of 819.
    [("kuijia", 1024, 512, 0), ("rescaling", 1024, 0, 819 - 614), ("te", 512, 0, 0)],
)
def test_figure_3_in_slots(scheme: str, delivered: int, victims: int, moved: int) -> None:
    found = audit(figure1_planner(scheme), [S2_S4])
    assert found.faults == ()
    assert (found.cases, found.slots) == (2, 2 * N_SLOTS)
    assert (found.delivered, found.victims, found.moved) == (2 * delivered, 2 * victims, 2 * moved)
    assert found.dropped == found.slots - found.delivered


def test_two_failures_and_none_left() -> None:
    twice: Failures = [*S2_S4, frozenset({LinkId("s1", "s4")})]
    gone: Failures = [*twice, frozenset({LinkId("s1", "s3")})]
    found = audit(figure1_planner("kuijia"), [twice, gone])
    assert found.faults == ()
    assert (found.delivered, found.dropped) == (2 * N_SLOTS, 2 * N_SLOTS)


def changed(planner: TunnelPlanner, change: object) -> TunnelPlanner:
    """The planner with every row of its plans changed by a function (None: the row is left out)."""
    sound = planner.plans

    def plans(failures: Failures = ()) -> dict[int, RulePlan]:
        rows = {dpid: [change(row) for row in plan.flows] for dpid, plan in sound(failures).items()}  # type: ignore[operator]
        return {
            dpid: replace(plan, flows=tuple(row for row in rows[dpid] if row)) for dpid, plan in sound(failures).items()
        }

    planner.plans = plans  # type: ignore[method-assign]
    return planner


def without_victims(row: FlowRow) -> FlowRow | None:
    return None if row.table_id == Table.TE_HASH and row.priority > Priority.RECOVERY else row


def in_the_normal_queue(row: FlowRow) -> FlowRow:
    actions = (SetQueue(1) if isinstance(action, SetQueue) else action for action in row.apply_actions)
    return replace(row, apply_actions=tuple(actions)) if row.table_id == Table.TE_TRANSIT else row


def untagged(row: FlowRow) -> FlowRow:
    actions = (SetField("mpls_tc", 0) if action == SetField("mpls_tc", 1) else action for action in row.apply_actions)
    return replace(row, apply_actions=tuple(actions))


def all_by_s3(row: FlowRow) -> FlowRow:
    """Flows of T2 go by T3."""
    if row.table_id != Table.TE_HASH or Output(4) not in row.apply_actions:
        return row
    actions = {SetField("mpls_label", 17): SetField("mpls_label", 18), Output(4): Output(3)}
    return replace(row, apply_actions=tuple(actions.get(action, action) for action in row.apply_actions))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_victims, "should go by a live tunnel, and went s1>s2 s2>s4"),
        (in_the_normal_queue, "where ClassMarking(tc=1, queue_id=2) belongs"),
        (untagged, "where ClassMarking(tc=1, queue_id=2) belongs"),
        (all_by_s3, "its tunnel lives, and it went s1>s3 s3>s4"),
    ],
)
def test_a_broken_promise_is_named_with_the_flow_and_the_failure(change: object, words: str) -> None:
    found = audit(changed(figure1_planner("kuijia"), change), [S2_S4])
    assert found.faults
    assert any(words in fault and "s1 to s4, slot " in fault and "['s2-s4']" in fault for fault in found.faults)


def test_flows_that_should_be_lost_and_are_not_are_a_fault_too() -> None:
    kuijia, te = figure1_planner("kuijia"), figure1_planner("te")
    te.plans = kuijia.plans  # type: ignore[method-assign]
    assert any("should be lost, and went s1>s4" in fault for fault in audit(te, [S2_S4]).faults)


def going_back(row: FlowRow) -> FlowRow:
    """Whatever has a label is sent back to where it came from."""
    return replace(row, apply_actions=(Output(OFPP_IN_PORT),)) if row.table_id == Table.TE_TRANSIT else row


def to_another_address(row: FlowRow) -> FlowRow:
    """Ingress switches rewrite what they send."""
    return replace(row, apply_actions=(SetField("ipv4_src", 1), *row.apply_actions)) if row.table_id == 5 else row


@pytest.mark.parametrize(("change", "words"), [(going_back, "loops"), (to_another_address, "the host at s4 gets")])
def test_packets_that_loop_or_are_changed_are_an_error(change: object, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        audit(changed(figure1_planner("kuijia"), change), [()])


def test_every_slot_is_covered_by_one_that_no_rule_tells_from_it() -> None:
    planner = figure1_planner("kuijia")
    (ingress_entry,) = planner.ingress_entries["s1"]
    plan = planner.plans(S2_S4)[1]
    slots = distinct_slots(plan, ingress_entry)
    assert sum(size for _, size in slots) == N_SLOTS
    rows = [row.match for row in plan.flows if row.table_id == Table.TE_HASH]
    masks = [next((value, mask or 1023) for name, value, mask in match if name == "reg0") for match in rows]
    for first, size in slots:
        kinds = {tuple(slot & mask == value for value, mask in masks) for slot in range(first, first + size)}
        assert len(kinds) == 1


def test_an_audit_is_written_with_all_its_counts() -> None:
    found = Audit(1, 2, 3, 4, 5, 6, ("x",)).plus(Audit(1, faults=("y",)))
    assert json.loads(json.dumps(found.to_json())) == {
        "cases": 2, "slots": 2, "delivered": 3, "dropped": 4, "victims": 5, "moved": 6, "faults": ["x", "y"]
    }  # fmt: skip
