"""The paper's estimate of how long a PMT keeps a packet: a binary search over flow table and PMT (section 5.5)."""

from __future__ import annotations

import math

from mininet_topos.errors import BadInputError

TCAM_OPERATION_US = 20.0


def matching_delay_us(n_flows: int, n_rules: int, operation_us: float = TCAM_OPERATION_US) -> float:
    """Return K log2(n m), the time to find a packet's flow and rule.

    Parameters
    ----------
    n_flows
        Entries of the flow tables on the pipeline (n), at least 1.
    n_rules
        Rules of the PMT (m), at least 1.
    operation_us
        Time of one TCAM operation (K), microseconds.

    Raises
    ------
    BadInputError
        A number that is not positive.

    Examples
    --------
    >>> round(matching_delay_us(1, 5))
    46
    """
    for name, value in (("n_flows", n_flows), ("n_rules", n_rules), ("operation_us", operation_us)):
        if not value > 0 or not math.isfinite(value):
            raise BadInputError(f"{name} = {value} gives no matching delay; use a positive number")
    return operation_us * (math.log2(n_flows) + math.log2(n_rules))
