"""Returns whose switches change meanwhile, or do not do their part."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("ryu", reason="Ryu is not installed")
from mininet_topos.catalogue import load_topology
from mininet_topos.errors import ArmorError
from ryu_apps.control import return_coordinator
from ryu_apps.control.channel import SwitchClosedError, SwitchGoneError
from ryu_apps.control.decide import held_up, returning
from ryu_apps.control.decide.live_topology import Expected
from ryu_apps.control.decide.returning import ReturnState
from ryu_apps.plan.damping import Damping
from ryu_apps.plan.ids import Kind, split_cookie
from ryu_apps.plan.options import PlanOptions
from ryu_apps.schemes import plan_network

pytestmark = pytest.mark.ryu
SQUARE = load_topology("square")
LINK = SQUARE.link_ids[0]


class Routes:
    """A switch's rows, of which those about the link can be forgotten."""

    def __init__(self, plan, learned):
        self.plan, self.learned, self.on_stop = plan, learned, lambda: None

    def remembered(self, _owner):
        return self.learned

    def _change(self, _modified, _deleted, _added):
        self.on_stop()

    def _forget(self, _work, _table_ids):
        self.learned = []


class Events:
    def __init__(self):
        self.written = []

    def write(self, name, **fields):
        self.written.append((name, fields))


def returned(plans, switches):
    """A coordinator of a network in which a link has failed and returned."""
    state = ReturnState(Expected(SQUARE).link_ends, Damping.of_wait(0.0))
    made = return_coordinator.ReturnCoordinator(SQUARE, plans, state, Events(), lambda: dict(switches))
    ports = {end: True for ends in made.state.ends.values() for end in ends}
    made.ports_known(ports)
    made.ports_known({made.state.ends[LINK][0]: False})
    made.ports_known({made.state.ends[LINK][0]: True})
    assert returning.due_links(made.state, time.monotonic()) == (LINK,)
    return made


@pytest.mark.parametrize("scheme", ["ffg", "shortest"])
def test_where_switches_remember_nothing_a_return_ends_at_once(scheme):
    made = returned({plan.node: plan for plan in plan_network(scheme, SQUARE, PlanOptions()).values()}, {})
    made.run_due()
    assert returning.due_links(made.state, time.monotonic()) == ()
    assert not any(one.remembered or one.returning for one in made.state.links.values())


@pytest.fixture
def coordinator(monkeypatch):
    """A coordinator of a network in which a link has failed and returned, and its switches."""
    monkeypatch.setattr(return_coordinator, "SETTLE_S", 0.0)
    plans = {plan.node: plan for plan in plan_network("sdfast", SQUARE, PlanOptions()).values()}
    tag_ids = returning.tag_ids_of_links(next(iter(plans.values())).tag_space, SQUARE, (LINK,))
    teaching = {
        node: [row for row in plan.flows if split_cookie(row.cookie).tag_id in tag_ids] for node, plan in plans.items()
    }
    switches = {node: Routes(plan, teaching[node][:1]) for node, plan in plans.items()}
    assert all(split_cookie(row.cookie).kind == Kind.PLANNED for one in switches.values() for row in one.learned)
    return returned(plans, switches), switches


def test_a_return_to_which_all_switches_come_happens_once(coordinator):
    made, switches = coordinator
    made.run_due()
    assert not any(one.learned for one in switches.values())
    assert returning.due_links(made.state, time.monotonic()) == ()


def test_a_switch_that_gets_its_plan_meanwhile_is_returned_to_as_well(coordinator):
    made, switches = coordinator
    late = switches.pop("s3")

    def comes():
        switches["s1"].on_stop = lambda: None
        switches["s3"] = late
        made.plan_installed(late, (), made.state.returning_links())

    switches["s1"].on_stop = comes
    made.run_due()
    assert late.learned
    assert returning.due_links(made.state, time.monotonic()) == (LINK,)
    made.run_due()
    assert not late.learned
    assert returning.due_links(made.state, time.monotonic()) == ()


def silent(_owner):
    raise SwitchGoneError("switch 3 did not answer within 30 s")


def closed(_owner):
    raise SwitchClosedError("switch 3 has closed its connection")


@pytest.mark.parametrize("does", ["does not answer", "says that it has never forgotten"])
def test_a_switch_that_holds_up_two_returns_is_left_out_of_the_next(coordinator, does):
    made, switches = coordinator
    if does == "does not answer":
        switches["s3"].remembered = silent
    else:
        switches["s3"]._forget = lambda _work, _table_ids: None
    for _time in range(held_up.ATTEMPTS):
        with pytest.raises(ArmorError, match=r"switch 3 did not answer|are still there: 1 at s3$"):
            made.run_due()
        assert returning.due_links(made.state, time.monotonic()) == (LINK,)
    made.run_due()
    assert not any(one.learned for node, one in switches.items() if node != "s3")
    assert returning.due_links(made.state, time.monotonic()) == ()
    assert [fields["without"] for name, fields in made._events.written if name == "return_begin"] == [[], [], ["s3"]]


def test_a_switch_whose_connection_ends_during_a_return_does_not_hold_it_up(coordinator):
    made, switches = coordinator

    def ends():
        switches["s3"].remembered = closed

    switches["s1"].on_stop = ends
    made.run_due()
    assert not any(one.learned for node, one in switches.items() if node != "s3")
    assert returning.due_links(made.state, time.monotonic()) == ()
