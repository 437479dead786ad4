"""The controller of a scheme of tunnels: answers failures at the ingress switches, and lets traffic engineering decide.

What rows say is decided in tunnel_core.py and in the plans; how tunnels are replaced is in engineering.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from eventlet.green import subprocess
from ryu.lib import hub

from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.topology import LinkId
from ryu_apps.control.app import PlanApp
from ryu_apps.control.controller import Controller
from ryu_apps.control.engineering import TrafficEngineering
from ryu_apps.control.rest_core import Json
from ryu_apps.control.restorer import Onlooker, Restorer
from ryu_apps.control.sheet_files import write_sheets
from ryu_apps.control.traffic_core import Question, commodities_from_json, question_of
from ryu_apps.control.tunnel_core import Change, Detours, History, Laid, next_history, tunnels_to_json
from ryu_apps.plan.kuijia.commodities import Commodity
from ryu_apps.plan.kuijia.installed import installed_plans
from ryu_apps.plan.kuijia.plan import TunnelPlanner, find_tunnel_scheme
from ryu_apps.plan.rows import FlowRow, RulePlan

ENGINEER = (sys.executable, "-m", "ryu_apps.control.engineer_process")
LONGEST_SOLVING_S = 600.0


class TunnelRewriting:
    """The rows of ingress switches about dead tunnels (a `Rewriting`).

    Parameters
    ----------
    detours : Detours
        Of the plan in force.
    """

    def __init__(self, detours: Detours) -> None:
        self.detours = detours
        self.laid = Laid()
        self._changes: dict[int, Change] = {}

    @property
    def planner(self) -> TunnelPlanner:
        """Of the plan in force."""
        return self.detours.planner

    @property
    def history(self) -> History:
        """Links that carry nothing."""
        return self.laid.history

    def avoid(self, links: frozenset[LinkId]) -> None:
        """These links carry nothing from now on, and no others."""
        self.laid, self._changes = self.detours.after(self.laid, next_history(self.laid.history, links))
        hub.spawn(self._expect)

    def rows_at(self, dpid: int) -> tuple[FlowRow, ...]:
        """Rows that a switch has to hold now beside its plan's."""
        return self.laid.rows.get(dpid, ())

    def change_at(self, dpid: int) -> Change | None:
        """The last change of a switch, encoded."""
        return self._changes.get(dpid)

    def use(self, detours: Detours) -> None:
        """The ingress switches go over to another plan; the failures stay."""
        self.detours = detours
        self.laid, self._changes = detours.after(Laid(), self.laid.history)
        hub.spawn(self._expect)

    def _expect(self) -> None:
        """Prepare for the next failure while nothing else is to be done; the next change ends it."""
        laid = self.laid
        for _ in self.detours.expect(laid.history):
            hub.sleep(0)
            if self.laid is not laid:
                return


class LeftToAgents:
    """What a controller knows of dead tunnels that agents answer (a `Rewriting` that writes nothing).

    Parameters
    ----------
    planner : TunnelPlanner
    """

    def __init__(self, planner: TunnelPlanner) -> None:
        self.planner = planner
        self.history: History = ()

    def avoid(self, links: frozenset[LinkId]) -> None:
        """These links carry nothing from now on, and no others."""
        self.history = next_history(self.history, links)

    def rows_at(self, _dpid: int) -> tuple[FlowRow, ...]:
        """Nothing beside the plan's rows: others are the agent's."""
        return ()

    def change_at(self, _dpid: int) -> Change | None:
        """Nothing is encoded beforehand."""
        return None


class TunnelController(Controller):
    """A controller whose plans come from traffic engineering (parameters as those of `Controller`)."""

    def _first_plans(self) -> dict[int, RulePlan]:
        traffic = self.settings.traffic
        self._question = question_of(self.settings.topology, self.settings.options.metric, traffic)
        scheme = find_tunnel_scheme(self.scheme)
        planner = TunnelPlanner(scheme, self.topology, ask(self._question), traffic.options)
        if traffic.by_agents:
            write_sheets(planner, Path(self.settings.sheets))
        self._rewriting = LeftToAgents(planner) if traffic.by_agents else TunnelRewriting(Detours(planner))
        return installed_plans(planner.plans(), traffic.shape)

    def _coordinator(self) -> Restorer:
        parts = (self._return_state(), self.events, self.faults, self._routes)
        self._engineering: TrafficEngineering | None = None
        if isinstance(self._rewriting, LeftToAgents):
            return Onlooker(self._rewriting, *parts)
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
                "agents answer dead tunnels here and keep the tunnels of their sheets; start the controller with other "
                "demands and let the agents read their sheets again, or use told_by = controller"
            )
        return self._engineering.request(given)


class TunnelApp(PlanApp):
    """An app of a scheme of tunnels; a subclass says which."""

    controller_class = TunnelController


def ask(question: Question) -> tuple[Commodity, ...]:
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
    return commodities_from_json(answer["commodities"])
