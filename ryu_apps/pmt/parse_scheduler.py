"""Keys `scheduler` and `shares` of a PMT: how its classes share a control port and a controller."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence

from yaml.nodes import Node

from ryu_apps.pmt.document import Place, read_choice, read_mapping
from ryu_apps.pmt.document import read_text as text_of
from ryu_apps.pmt.scheduling import Scheduler, SchedulerKind

_MOST_PERCENT = 100.0


def read_scheduler(keys: Mapping[str, tuple[Node, Place]], names: Sequence[str]) -> Scheduler:
    """Scheduler of a table.

    Parameters
    ----------
    keys
        Keys of the file; `scheduler` and `shares` may be among them.
    names
        What the classes are called; none when the table has no rules.

    Raises
    ------
    PmtError
        An unknown scheduler, a share of no class, or shares that cannot be given.
    """
    kind = read_choice(*keys["scheduler"], "scheduler", SchedulerKind) if "scheduler" in keys else SchedulerKind.STRICT
    if not names and kind is not SchedulerKind.STRICT:
        raise keys["scheduler"][1].error(f"scheduler: {kind.value} has no classes; add rules or leave it out")
    return Scheduler(kind, _read_shares(*keys["shares"], kind, names) if "shares" in keys else ())


def _read_shares(node: Node, place: Place, kind: SchedulerKind, names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    if kind is SchedulerKind.STRICT:
        raise place.error("shares mean nothing with strict priority; write scheduler: weighted or scheduler: min-rate")
    found = {}
    for name, (value, here) in read_mapping(node, place.source, "shares").items():
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1) or [", ".join(names)]
            raise here.error(f"shares name {name!r}, which no rule uses; did you mean {close[0]}?")
        found[name] = _read_share(text_of(value, place.source, name), name, here)
    total = sum(found.values())
    if kind is SchedulerKind.MIN_RATE and total > _MOST_PERCENT + 1e-9:
        raise place.error(f"guaranteed shares add up to {total:g} %; lower them to {_MOST_PERCENT:g} in sum")
    return tuple(sorted(found.items()))


def _read_share(text: str, name: str, place: Place) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < math.inf:
        raise place.error(f"share of {name} is {text!r}; give a number above 0: a weight, or percent with min-rate")
    return share
