"""The event log of a run on the page's clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from experiments.analysis.events import Event
from mininet_topos.ports import assign_ports
from mininet_topos.topology import Direction, Topology


@dataclass(frozen=True)
class Log:
    """Events of a run.

    Attributes
    ----------
    zero_s
        The page's zero (CLOCK_MONOTONIC); None: nobody knows where it lies on the log's clock.
    """

    topology: Topology
    events: Sequence[Event]
    zero_s: float | None

    @cached_property
    def _direction_at(self) -> dict[tuple[str, int], Direction]:
        return assign_ports(self.topology).direction_at

    def ms(self, event: Event) -> float:
        """When it was logged (`zero_s` is known)."""
        return 1000 * (event.t_s - (self.zero_s or 0.0))

    def link_of(self, event: Event) -> str:
        """Link behind the port that an event names; empty for other ports."""
        direction = self._direction_at.get((str(event.fields.get("node")), int(event.fields.get("port_no", 0))))
        return "" if direction is None else str(self.topology.link_id(direction))
