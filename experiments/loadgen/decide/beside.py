"""How much later good switches get their answers beside a rogue switch, and how a topology's switches are divided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mininet_topos.errors import BadInputError
from mininet_topos.ports import HOST_PORT, assign_ports
from mininet_topos.topology import Topology

Json = dict[str, Any]

HEADER = ("kind", "quiet p99 ms", "beside p99 ms", "ratio", "lost", "closed", "rogue/s", "controller")


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch of a topology.

    Attributes
    ----------
    dpid
        Its datapath id.
    ports
        Numbers of its ports, that of its host first.
    """

    dpid: int
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BesideResult:
    """What good switches met in a quiet window and in one beside a rogue switch.

    Attributes
    ----------
    app, kind
        Apps of the controller, and kind of misbehaviour.
    quiet_p99_ms, beside_p99_ms
        99th percentile of the answered echo requests of each window; None when none was answered.
    asked
        Echo requests of each window.
    quiet_lost, lost
        Requests of each window without an answer in time.
    connections_ended
        Connections of good switches that ended beside the rogue switch.
    controller_ended
        Whether the controller has ended by itself.
    controller_rss_mb
        Most memory that the controller has occupied.
    ids_taken
        Datapath ids of good switches for which the app has served the rogue switch.
    warnings
        Why the numbers may describe the generator.
    rogue_pps
        Messages or connections a second of the rogue switch.
    """

    app: str
    kind: str
    quiet_p99_ms: float | None
    beside_p99_ms: float | None
    asked: int
    quiet_lost: int
    lost: int
    connections_ended: int
    controller_ended: bool
    controller_rss_mb: float
    ids_taken: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    rogue_pps: float = 0.0

    @property
    def ratio(self) -> float | None:
        """How many times as long answers take beside the rogue switch (99th percentiles); None without both.

        Examples
        --------
        >>> BesideResult("x", "flood", 2.0, 5.0, 10, 0, 0, 0, False, 50.0).ratio
        2.5
        """
        if not self.quiet_p99_ms or self.beside_p99_ms is None:
            return None
        return round(self.beside_p99_ms / self.quiet_p99_ms, 3)

    @property
    def held(self) -> bool:
        """Whether the controller runs, and good switches asked, got every answer, and kept connections and ids."""
        return self.asked > 0 and not (self.controller_ended or self.lost or self.connections_ended or self.ids_taken)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences for below the table."""
        ids = ", ".join(map(str, self.ids_taken))
        taken = (f"the app has served the rogue switch as good switches, datapath ids {ids}",) if ids else ()
        unasked = () if self.asked else ("no echo request was due in a window; raise --rate or --seconds",)
        return (*taken, *unasked, *(f"warning: {each}" for each in self.warnings))

    def to_json(self) -> Json:
        """JSON value."""
        return {
            "app": self.app,
            "kind": self.kind,
            "quiet_p99_ms": self.quiet_p99_ms,
            "beside_p99_ms": self.beside_p99_ms,
            "ratio": self.ratio,
            "lost": self.lost,
            "asked": self.asked,
            "quiet_lost": self.quiet_lost,
            "connections_ended": self.connections_ended,
            "controller_ended": self.controller_ended,
            "ids_taken": list(self.ids_taken),
            "controller_rss_mb": round(self.controller_rss_mb, 1),
            "rogue_pps": round(self.rogue_pps, 1),
            "warnings": list(self.warnings),
        }

    def row(self) -> tuple[str, ...]:
        """Cells of a table with `HEADER`."""
        state = "ended" if self.controller_ended else "runs"
        numbers = (_shown(self.quiet_p99_ms), _shown(self.beside_p99_ms), _shown(self.ratio))
        rogue = (str(self.connections_ended), f"{self.rogue_pps:.1f}")
        return (self.kind, *numbers, f"{self.lost} of {self.asked}", *rogue, state)


def divided(topology: Topology) -> tuple[tuple[Switch, ...], Switch]:
    """Good switches of a topology, and the rogue one, which is the last node.

    Raises
    ------
    BadInputError
        The topology has one node alone.
    """
    names = topology.node_names
    if len(names) < 2:
        raise BadInputError(
            "--topo has 1 node; give a topology of 2 at least, because the last one is the rogue switch"
        )
    port_of = assign_ports(topology).port_of
    ports: dict[str, list[int]] = {name: [HOST_PORT] for name in names}
    for direction, number in port_of.items():
        ports[direction.src].append(number)
    switches = [Switch(place, tuple(sorted(ports[name]))) for place, name in enumerate(names, 1)]
    return tuple(switches[:-1]), switches[-1]


def kinds_of(asked: str, kinds: Sequence[str]) -> tuple[str, ...]:
    """Kinds that "all" or the name of one stands for.

    Examples
    --------
    >>> kinds_of("all", ("flood", "stall"))
    ('flood', 'stall')
    """
    return tuple(kinds) if asked == "all" else (asked,)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
