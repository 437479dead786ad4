"""A recorded run as a view: what `armor run` wrote, and the walks of its plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.analysis.events import Event
from experiments.live.decide.document import ClaimView, FailureView, PairView, PlannedPaths, RunView, Span
from experiments.live.decide.log import Log
from experiments.live.decide.paths import NetworkWhile, paths_of_pair
from experiments.live.decide.series import series_views
from experiments.live.decide.timeline import event_views, failure_view, spans, zero_of
from experiments.scenario.failure import Failure
from experiments.scenario.stream import ProbedTraffic
from experiments.scenario.values import Scenario

Json = Mapping[str, Any]
COUNTS = ("sent", "received", "lost", "duplicated", "reordered", "backtracked")
_FACTS = {"planner": "planner", "routes": "routes", "bfd_interval_ms": "BFD interval, ms"}


@dataclass(frozen=True)
class Recorded:
    """Files of one run.

    Attributes
    ----------
    result
        Its entry in verdict.json.
    events, rows, probes
        Its lines of events.jsonl, rows.jsonl and probes.jsonl.
    """

    result: Json
    events: Sequence[Event]
    rows: Sequence[Json]
    probes: Iterable[Json]


def recorded_view(scenario: Scenario, recorded: Recorded, network_while: NetworkWhile | None) -> RunView:
    """What the page shows of a run.

    Parameters
    ----------
    network_while
        None: the scheme's plan is not walked.
    """
    result = recorded.result
    log = Log(scenario.topology, recorded.events, zero_of(result["failures"], recorded.events))
    # A run that broke off has results of no failure.
    failures = tuple(
        failure_view(failure, each, log) for failure, each in zip(scenario.failures, result["failures"], strict=False)
    )
    series = series_views(scenario.topology, recorded.probes, result.get("probes", ()), _changes_ms(failures))
    begin_ms = min((each.sent_ms[0] for each in series if each.sent_ms), default=0.0)
    end_ms = 1000 * max([scenario.duration_s, *(float(each["until_s"]) for each in result["failures"])])
    last_ms = max([end_ms, *(each.returned_ms for each in failures if each.returned_ms is not None)])
    return RunView(
        name=str(result["run"]),
        scheme=str(result["scheme"]),
        mode=str(result["mode"]),
        begin_ms=begin_ms,
        end_ms=end_ms,
        facts=tuple((label, str(result[key])) for key, label in _FACTS.items() if result.get(key)),
        failures=failures,
        events=tuple(event for event in event_views(log, failures) if event.t_ms <= last_ms),
        pairs=_pairs(scenario, recorded, failures, begin_ms, network_while),
        series=series,
        counts={name: int(result[name]) for name in COUNTS if name in result},
        claims=tuple(
            ClaimView(str(each["name"]), bool(each["held"]), str(each.get("detail") or ""))
            for each in result.get("claims", ())
        ),
        held=bool(result["held"]),
        is_trustworthy=bool(result.get("trustworthy")),
        warnings=tuple(map(str, result.get("warnings", ()))),
        error=str(result.get("error") or ""),
    )


def _changes_ms(failures: Iterable[FailureView]) -> list[float]:
    ends = [at for failure in failures for interval in failure.down for at in interval]
    return [at for at in ends if at is not None]


def _pairs(
    scenario: Scenario,
    recorded: Recorded,
    failures: Sequence[FailureView],
    begin_ms: float,
    network_while: NetworkWhile | None,
) -> tuple[PairView, ...]:
    """Both directions of each stream whose packets were followed, each pair once."""
    views: dict[tuple[str, str], PairView] = {}
    for stream in scenario.traffic:
        if not isinstance(stream, ProbedTraffic):
            continue
        ends = (stream.source, stream.destination)
        for pair, way in ((ends, "out"), (ends[::-1], "back")):
            rows = [row for row in recorded.rows if (row.get("from"), row.get("to"), row.get("way")) == (*ends, way)]
            steps = [(view, _row_of(failure, rows)) for failure, view in zip(scenario.failures, failures, strict=False)]
            taken = spans(begin_ms, steps, scenario.topology.link_ids)
            views.setdefault(pair, PairView(*pair, _paths(network_while, pair, taken), taken))
    return tuple(views.values())


def _paths(
    network_while: NetworkWhile | None, pair: tuple[str, str], taken: Sequence[Span]
) -> tuple[PlannedPaths, ...]:
    if network_while is None:
        return ()
    topology = network_while(frozenset()).topology
    return paths_of_pair(network_while, pair, [frozenset(map(topology.parse_link, span.failed)) for span in taken])


def _row_of(failure: Failure, rows: Iterable[Json]) -> Json | None:
    return next((row for row in rows if (row["failure"], row["at_s"]) == (failure.what, failure.at_s)), None)
