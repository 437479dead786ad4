"""Kind "commands": commands that an app sends to one switch under PSO while others fill the direction to the switch."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.kind import TrialKind, after
from experiments.campaign.kinds.control import LinkParameters
from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import Row, RowType

INDEPENDENT, DEPENDENT, ACROSS, BARRIERS = "independent", "dependent", "across classes", "barriers"
NONE, PACKET_OUTS, FLOW_MODS = "none", "packet-outs", "flow-mods"


@dataclass(frozen=True, slots=True)
class CommandsParameters(Parameters):
    """One trial.

    Attributes
    ----------
    stream
        What the app sends, step by step: INDEPENDENT flow entries of two classes in turn; DEPENDENT: each is added and
        modified; ACROSS: flow entries of the high class that use a group of the low one, and deletions of both by
        match; BARRIERS: as INDEPENDENT, each with a barrier, for whose reply the app waits.
    flood
        Messages of the low class beside: NONE, PACKET_OUTS or FLOW_MODS.
    flood_share
        Rate of the flood, of what the link takes.
    steps_pps
        Steps a second, at most.
    seconds
        Of the stream; the flood starts `link.warm_up_s` before.
    pmt
        File with the Policy Map Table.
    """

    stream: str
    flood: str
    flood_share: float
    steps_pps: float
    seconds: float
    link: LinkParameters
    pmt: str


@dataclass(frozen=True, slots=True)
class Median:
    """Median and 90th percentile (ms) of so many times; None of none."""

    count: int
    p50_ms: float | None
    p90_ms: float | None


@dataclass(frozen=True, slots=True)
class CommandsMeasured:
    """One trial.

    Attributes
    ----------
    sent, not_taken
        Flow-mods and group-mods of the app, and those of them that the switch never took.
    effect
        By class "high" and "low": from the app's sending of a command until the switch takes it.
    confirmed
        By class: from the sending of a command until the app has the reply of the barrier behind it.
    violations
        Commands that the switch took after a later one that depends on them, or on the wrong side of a barrier.
    reordered
        Commands that the switch took after a later one (RFC 4737, section 3.3), dependent or not.
    barriers, extra_barriers
        Barriers of the app, and those that PSO added on all connections.
    to_switch_mbps
        OpenFlow messages that the switch took, without the headers around them, from the start of the stream to its
        end.
    """

    sent: int
    not_taken: int
    effect: dict[str, Median]
    confirmed: dict[str, Median]
    violations: int
    reordered: int
    barriers: int
    extra_barriers: int
    to_switch_mbps: float
    controller_cpu_percent: float = 0.0
    warnings: tuple[str, ...] = ()
    trustworthy: bool = True


ROWS = RowType("commands", CommandsParameters, CommandsMeasured)
CommandsRow = Row[CommandsParameters, CommandsMeasured]
KIND = TrialKind("commands", "experiments.loadgen.commands:commands_runner", after(5.0))
