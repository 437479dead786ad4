"""What every kind of failure says of itself; each kind is a class in a file of experiments/scenario/failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from experiments.scenario.fields import seconds
from experiments.scenario.keys import Key, NetworkContext, a_link
from mininet_topos.lines import Line
from mininet_topos.topology import Direction, LinkId, Topology

REPAIR_AT_S = Key("repair_at_s", seconds)
TIMES = (Key("at_s", seconds), REPAIR_AT_S)


class Act(NamedTuple):
    """What the injector calls: "module:function", with `FailureInjection` and these arguments; it returns a stamp."""

    function: str
    arguments: tuple[Any, ...]


class Step(NamedTuple):
    """A second at which a failure happens (or, `live`, is repaired)."""

    at_s: float
    live: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that fails, and when it is repaired.

    Attributes
    ----------
    at_s, repair_at_s : float, float or None
        Seconds after the run's zero; None is never repaired.
    line
        Line of the scenario file, for messages.
    kind, target
        What the keys `kind` and of what fails are called; several kinds may share a target.
    usual
        Whether an entry without a kind means this one of its target's kinds.
    keys
        All that an entry takes besides `kind`.
    is_one_event
        Whether all its steps are one event to the analysis; else a repair is one of its own.
    takes_controller
        Whether switches are without their controller meanwhile.
    """

    at_s: float
    repair_at_s: float | None = field(default=None, kw_only=True)
    line: int = field(default=0, compare=False, kw_only=True)

    kind: ClassVar[str]
    target: ClassVar[str]
    keys: ClassVar[tuple[Key, ...]]
    usual: ClassVar[bool] = False
    is_one_event: ClassVar[bool] = False

    @classmethod
    def check(cls, context: NetworkContext, entry: Line, fields: Mapping[str, Line]) -> None:
        """Refuse keys that do not go together (`BadInputError`)."""

    @property
    def what(self) -> str:
        """Name of what fails, for tables and drawings: "s2-s4", "s2", "controller", "agent of s4"."""
        raise NotImplementedError

    @property
    def fail(self) -> Act:
        """How it fails."""
        raise NotImplementedError

    @property
    def repair(self) -> Act:
        """How it is repaired; what is called `what` unless the kind says otherwise."""
        return Act("emulation.failure_injection:FailureInjection.restore", (self.what,))

    @property
    def steps(self) -> tuple[Step, ...]:
        """When it fails and is repaired, in order."""
        ends = () if self.repair_at_s is None else (Step(self.repair_at_s, live=True),)
        return (Step(self.at_s, live=False), *ends)

    @property
    def end_s(self) -> float | None:
        """When it works again; None when never."""
        return self.repair_at_s

    @property
    def occupies(self) -> str | None:
        """What cannot fail again before the repair; None for what restarts by itself."""
        return self.what

    @property
    def takes_controller(self) -> bool:
        """Whether switches are without their controller meanwhile."""
        return False

    @property
    def kills(self) -> tuple[str, str | None] | None:
        """The process that is killed, and its switch (None: the controller's place)."""
        return None

    @property
    def failed_nodes(self) -> tuple[str, ...]:
        """Nodes that drawings mark."""
        return ()

    def links_down(self, _topology: Topology) -> frozenset[LinkId]:
        """Links that carry nothing (or nothing one way) while it lasts."""
        return frozenset()

    def disturbed_links(self, topology: Topology) -> frozenset[LinkId]:
        """Links whose BFD sessions may go down because of it."""
        return self.links_down(topology)


@dataclass(frozen=True, slots=True)
class LinkFailure(Failure):
    """A failure of one link."""

    link: LinkId

    target: ClassVar[str] = "link"
    keys: ClassVar[tuple[Key, ...]] = (Key("link", a_link, write=list), *TIMES)

    @property
    def what(self) -> str:
        """ "s2-s4"."""
        return str(self.link)

    @property
    def occupies(self) -> str | None:
        """The link, in whichever way it fails."""
        return str(self.link)

    @property
    def drawn(self) -> LinkId | Direction:
        """What drawings mark as failed."""
        return self.link

    def links_down(self, _topology: Topology) -> frozenset[LinkId]:
        """The link."""
        return frozenset([self.link])


def failed_link(failure: Failure) -> LinkId | None:
    """The link of a failure of one link; None for all others."""
    return failure.link if isinstance(failure, LinkFailure) else None


def links_of_node(topology: Topology, node: str) -> frozenset[LinkId]:
    """Links that a node ends."""
    return frozenset(each for each in topology.link_ids if node in (each.a, each.b))
