"""Rates, priorities and quanta of HTB classes, by the scheduler of a Policy Map Table (PSO, section 4.3).

HTB serves classes within their own rate first, and lends the rest of the link: to the lowest priority number first,
and among equal numbers by deficit round robin in proportion to their quanta. So one tree makes all three schedulers:

- strict: own rates as low as can be, all else lent strictly by priority;
- weighted: own rates and quanta in proportion to the weights, one priority for all;
- min-rate: own rates as guaranteed, the rest lent strictly by priority.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mininet_topos.errors import BadInputError
from ryu_apps.pmt.scheduling import SchedulerKind

LEAST_RATE_KBIT = 1  # HTB cannot give a class nothing; of 5 Mbit/s this is one part in 5,000
QUANTUM_BYTES = 1600  # a frame at least, or HTB counts wrong
_MOST_QUANTUM_BYTES = 200_000  # the kernel warns of more


@dataclass(frozen=True, slots=True)
class ClassRate:
    """One class: what it has for itself, its place when the rest is lent, and how much it takes at a time."""

    rate_kbit: int
    priority: int
    quantum_bytes: int = QUANTUM_BYTES


def class_rates(kind: SchedulerKind, shares: Sequence[float], rate_kbit: float) -> tuple[ClassRate, ...]:
    """Rates of the classes of a link; they never add up to more than the link has, unless strict ones do.

    Parameters
    ----------
    shares
        Of each class, most urgent first: weights (weighted), or guaranteed fractions of which 0 is none (min-rate).
        Strict priority only counts them.
    rate_kbit
        Of the link.

    Raises
    ------
    BadInputError
        A weight is so small beside the others that its class would get less than 1 kbit/s.
    """
    if kind is SchedulerKind.STRICT:
        return tuple(ClassRate(LEAST_RATE_KBIT, rank) for rank in range(len(shares)))
    if kind is SchedulerKind.MIN_RATE:
        free_kbit = max(rate_kbit - LEAST_RATE_KBIT * len(shares), 0)
        return tuple(ClassRate(LEAST_RATE_KBIT + int(free_kbit * share), rank) for rank, share in enumerate(shares))
    rates = [int(rate_kbit * share / sum(shares)) for share in shares]
    if min(rates) < LEAST_RATE_KBIT:
        raise BadInputError(
            f"a weight of {min(shares):g} in {sum(shares):g} gives a class less than {LEAST_RATE_KBIT} kbit/s of "
            f"{rate_kbit:g}; raise the weight or the rate of the link"
        )
    quanta = (min(round(QUANTUM_BYTES * share / min(shares)), _MOST_QUANTUM_BYTES) for share in shares)
    return tuple(ClassRate(rate, 0, quantum) for rate, quantum in zip(rates, quanta, strict=True))
