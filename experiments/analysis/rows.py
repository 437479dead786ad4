"""Rows of result files: one a probe packet and way, one a failure and way; every parameter is a column."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.analysis.packet_counts import WAYS, Flight
from experiments.analysis.result import FailureResult, Json, RunResult
from experiments.analysis.timeline import WayOutcome


def probe_rows(result: RunResult) -> Iterator[Json]:
    """One row for each packet of each way; seconds count from the run's zero."""
    zero_s = result.record.zero_s
    for stream in result.record.streams:
        for name, flights in zip(WAYS, stream.flights, strict=True):
            for flight in flights:
                yield {
                    "run": result.record.variation.name,
                    "from": stream.traffic.source,
                    "to": stream.traffic.destination,
                    "kind": stream.traffic.kind,
                    "way": name,
                    **_flight_columns(flight, zero_s),
                }


def _flight_columns(flight: Flight, zero_s: float) -> Json:
    back = flight.back_hops
    columns: Json = {
        "sequence": flight.sequence,
        "sent_s": round(flight.sent_s - zero_s, 6),
        "arrived_s": None if flight.is_lost else round(flight.arrivals_s[0] - zero_s, 6),
        "copies": len(flight.arrivals_s),
        "hops": len(flight.hops),
        "back_hops": len(back),
    }
    if back:
        columns["route"] = [[str(hop.direction), hop.status, round(hop.t_s - zero_s, 6)] for hop in flight.hops]
    return columns


def failure_rows(result: RunResult) -> Iterator[Json]:
    """One row for each failure, stream and way."""
    record, variation = result.record, result.record.variation
    for failure in result.failures:
        for stream, outcomes in zip(record.streams, failure.outcomes, strict=True):
            for way, outcome in zip(WAYS, outcomes, strict=True):
                yield {
                    "run": variation.name,
                    "status": "ok",
                    "topology": record.scenario.topology_name,
                    "scheme": variation.scheme,
                    "mode": variation.mode,
                    "planner": variation.planner,
                    "routes": variation.routes,
                    "seed": record.scenario.seed,
                    "bfd_interval_ms": record.bfd_interval_ms,
                    "failure": failure.failure.what,
                    "failure_kind": failure.failure.kind,
                    "at_s": failure.failure.at_s,
                    "from": stream.traffic.source,
                    "to": stream.traffic.destination,
                    "probe": stream.traffic.kind,
                    "way": way,
                    **_outcome_columns(failure, outcome),
                    "trustworthy": record.trustworthy,
                }


def _outcome_columns(failure: FailureResult, outcome: WayOutcome) -> Json:
    start_s = failure.window.start_s

    def after_ms(stamp_s: float | None) -> float | None:
        return None if stamp_s is None else round((stamp_s - start_s) * 1000, 3)

    counts = outcome.counts
    return {
        "detect_ms": failure.stages.detect,
        "first_switchover_ms": after_ms(outcome.first_switchover_s),
        "first_good_ms": after_ms(outcome.first_good_s),
        "last_lost_ms": after_ms(outcome.last_lost_s),
        "last_crankback_ms": after_ms(outcome.last_crankback_s),
        "steady_ms": after_ms(outcome.steady_s),
        "outage_ms": round(outcome.outage_ms, 3),
        "is_affected": outcome.is_affected,
        "has_recovered": outcome.has_recovered,
        "sent": counts.sent,
        "received": counts.received,
        "lost": counts.lost,
        "duplicated": counts.duplicated,
        "reordered": counts.reordered,
        "backtracked": counts.backtracked,
    }
