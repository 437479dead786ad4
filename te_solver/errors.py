"""Errors of traffic engineering."""

from mininet_topos.errors import ArmorError, BadInputError


class SolverError(ArmorError):
    """A solver did not finish, or its answer fails the certificate."""


class InfeasibleError(BadInputError):
    """What was asked for cannot be met by any allocation."""
