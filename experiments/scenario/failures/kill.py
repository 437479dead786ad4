"""A process is killed (kill -9); its supervisor restarts it at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.failure import TIMES, Act, Failure, links_of_node
from experiments.scenario.fields import one_of
from experiments.scenario.keys import Key, NetworkContext, a_node
from mininet_topos.lines import Line
from mininet_topos.topology import LinkId, Topology

AGENT, VSWITCHD, OVSDB_SERVER, CONTROLLER = PROCESSES = ("agent", "ovs-vswitchd", "ovsdb-server", "controller")
_PROCESS = one_of(PROCESSES)


@dataclass(frozen=True, slots=True)
class Kill(Failure):
    """`{kill: agent, node: s4, at_s: 5}`.

    Attributes
    ----------
    process
        One of `PROCESSES`.
    node
        Its switch; None for the controller.
    """

    process: str
    node: str | None = None

    kind: ClassVar[str] = "kill"
    target: ClassVar[str] = "kill"
    keys: ClassVar[tuple[Key, ...]] = (Key("kill", _PROCESS, "process"), Key("node", a_node), TIMES[0])

    @classmethod
    def check(cls, context: NetworkContext, entry: Line, fields: Mapping[str, Line]) -> None:
        """A switch's process needs its switch, the controller has none."""
        process = _PROCESS(context, fields["kill"], "kill")
        if process == CONTROLLER and "node" in fields:
            raise context.error(fields["node"], "node does not go with a kill: controller failure; remove it")
        if process != CONTROLLER and "node" not in fields:
            raise context.error(entry, f"kill: {process} needs the switch whose {process} it is; add 'node: s1'")

    @property
    def what(self) -> str:
        """ "agent of s4", or "controller"."""
        return self.process if self.node is None else f"{self.process} of {self.node}"

    @property
    def fail(self) -> Act:
        """Kill it."""
        return Act("emulation.failure_injection:FailureInjection.kill", (self.process, self.node))

    @property
    def end_s(self) -> float:
        """At once."""
        return self.at_s

    @property
    def occupies(self) -> None:
        """Nothing: it may be killed again."""
        return

    @property
    def takes_controller(self) -> bool:
        """Whether it is the controller."""
        return self.process == CONTROLLER

    @property
    def kills(self) -> tuple[str, str | None]:
        """What is killed."""
        return self.process, self.node

    def links_down(self, topology: Topology) -> frozenset[LinkId]:
        """Those of a switch whose ovs-vswitchd is killed: it forwards nothing until it is restarted."""
        return self._links(topology) if self.process == VSWITCHD else frozenset()

    def disturbed_links(self, topology: Topology) -> frozenset[LinkId]:
        """Also those of a switch whose ovsdb-server is killed: it stalls about a second when connected again."""
        return self._links(topology) if self.process in (VSWITCHD, OVSDB_SERVER) else frozenset()

    def _links(self, topology: Topology) -> frozenset[LinkId]:
        return frozenset() if self.node is None else links_of_node(topology, self.node)
