"""Failure of a switch: every link of it fails silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from experiments.scenario.failure import TIMES, Act, Failure, links_of_node
from experiments.scenario.keys import Key, a_node
from mininet_topos.topology import LinkId, Topology


@dataclass(frozen=True, slots=True)
class Node(Failure):
    """`{node: s2, at_s: 5}`."""

    node: str

    kind: ClassVar[str] = "node"
    target: ClassVar[str] = "node"
    keys: ClassVar[tuple[Key, ...]] = (Key("node", a_node), *TIMES)

    @property
    def what(self) -> str:
        """ "s2"."""
        return self.node

    @property
    def fail(self) -> Act:
        """Drop what is sent at all its links, at both ends."""
        return Act("emulation.failure_injection:FailureInjection.node", (self.node,))

    @property
    def failed_nodes(self) -> tuple[str, ...]:
        """The node."""
        return (self.node,)

    def links_down(self, topology: Topology) -> frozenset[LinkId]:
        """Its links."""
        return links_of_node(topology, self.node)
