"""The error tree of Armor. Every message names the offending value and the likely repair."""


class ArmorError(Exception):
    """Base of every error that Armor raises on purpose; the command line prints it as one line."""

    exit_code = 1


class BadInputError(ArmorError):
    """Something the user gave (file, flag, value) cannot be used; exit code 2."""

    exit_code = 2


class TopologyError(BadInputError):
    """A topology file or value breaks a rule of the topology model."""


class PlanError(ArmorError):
    """A rule plan breaks a rule that a switch would not have caught."""


class PlanLimitError(BadInputError):
    """A scheme cannot be planned on this topology (for example more links than tag ids)."""


class MissingRequirementError(ArmorError):
    """The machine lacks something that the command needs (a program, a right, a kernel feature)."""

    exit_code = 2
