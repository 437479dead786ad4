"""The vocabulary of a Policy Map Table: traffic types, actions, rules, the table, its classes.

Source: Kasabai, Djemame, Puangpronpitag, "Priority-based Scheduling Policy for OpenFlow Control Plane",
KSII TIIS 13(2), 2019, sections 4.2 and 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum

from mininet_topos.errors import BadInputError
from ryu_apps.plan.rows import Match
from ryu_apps.pmt.scheduling import STRICT, UNMATCHED_NAME, Scheduler, full_shares

UNMATCHED_CLASS = 0  # Open vSwitch's default controller id: what no rule names shares this class


class PmtError(BadInputError):
    """A Policy Map Table that cannot be used; the message names file, line, value and repair."""


class TrafficType(IntEnum):
    """The paper's Table 1."""

    CONFIGURATION = 1  # switch configuration and symmetric messages
    COMMAND = 2  # packet-in, packet-out and the other controller commands
    OTHER = 3
    DATA = 4


class Carried(Enum):
    """Messages beside packet-ins and packet-outs that may use the connection of their class."""

    COMMANDS = "commands"  # flow, group, meter, port and table modifications
    REQUESTS = "requests"  # multipart and queue configuration requests, and their replies
    NOTIFICATIONS = "notifications"  # port status and flow removed


class DataDscp(Enum):
    """What happens to data whose DSCP would outrank control messages."""

    REFUSE = "refuse"
    RE_MARK = "re-mark"


@dataclass(frozen=True, slots=True)
class ToQueue:
    """Use queue `queue_id`; 0 is served first."""

    queue_id: int

    def __str__(self) -> str:
        return f"queue_id:{self.queue_id}"


@dataclass(frozen=True, slots=True)
class SetDscp:
    """Mark with class selector CS`selector` (DSCP 8 x selector); 7 is served first."""

    selector: int

    @property
    def dscp(self) -> int:
        """The six bits of the DS field (RFC 2474)."""
        return self.selector << 3

    def __str__(self) -> str:
        return f"dscp:CS{self.selector}"


@dataclass(frozen=True, slots=True)
class CopyDscp:
    """Keep the DSCP that the data packet has."""

    def __str__(self) -> str:
        return "dscp:copy"


PmtAction = ToQueue | SetDscp | CopyDscp


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `match` holds implied prerequisites too; `line` (of the file, 0: none) is no part of its value."""

    traffic_type: TrafficType
    match: Match
    action: PmtAction
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class PmtClass:
    """One class of control messages: 1 is served first; `action` is what its rules say."""

    class_id: int
    action: ToQueue | SetDscp


@dataclass(frozen=True, slots=True)
class PolicyMapTable:
    """Rules in order: the first that matches decides. No rule at all = plain OpenFlow.

    Attributes
    ----------
    by_class
        What leaves the main connection beside packet-ins and packet-outs.
    """

    rules: tuple[Rule, ...] = ()
    data_dscp: DataDscp | None = None
    scheduler: Scheduler = STRICT
    by_class: frozenset[Carried] = frozenset()

    @property
    def classes(self) -> tuple[PmtClass, ...]:
        """Classes of control messages, the most urgent first; `UNMATCHED_CLASS` comes after all of them."""
        actions = {rule.action for rule in self.rules if rule.traffic_type is not TrafficType.DATA}
        usable = [action for action in actions if not isinstance(action, CopyDscp)]
        ordered = sorted(usable, key=urgency)
        return tuple(PmtClass(number, action) for number, action in enumerate(ordered, 1))

    @property
    def class_ids(self) -> dict[PmtAction, int]:
        """Class id of each action of control messages."""
        return {each.action: each.class_id for each in self.classes}

    @property
    def class_names(self) -> dict[int, str]:
        """What each class is called, by class id, most urgent first."""
        return {each.class_id: str(each.action) for each in self.classes} | {UNMATCHED_CLASS: UNMATCHED_NAME}

    @property
    def class_shares(self) -> dict[int, float]:
        """Weight (weighted) or guaranteed fraction (min-rate) of each class that has one; empty: strict priority."""
        given, names = dict(self.scheduler.shares), self.class_names
        by_class = {each: given[name] for each, name in names.items() if name in given}
        return full_shares(self.scheduler.kind, by_class, tuple(names))

    @property
    def lowest_control_selector(self) -> int | None:
        """Class selector of the least urgent control class that is marked; None: none is."""
        selectors = [each.action.selector for each in self.classes if isinstance(each.action, SetDscp)]
        return min(selectors, default=None)


def urgency(action: PmtAction) -> int:
    """Sort key among actions of one kind: smaller is served first."""
    if isinstance(action, ToQueue):
        return action.queue_id
    return -action.selector if isinstance(action, SetDscp) else 1
