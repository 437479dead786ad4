"""What calibration found, judged: may the numbers of this campaign be trusted?

The testbed measures (a few seconds with the campaign's load and no failure), this module decides. A machine that
falls short does not stop a campaign: its figures say so in their captions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from experiments.campaign.values import Json

# Before calibration and where there is none.
DEFAULT_BFD_INTERVAL_MS = 20
# Shares and counts within which a machine counts as fit.
LEAST_LINK_SHARE = 0.95
LEAST_UDP_SHARE = 0.99
MOST_PING_LOSS = 0.001
MOST_LOAD_PER_CORE = 1.0
# What the testbed measures with the load of a mixed trial.
_UNDER_LOAD = ("bfd", "ping", "udp", "link")
# The controller's packets overtake the others on a full link; a tenth is far below what a full queue costs.
MOST_CONTROL_SHARE = 0.1


def problems(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Why a campaign on this machine is not trustworthy; empty when it is.

    Parameters
    ----------
    facts
        As the testbed measured them; a key that is missing or None was not measured and is not held against the
        machine.

    Examples
    --------
    >>> problems({"link": {"capacity_mbps": 5, "reached_mbps": 4.2}})
    ('link rate reached 4.2 of 5 Mbit/s',)
    """
    found = (check(facts) for check in _CHECKS)
    return tuple(problem for problem in found if problem is not None)


def bfd_interval_ms(facts: Mapping[str, object]) -> int:
    """BFD interval that the campaign uses."""
    interval = facts.get("bfd_interval_ms")
    return int(interval) if isinstance(interval, int | float) else DEFAULT_BFD_INTERVAL_MS


def judged(facts: Json) -> Json:
    """What is stored: the facts with the judgement."""
    found = problems(facts)
    return {**facts, "bfd_interval_ms": bfd_interval_ms(facts), "trustworthy": not found, "problems": list(found)}


def calibration_text(stored: Json) -> str:
    """One line for the terminal."""
    parts = [f"BFD every {stored['bfd_interval_ms']} ms"]
    for key, unit, words in (
        ("link", "Mbit/s", ("reached_mbps", "capacity_mbps", "link rate")),
        ("udp", "Mbit/s", ("received_mbps", "offered_mbps", "UDP")),
    ):
        part = _part(stored, key)
        got, wanted, name = part.get(words[0]), part.get(words[1]), words[2]
        if got is not None and wanted is not None:
            parts.append(f"{name} {got:.3g} of {wanted:.3g} {unit}")
    ping = _part(stored, "ping")
    if ping.get("sent"):
        parts.append(f"{ping['lost'] or 0} of {ping['sent']:,} pings lost")
    if isinstance(stored.get("load_per_core"), int | float):
        parts.append(f"load {stored['load_per_core']:.2f} a core")
    if not any(stored.get(key) for key in _UNDER_LOAD):
        parts.append("nothing measured under load (no trial of this campaign has pings and UDP)")
    said = "; ".join(stored["problems"])
    return f"calibration: {', '.join(parts)}" + (f". Not trustworthy: {said}" if said else "")


def distrust_caption(stored: Json | None, rows: Sequence[Json]) -> str:
    """What a caption must say about trust; empty when there is nothing to say.

    Parameters
    ----------
    stored
        calibration.json; None for campaigns that measure nothing.
    rows
        Rows behind the figure.
    """
    reasons = list(stored.get("problems", ())) if stored else []
    doubtful = [row for row in rows if row.get("trustworthy") is False]
    if doubtful:
        trusted = [row for row in rows if row.get("trustworthy") is not False]
        reasons.append(f"{len(doubtful)} of {len(rows)} trials doubtful ({_commonest(doubtful, trusted)})")
    return f"not trustworthy: {'; '.join(reasons)}" if reasons else ""


def _commonest(doubtful: Sequence[Json], trusted: Sequence[Json]) -> str:
    """The warning that most doubtful rows have, whatever its numbers; what trusted rows have too is no reason."""
    harmless = {_without_numbers(warning) for row in trusted for warning in row.get("warnings") or ()}
    counts: Counter[str] = Counter()
    said: dict[str, str] = {}
    for row in doubtful:
        kinds = {_without_numbers(warning): str(warning) for warning in row.get("warnings") or ()}
        counts.update(kinds.keys() - harmless or {""})
        said = {**kinds, **said}
    return said.get(counts.most_common(1)[0][0], "no reason given")


def _without_numbers(warning: object) -> str:
    return re.sub(r"[0-9][0-9.,]*", "0", str(warning))


def _part(facts: Mapping[str, object], key: str) -> Mapping[str, float | None]:
    value = facts.get(key)
    return value if isinstance(value, Mapping) else {}


def _numbers(facts: Mapping[str, object], key: str, *names: str) -> tuple[float, ...] | None:
    """Numbers of one measurement; None when one of them was not measured."""
    part = _part(facts, key)
    values = tuple(value for value in (part.get(name) for name in names) if value is not None)
    return values if len(values) == len(names) else None


def _busy(facts: Mapping[str, object]) -> str | None:
    load = facts.get("load_per_core")
    if isinstance(load, int | float) and load > MOST_LOAD_PER_CORE:
        return f"host busy (load {load:.2f} a core)"
    return None


def _flapping(facts: Mapping[str, object]) -> str | None:
    tried = facts.get("bfd")
    chosen = bfd_interval_ms(facts)
    for attempt in tried if isinstance(tried, Sequence) else ():
        if attempt["interval_ms"] == chosen and attempt["flaps"]:
            return f"BFD flapped {attempt['flaps']} times in {attempt['seconds']:g} s at {chosen} ms without a failure"
    return None


def _lost_pings(facts: Mapping[str, object]) -> str | None:
    numbers = _numbers(facts, "ping", "sent", "lost")
    if numbers is None or not numbers[0] or numbers[1] / numbers[0] <= MOST_PING_LOSS:
        return None
    return f"{numbers[1]:.0f} of {numbers[0]:.0f} pings lost without a failure"


def _slow_udp(facts: Mapping[str, object]) -> str | None:
    numbers = _numbers(facts, "udp", "received_mbps", "offered_mbps")
    if numbers is None or numbers[0] >= LEAST_UDP_SHARE * numbers[1]:
        return None
    return f"{numbers[0]:.3g} of {numbers[1]:.3g} Mbit/s UDP arrived without a failure"


def _slow_link(facts: Mapping[str, object]) -> str | None:
    numbers = _numbers(facts, "link", "reached_mbps", "capacity_mbps")
    if numbers is None or numbers[0] >= LEAST_LINK_SHARE * numbers[1]:
        return None
    return f"link rate reached {numbers[0]:.3g} of {numbers[1]:.3g} Mbit/s"


def _full_link_flaps(facts: Mapping[str, object]) -> str | None:
    flaps = facts.get("full_link_flaps")
    return f"BFD flapped {flaps} times on a full link" if flaps else None


def _loose_queue(facts: Mapping[str, object]) -> str | None:
    numbers = _numbers(facts, "full_link_delay_ms", "control_ms", "best_effort_ms")
    if numbers is None or numbers[0] <= MOST_CONTROL_SHARE * numbers[1]:
        return None
    return f"queue not strict: control packets wait {numbers[0]:.3g} ms behind others' {numbers[1]:.3g} ms"


_CHECKS: tuple[Callable[[Mapping[str, object]], str | None], ...] = (
    _busy,
    _flapping,
    _lost_pings,
    _slow_udp,
    _slow_link,
    _full_link_flaps,
    _loose_queue,
)
