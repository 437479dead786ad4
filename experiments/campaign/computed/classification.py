"""Classifying a packet-in by a Policy Map Table (pso-fig10): what decides such a trial, and its columns."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.campaign.parameters import Parameters
from experiments.campaign.rows import RowType

FIRST, LAST = "first", "last"


@dataclass(frozen=True, slots=True)
class ClassifyParameters(Parameters):
    """Rules of the table, and how often one packet-in is classified."""

    rules: int
    batches: int
    batch: int


@dataclass(frozen=True, slots=True)
class Classified:
    """Microseconds of one classification, batch by batch, by the rule that decides: `FIRST` or `LAST`."""

    batches_us: dict[str, tuple[float, ...]]


ROWS = RowType("sweep", ClassifyParameters, Classified, "pso-fig10/")


def table_text(n_rules: int) -> str:
    """A Policy Map Table of so many rules: the shipped example's, with more services of their own queue.

    Parameters
    ----------
    n_rules
        At least 4.
    """
    services = [
        f"  - {{traffic_type: 2, ip_proto: 17, udp_dst: {20000 + number}, action: queue_id:1}}"
        for number in range(n_rules - 3)
    ]
    lines = [
        "rules:",
        "  - {traffic_type: 1, action: queue_id:0}",
        *services,
        "  - {traffic_type: 2, action: queue_id:2}",
        "  - {traffic_type: 3, action: queue_id:3}",
    ]
    return "\n".join(lines)
