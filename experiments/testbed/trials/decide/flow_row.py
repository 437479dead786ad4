"""The row of a trial of kind "flows"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from experiments.analysis.events import Event
from experiments.analysis.trust import Health, assess
from experiments.campaign.kinds.flows import FlowsMeasured, Path, Rates, Windows
from experiments.campaign.values import Timing, Trial
from experiments.scenario.flow_values import FlowRecord, FlowTiming, Placed
from mininet_topos.topology import Direction

# Datagrams that are lost before anything is broken (%): more says that the network does not carry what it should.
MOST_LOST_PERCENT = 1.0
# TCP that misses more of its rate before the failure (%) is reported; small flows on full links keep to it less.
MOST_MISSING_PERCENT = 5.0
_NOTIFIED = ("restoration_begin", "restoration_done")


@dataclass(frozen=True)
class SeenFlows:
    """What became of a trial.

    Attributes
    ----------
    records
        One for each placed flow.
    links
        Mbit/s by link direction, window and queue.
    fluid
        What the fluid delivers, by flow name.
    failure_s
        CLOCK_MONOTONIC of the failure.
    events
        Of the trial.
    """

    trial: Trial
    placed: Sequence[Placed]
    records: Sequence[FlowRecord]
    links: Mapping[str, Mapping[str, Mapping[int, float]]]
    fluid: Mapping[str, Mapping[str, float]]
    failure_s: float
    events: Sequence[Event]
    health: Health
    load_per_core: float = 0.0


def flow_timing(timing: Timing, settle_s: float) -> FlowTiming:
    """Windows of a measured run for those of a trial, after so many seconds of sending."""
    after_s = timing.transient_s + timing.converged_s
    return FlowTiming(settle_s, timing.before_s, after_s, timing.converged_s)


def flow_row(seen: SeenFlows, timing: FlowTiming) -> FlowsMeasured:
    """What figures read of a trial."""
    warnings, trustworthy = assess(seen.health)
    doubts = (*lost_before(seen.records), *silent_before(seen.records))
    return FlowsMeasured(
        failed_links=seen.trial.links,
        flows=tuple(seen.records),
        paths={each.flow.name: Path(_names(each.before), _names(each.after)) for each in seen.placed},
        links={name: _of_windows(windows) for name, windows in seen.links.items()},
        fluid={name: Rates(**rates) for name, rates in seen.fluid.items()},
        stages_ms=stages_ms(seen.events, seen.failure_s),
        windows_s=Windows(timing.before_s, timing.after_s, timing.final_s),
        warnings=(*doubts, *warnings, *missing_before(seen.records)),
        trustworthy=trustworthy and not doubts,
        load_per_core=round(seen.load_per_core, 2),
    )


def stages_ms(events: Iterable[Event], failure_s: float) -> dict[str, float | None]:
    """Milliseconds from the failure until the controller heard of it, and until the last switch had its rows."""
    found: dict[str, float | None] = dict.fromkeys(("notified", "answered"))
    for name, event in zip(found, _NOTIFIED, strict=True):
        stamps = [each.t_s for each in events if each.name == event and each.t_s >= failure_s]
        found[name] = round(1000.0 * (min(stamps) - failure_s), 2) if stamps else None
    return found


def lost_before(records: Iterable[FlowRecord]) -> list[str]:
    """A sentence when datagrams were lost before anything was broken."""
    known = [each for each in records if each.transport == "udp" and each.lost_percent_before is not None]
    offered = sum(each.offered_mbps or 0.0 for each in known)
    if not offered:
        return []
    lost = sum((each.offered_mbps or 0.0) * (each.lost_percent_before or 0.0) for each in known) / offered
    return [f"{lost:.1f} % of UDP was lost before anything was broken"] if lost > MOST_LOST_PERCENT else []


def silent_before(records: Iterable[FlowRecord]) -> list[str]:
    """A sentence when flows carried nothing before anything was broken: their sender did not get to run."""
    silent = [each.name for each in records if each.before_mbps <= 0.0]
    return [f"{', '.join(silent)} carried nothing before anything was broken"] if silent else []


def missing_before(records: Iterable[FlowRecord]) -> list[str]:
    """A sentence when TCP carried less than its rate before the failure."""
    known = [each for each in records if each.transport == "tcp" and each.offered_mbps is not None]
    offered = sum(each.offered_mbps or 0.0 for each in known)
    missing = 100.0 * (1 - sum(each.before_mbps for each in known) / offered) if offered else 0.0
    return (
        [f"TCP carried {missing:.1f} % less than it offers before the failure"]
        if missing > MOST_MISSING_PERCENT
        else []
    )


def _of_windows(windows: Mapping[str, Mapping[int, float]]) -> dict[str, dict[str, float]]:
    return {
        window: {str(queue): round(mbps, 4) for queue, mbps in queues.items()} for window, queues in windows.items()
    }


def _names(path: Iterable[Direction]) -> tuple[str, ...]:
    return tuple(f"{hop.src}>{hop.dst}" for hop in path)
