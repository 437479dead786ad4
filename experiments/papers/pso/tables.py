"""Tables of PSO's ids: one line a load (or behaviour) and arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.campaign.statistics import Estimate
from experiments.campaign.values import Json
from experiments.papers.figure import Table
from experiments.papers.pso import setup
from experiments.papers.pso.claims import behaving, gained_mb
from experiments.papers.pso.measures import (
    HIGH,
    LOW,
    Choice,
    Measure,
    all_answers_pps,
    answered_kbps,
    chosen,
    estimate,
    lost_percent,
    mean_ms,
    nls_of,
    of_class,
)

_LOAD: tuple[tuple[str, Measure], ...] = (
    ("high lost %", lost_percent(HIGH)),
    ("high mean ms", mean_ms(HIGH)),
    ("high p99 ms", of_class(HIGH, "p99_ms")),
    ("high kbit/s", answered_kbps(HIGH)),
    ("low lost %", lost_percent(LOW)),
    ("low mean ms", mean_ms(LOW)),
    ("answers/s", all_answers_pps),
)


def load_table(rows: Sequence[Json], choices: Sequence[Choice]) -> Table:
    """Loss, delay and throughput over the load, mean with 95 % interval."""
    lines = []
    for choice in choices:
        for nl in nls_of(rows, choice):
            for arm in setup.ARMS:
                mine = chosen(rows, Choice(choice.regime, (nl,), choice.burst_pkts), arm.name)
                bursts = f", bursts of {choice.burst_pkts}" if choice.burst_pkts else ""
                name = f"{choice.regime}{bursts}, NL {nl:g}, {arm.name.upper()}"
                lines.append((name, str(len(mine)), *(_cell(mine, measure) for _, measure in _LOAD)))
    return Table(("load", "trials", *(name for name, _ in _LOAD)), tuple(lines))


_BESIDE: tuple[tuple[str, Measure], ...] = (
    ("high lost %", lost_percent(HIGH)),
    ("high p99 ms", of_class(HIGH, "p99_ms")),
    ("low lost %", lost_percent(LOW)),
    ("memory MB", lambda row: float(row["controller_rss_mb"])),
    ("gained MB", gained_mb),
)


def with_spread(found: Estimate | None) -> str:
    """A mean and half of its interval, for people."""
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.3g}"
    return f"{found.value:.3g} ±{found.high - found.value:.2g}"


def misbehaving_table(rows: Sequence[Json]) -> Table:
    """High class of others, and memory, for every behaviour."""
    lines = []
    for behaviour in setup.BEHAVIOURS:
        for arm in setup.ARMS:
            mine = behaving(rows, behaviour, arm.name)
            if mine:
                name = f"{setup.WORDS[behaviour]}, {arm.name.upper()}"
                cells = (_cell(mine, measure) for _, measure in _BESIDE)
                lines.append((name, str(len(mine)), *cells, _named_errors(mine)))
    return Table(("behaviour", "trials", *(name for name, _ in _BESIDE), "errors named"), tuple(lines))


def _named_errors(rows: Sequence[Json]) -> str:
    """Errors of all trials by name, the most frequent first."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(row.get("faults") or {})
    return "; ".join(f"{count} {name}" for name, count in counts.most_common(4)) or "-"


def _cell(rows: Sequence[Json], measure: Measure) -> str:
    return with_spread(estimate(rows, measure))
