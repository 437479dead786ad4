"""What is rewritten when tunnels fail: rows of ingress switches, or nothing where agents answer."""

from __future__ import annotations

from ryu.lib import hub

from mininet_topos.topology import LinkId
from ryu_apps.control.decide.tunnel import Change, Failovers, FailoverState
from ryu_apps.plan.kuijia.history import History, next_history
from ryu_apps.plan.kuijia.plan import TunnelPlanner
from ryu_apps.plan.rows import FlowRow


class TunnelRewriting:
    """The rows of ingress switches about failed tunnels (a `Rewriting`).

    Parameters
    ----------
    failovers
        Of the plan in force.
    """

    def __init__(self, failovers: Failovers) -> None:
        self.failovers = failovers
        self.failover = FailoverState()
        self._changes: dict[int, Change] = {}

    @property
    def planner(self) -> TunnelPlanner:
        """Of the plan in force."""
        return self.failovers.planner

    @property
    def history(self) -> History:
        """Links that carry nothing."""
        return self.failover.history

    def avoid(self, links: frozenset[LinkId]) -> None:
        """These links carry nothing from now on, and no others."""
        self.failover, self._changes = self.failovers.after(self.failover, next_history(self.failover.history, links))
        hub.spawn(self._expect)

    def rows_at(self, dpid: int) -> tuple[FlowRow, ...]:
        """Rows that a switch has to hold now beside its plan's."""
        return self.failover.rows.get(dpid, ())

    def change_at(self, dpid: int) -> Change | None:
        """The last change of a switch, encoded."""
        return self._changes.get(dpid)

    def use(self, failovers: Failovers) -> None:
        """The ingress switches go over to another plan; the failures stay."""
        self.failovers = failovers
        self.failover, self._changes = failovers.after(FailoverState(), self.failover.history)
        hub.spawn(self._expect)

    def _expect(self) -> None:
        """Prepare for the next failure while nothing else is to be done; the next change ends it."""
        failover = self.failover
        for _ in self.failovers.expect(failover.history):
            hub.sleep(0)
            if self.failover is not failover:
                return


class AgentManaged:
    """What a controller knows of failed tunnels that agents answer (a `Rewriting` that writes nothing)."""

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
