"""The controller of a scheme of tunnels: answers failures at the ingress switches, and lets traffic engineering decide.

What rows say is decided in decide/tunnel.py and in the plans; how tunnels are replaced is in engineering.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from eventlet.green import subprocess

from mininet_topos.errors import ArmorError, BadInputError
from ryu_apps.control.agent_configuration_files import write_configurations
from ryu_apps.control.controller import Controller
from ryu_apps.control.decide.resource import Json
from ryu_apps.control.decide.traffic import Decision, Question, decision_from_json, question_of, solved_event
from ryu_apps.control.decide.tunnel import Failovers, tunnels_to_json
from ryu_apps.control.engineering import TrafficEngineering
from ryu_apps.control.restorer import PassiveMonitor, Restorer
from ryu_apps.control.tunnel_rewriting import AgentManaged, TunnelRewriting
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.rows import RulePlan

ENGINEER = (sys.executable, "-m", "ryu_apps.control.engineer_process")
LONGEST_SOLVING_S = 600.0


class TunnelController(Controller):
    """A controller whose plans come from traffic engineering (parameters as those of `Controller`)."""

    def _first_plans(self) -> dict[int, RulePlan]:
        traffic = self.settings.traffic
        self._question = question_of(self.settings.topology, self.settings.options.metric, traffic, self.scheme.tunnels)
        self._first = ask(self._question)
        planner = TunnelPlanner(self.scheme, self.topology, self._first.commodities, traffic.options)
        if traffic.by_agents:
            write_configurations(planner, Path(self.settings.agent_configurations))
        self._rewriting = AgentManaged(planner) if traffic.by_agents else TunnelRewriting(Failovers(planner))
        return installed_plans(planner.plans(), traffic.shape)

    def _coordinator(self) -> Restorer:
        parts = (self._return_state(), self.events, self.faults, self._routes)
        self.events.write(**solved_event(self._first))
        self._engineering: TrafficEngineering | None = None
        if isinstance(self._rewriting, AgentManaged):
            return PassiveMonitor(self._rewriting, *parts)
        restorer = Restorer(self._rewriting, *parts)
        self._engineering = TrafficEngineering(self, self._rewriting, restorer, self._question, ask)
        return restorer

    def start(self) -> None:
        """Start what happens by itself."""
        super().start()
        if self._engineering is not None:
            self._engineering.start(self.settings.traffic.te_interval_s)

    def tunnels(self) -> Json:
        """Tunnels, weights and slots of every commodity, failures, and the state of traffic engineering."""
        value = tunnels_to_json(self._rewriting.planner, self._rewriting.history)
        runs = None if self._engineering is None else self._engineering.to_json()
        return {**value, "traffic_engineering": runs}

    def engineer_traffic(self, given: str) -> int:
        """Run traffic engineering again, from now on with other demands unless `given` is empty; number of the run.

        Raises
        ------
        BadInputError
            The demands cannot be used, or agents hold to the tunnels that they know.
        BusyError
            A run is under way.
        """
        if self._engineering is None:
            raise BadInputError(
                "agents answer failed tunnels here and keep the tunnels they know; start the controller with other "
                "demands and let the agents read their agent configurations again, or use notified_by = controller"
            )
        return self._engineering.request(given)


def ask(question: Question) -> Decision:
    """The answer of traffic engineering, which computes in a process of its own; the event loop goes on meanwhile.

    Raises
    ------
    BadInputError
        The question cannot be answered as it is.
    ArmorError
        The solver failed, or took longer than `LONGEST_SOLVING_S`.
    """
    try:
        done = subprocess.run(
            ENGINEER, input=question.to_json(), capture_output=True, text=True, timeout=LONGEST_SOLVING_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ArmorError(
            f"traffic engineering took longer than {LONGEST_SOLVING_S:g} s; give fewer demands or tunnels"
        ) from error
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError as error:
        last = done.stderr.strip().rpartition("\n")[2]
        raise ArmorError(f"traffic engineering ended with code {done.returncode}: {last}") from error
    if "error" in answer:
        kind = BadInputError if done.returncode == BadInputError.exit_code else ArmorError
        raise kind(answer["error"])
    return decision_from_json(answer)
