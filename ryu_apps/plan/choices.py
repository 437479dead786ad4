"""What users choose by name about plans; the first is the default. Apart from what it chooses, which takes long to
import.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mode:
    """Who ends the backtracking.

    Attributes
    ----------
    uses_agent
        Whether an agent beside each switch does, from a backup database.
    """

    name: str
    summary: str
    uses_agent: bool


LEARNED = Mode("learned", "the data plane ends backtracking", uses_agent=False)
AGENT = Mode("agent", "the switch-local agent does", uses_agent=True)
MODES = {mode.name: mode for mode in (LEARNED, AGENT)}
DEFAULT_MODE = LEARNED.name
NO_MODE = "none"  # of a scheme without modes, in results

FLOOD, OFF = NOTIFICATIONS = ("flood", "off")  # whether the first packet that meets a failure notifies all switches
DEFAULT_NOTIFICATION = FLOOD

# Schemes of tunnels.
PRIORITIES = ("single", "four", "eight")  # classes and queues
SPLITS = ("ranges", "select")  # hash ranges, or a SELECT group for comparison
NOTIFIERS = CONTROLLER_NOTIFIES, AGENTS_NOTIFY = (
    "controller",
    "agent",
)  # who notifies the ingress about failed tunnels
REPLICATED, TWO_TABLE, DECOMPOSED = SHAPES = ("replicated", "two-table", "decomposed")  # of tables
MPLS_FIELD, DSCP_FIELD = TUNNEL_FIELDS = ("mpls", "dscp")  # what carries a packet's tunnel and its tag


def dscp_conflict(priorities: str, notified_by: str) -> str | None:
    """Why tunnels in the DSCP do not go together with these choices, in one sentence; None: they do.

    Examples
    --------
    >>> dscp_conflict("single", "controller")
    >>> dscp_conflict("four", "controller")
    'the DSCP cannot name both tunnel and class (priorities four); use priorities single, or tunnel_field mpls'
    """
    if priorities != PRIORITIES[0]:
        return (
            f"the DSCP cannot name both tunnel and class (priorities {priorities}); use priorities {PRIORITIES[0]}, "
            f"or tunnel_field {MPLS_FIELD}"
        )
    if notified_by != CONTROLLER_NOTIFIES:
        return (
            f"agents notify each other by labels, which tunnels in the DSCP do not have; use notified_by "
            f"{CONTROLLER_NOTIFIES}, or tunnel_field {MPLS_FIELD}"
        )
    return None


def uses_agent(mode: str) -> bool:
    """Whether agents act in a mode of this name; "none" is no mode.

    Examples
    --------
    >>> uses_agent("agent"), uses_agent("learned"), uses_agent("none")
    (True, False, False)
    """
    return mode in MODES and MODES[mode].uses_agent


def mode_words(mode: str) -> str:
    """What headings say of a mode.

    Examples
    --------
    >>> mode_words("agent"), mode_words("none")
    (', agent mode', '')
    """
    return "" if mode == NO_MODE else f", {mode} mode"
