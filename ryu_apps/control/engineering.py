"""Runs of traffic engineering: solve, plan, and go over to the new tunnels make-before-break (kuijia/replacement.py).

A step begins once every switch has confirmed the one before. A switch that refuses, or is not connected, is named and
waited for, since it may still send by the old tunnels: only one whose links have all failed cannot. Meanwhile packets
arrive, and failures are answered, at each switch by the plan that it holds.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping

from eventlet import tpool
from ryu.lib import hub

from mininet_topos.topology import Topology
from ryu_apps.control.catching_up import catch_up
from ryu_apps.control.controller import Controller
from ryu_apps.control.decide.traffic import Decision, Question, solved_event, with_failures
from ryu_apps.control.decide.tunnel import Failovers, compared_slots, cut_off, moved_slots
from ryu_apps.control.decide.tunnel_resources import BusyError
from ryu_apps.control.restorer import Restorer
from ryu_apps.control.tunnel_rewriting import TunnelRewriting
from ryu_apps.plan.kuijia.commodities import TunnelCommodity
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.kuijia.plan import Held, TunnelPlanner
from ryu_apps.plan.kuijia.replacement import replacement_steps
from ryu_apps.plan.rows import RulePlan
from te_solver.demand_files import parse_demands

Plans = Mapping[int, RulePlan]
POLL_S, NAMED_AFTER_S = 0.02, 1.0
# Until packets that entered the old tunnels have left them.
DRAIN_S = 0.5
ENTERING_STEP = 2


class TrafficEngineering:
    """The runs of one controller, one at a time.

    Parameters
    ----------
    controller
        Whose switches and plans these are.
    restorer
        Knows which links are avoided.
    question
        What the settings ask.
    ask
        Question -> decision.
    """

    def __init__(
        self,
        controller: Controller,
        rewriting: TunnelRewriting,
        restorer: Restorer,
        question: Question,
        ask: Callable[[Question], Decision],
    ) -> None:
        self._controller, self._rewriting, self._restorer = controller, rewriting, restorer
        self._question, self._ask = question, ask
        self._runs = 0
        self._under_way = False
        self._waiting_for: tuple[str, ...] = ()

    def start(self, interval_s: float) -> None:
        """Run regularly from now on; 0: on demand only."""
        if interval_s:
            hub.spawn(self._run_regularly, interval_s)

    def request(self, given: str) -> int:
        """Begin a run, from now on with other demands (a JSON list) unless `given` is empty; number of the run.

        Raises
        ------
        BadInputError, BusyError
        """
        if given:
            parse_demands(given, "request.json", self._controller.topology)
        if self._under_way:
            waits = f" and waits for {', '.join(self._waiting_for)}" if self._waiting_for else ""
            raise BusyError(f"run {self._runs} of traffic engineering is under way{waits}; ask again after its te_done")
        return self._begin("request", given)

    def to_json(self) -> dict[str, object]:
        """Runs so far, whether one is under way, and for whom it waits."""
        return {"runs": self._runs, "under_way": self._under_way, "waiting_for": list(self._waiting_for)}

    def _run_regularly(self, interval_s: float) -> None:
        while True:
            hub.sleep(interval_s)
            if not self._under_way:
                self._begin("interval", "")

    def _begin(self, reason: str, given: str) -> int:
        self._runs, self._under_way = self._runs + 1, True
        hub.spawn(self._run, self._runs, reason, given)
        return self._runs

    def _run(self, number: int, reason: str, given: str) -> None:
        avoided = sorted(map(str, self._restorer.avoidance.avoided))
        self._controller.events.write("te_begin", run=number, reason=reason, links=avoided)
        done = False
        with self._controller.faults.surfaced("traffic engineering"):
            self._replace(number, with_failures(self._question, avoided, given))
            done = True
        self._under_way = False
        if not done:
            self._controller.events.write("te_failed", run=number)

    def _replace(self, number: int, question: Question) -> None:
        began_s = time.monotonic()
        decision = self._ask(question)
        self._controller.events.write(**solved_event(decision))
        self._question = with_failures(question, ())
        old, history = self._rewriting.failovers.planner, self._rewriting.failover.history
        held = old.held(history)
        # In a thread: for a second of computing, failures have to be heard.
        shape = self._controller.settings.traffic.shape
        failovers, steps = tpool.execute(_prepare, old, decision.commodities, held, shape)
        solved_s = time.monotonic()
        changed: dict[str, int] = {}
        for step, plans in enumerate(steps, start=1):
            self._install(number, step, plans, failovers, changed)
        for switch in list(self._controller.switches.values()):
            self._controller.fill_backup(switch)
        now = failovers.planner.held(history)
        self._controller.events.write(
            "te_done",
            run=number,
            slots_moved=moved_slots(held, now),
            slots=compared_slots(held, now),
            rows=sum(changed.values()),
            switches=sum(1 for count in changed.values() if count),
            solving_seconds=solved_s - began_s,
            seconds=time.monotonic() - began_s,
        )

    def _install(self, number: int, step: int, plans: Plans, failovers: Failovers, changed: dict[str, int]) -> None:
        if step == ENTERING_STEP:
            self._rewriting.use(failovers)
        self._controller.plans = dict(plans)
        for switch in self._controller.switches.values():
            # All at once, before anybody else's turn: plan and rows about failures belong together.
            switch.routes.use(plans[switch.dpid], self._rewriting.rows_at(switch.dpid))
        for switch in list(self._controller.switches.values()):
            counted = functools.partial(_add, changed, switch.node)
            hub.spawn(catch_up, switch, "traffic engineering", self._controller.faults, counted)
        self._wait(number, step, plans)
        if step == ENTERING_STEP:
            hub.sleep(DRAIN_S)

    def _wait(self, number: int, step: int, plans: Plans) -> None:
        """Until every switch that can send or carry packets has confirmed; who is late is named."""
        began_s = time.monotonic()
        while waiting := self._missing(plans):
            if waiting != self._waiting_for and time.monotonic() > began_s + NAMED_AFTER_S:
                self._waiting_for = waiting
                self._controller.events.write("te_waiting", run=number, step=step, nodes=list(waiting))
            hub.sleep(POLL_S)
        self._waiting_for = ()

    def _missing(self, plans: Plans) -> tuple[str, ...]:
        topology: Topology = self._controller.topology
        switches, avoided = self._controller.switches, self._restorer.avoidance.avoided
        return tuple(
            plan.node
            for plan in plans.values()
            if (
                not switches[plan.node].routes.holds_plan()
                if plan.node in switches
                else not cut_off(topology, plan.node, avoided)
            )
        )


def _add(changed: dict[str, int], node: str, rows: int) -> None:
    changed[node] = changed.get(node, 0) + rows


def _prepare(
    old: TunnelPlanner, commodities: tuple[TunnelCommodity, ...], held: Held, shape: str
) -> tuple[Failovers, tuple[dict[int, RulePlan], ...]]:
    new = TunnelPlanner(old.scheme, old.topology, commodities, old.options, held)
    steps = replacement_steps(old.plans(), new.plans())
    return Failovers(new), tuple(installed_plans(step, shape) for step in steps)
