"""The result of a run: stages of every failure, accounts of every probe, and whether the scheme kept its promise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from experiments.analysis.injected import failed_links, failure_window, repair_window
from experiments.analysis.loss_claims import control_claims, count_in, loss_claims
from experiments.analysis.notices import Knowledge, knowledge
from experiments.analysis.packet_counts import Counts
from experiments.analysis.record import Promise, Record, Stream
from experiments.analysis.timeline import Stages, WayOutcome, Window, stages, way_outcome
from experiments.scenario.failure import Failure, failed_link

Json = dict[str, object]
# A window must leave time for the scheme to act: detection by BFD at its slowest; and after a repair the 1 to 3 s
# that BFD sessions take to come up again.
MIN_RECOVERY_S, MIN_RETURN_S = 1.0, 4.0


@dataclass(frozen=True)
class FailureResult:
    """One failure: its stages, what it did to each way of each stream, and who was notified (None: nobody can be)."""

    failure: Failure
    window: Window
    stages: Stages
    outcomes: tuple[tuple[WayOutcome, WayOutcome], ...]
    after_repair: tuple[tuple[WayOutcome, WayOutcome], ...] | None
    knowledge: Knowledge | None = None

    def to_json(self, zero_s: float) -> Json:
        """The shape of `run --json`; `failure_s` and `until_s` bound its time, in seconds after the run's zero."""
        counts = _total(outcome for pair in self.outcomes for outcome in pair)
        outage_ms = max((outcome.outage_ms for pair in self.outcomes for outcome in pair), default=0.0)
        link = failed_link(self.failure)
        value: Json = {
            "link": None if link is None else [link.a, link.b],
            "what": self.failure.what,
            "kind": self.failure.kind,
            "at_s": self.failure.at_s,
            "repair_at_s": self.failure.end_s,
            "failure_s": round(self.window.start_s - zero_s, 6),
            "until_s": round(self.window.end_s - zero_s, 6),
            "stages_ms": self.stages.to_dict(),
            "recovered": all(outcome.has_recovered for pair in self.outcomes for outcome in pair),
            "outage_ms": round(outage_ms, 3),
            "lost": counts.lost,
            "backtracked": counts.backtracked,
            "notification": None if self.knowledge is None else self.knowledge.to_json(),
        }
        if self.after_repair is not None:
            value["lost_after_repair"] = _total(outcome for pair in self.after_repair for outcome in pair).lost
        return value


@dataclass(frozen=True)
class Claim:
    """Something that must hold, whether it did, and why not."""

    name: str
    held: bool
    detail: str = ""

    def to_json(self) -> Json:
        """Plain data."""
        return {"name": self.name, "held": self.held, "detail": self.detail}


@dataclass(frozen=True)
class RunResult:
    """Result of one run of one variation."""

    record: Record
    failures: tuple[FailureResult, ...]
    claims: tuple[Claim, ...]

    @property
    def counts(self) -> Counts:
        """Packet counts of all ways together, from the run's zero on, datagrams among them."""
        followed = [part for pair in self.counts_by_way for part in pair]
        return sum((*followed, *(each.counts for each in self.record.datagrams)), Counts())

    @property
    def counts_by_way(self) -> tuple[tuple[Counts, Counts], ...]:
        """Packet counts of each stream: (out, back)."""
        window = Window(self.record.zero_s, self.record.end_s)
        return tuple(
            (count_in(stream.flights[0], window), count_in(stream.flights[1], window)) for stream in self.record.streams
        )

    @property
    def held(self) -> bool:
        """Whether every claim held."""
        return all(claim.held for claim in self.claims)

    def to_json(self) -> Json:
        """The shape of `run --json` (one entry of `runs`)."""
        variation, counts = self.record.variation, self.counts
        return {
            "run": variation.name,
            "scheme": variation.scheme,
            "mode": variation.mode,
            "variant": variation.variant,
            "planner": variation.planner,
            "routes": variation.routes,
            "bfd_interval_ms": self.record.bfd_interval_ms,
            "failures": [failure.to_json(self.record.zero_s) for failure in self.failures],
            **_counts_json(counts),
            "probes": [
                {
                    "from": stream.traffic.source,
                    "to": stream.traffic.destination,
                    "kind": stream.traffic.kind,
                    "out": _counts_json(out),
                    "back": _counts_json(back),
                }
                for stream, (out, back) in zip(self.record.streams, self.counts_by_way, strict=True)
            ],
            "loads": [
                *(each.to_json() for each in self.record.datagrams),
                *(each.to_json() for each in self.record.tcp),
            ],
            "claims": [claim.to_json() for claim in self.claims],
            "held": self.held,
            "trustworthy": self.record.trustworthy,
            "warnings": list(self.record.warnings),
        }


def judge(record: Record, promise: Promise) -> RunResult:
    """Stages, accounts and claims of a run.

    Parameters
    ----------
    record
        What the run left behind.
    promise : callable
        What the scheme promises; claims are made only where it does.
    """
    results = tuple(_failure_result(record, number) for number in range(len(record.scenario.failures)))
    claims = [claim for result in results for claim in _recovery_claims(record, result, promise)]
    claims += _return_claims(record, results, promise)
    claims += [Claim(*judged) for judged in (*loss_claims(record, promise), *control_claims(record, promise))]
    return RunResult(record, results, tuple(claims))


def _failure_result(record: Record, number: int) -> FailureResult:
    failures = record.scenario.failures
    failure = failures[number]
    window = failure_window(number, failures, record.injected, record.end_s)
    outcomes = _outcomes(record.streams, window)
    link = failed_link(failure)
    beside = [t_s for node, t_s in record.detections if link is None or node in (link.a, link.b)]
    repaired = repair_window(number, record.injected, record.end_s)
    return FailureResult(
        failure=failure,
        window=window,
        stages=stages(window, [outcome for pair in outcomes for outcome in pair], beside, record.installs_s),
        outcomes=outcomes,
        after_repair=None if repaired is None else _outcomes(record.streams, repaired),
        knowledge=_knowledge(record, window, beside),
    )


def _knowledge(record: Record, window: Window, detections_s: Sequence[float]) -> Knowledge | None:
    if record.notices is None:
        return None
    detected_s = min((t_s for t_s in detections_s if window.holds(t_s)), default=None)
    return knowledge(record.scenario.topology.node_names, record.notices, window, detected_s)


def _outcomes(streams: Sequence[Stream], window: Window) -> tuple[tuple[WayOutcome, WayOutcome], ...]:
    return tuple((way_outcome(stream.flights[0], window), way_outcome(stream.flights[1], window)) for stream in streams)


def _recovery_claims(record: Record, result: FailureResult, promise: Promise) -> list[Claim]:
    """One claim for each stream that the scheme promises to deliver in spite of the failure."""
    if result.window.end_s - result.window.start_s < MIN_RECOVERY_S:
        return []
    name = f"recovers from {result.failure.kind} failure of {result.failure.what}"
    return _delivery_claims(record, result.outcomes, result.failure.at_s, promise, name)


def _return_claims(record: Record, results: Sequence[FailureResult], promise: Promise) -> list[Claim]:
    """Delivery after each repair, and at the end switches that hold their plans and nothing stale."""
    claims = []
    for number, result in enumerate(results):
        window = repair_window(number, record.injected, record.end_s)
        if window is None or result.after_repair is None or window.end_s - window.start_s < MIN_RETURN_S:
            continue
        name = f"is delivered after the repair of {result.failure.what}"
        claims += _delivery_claims(record, result.after_repair, result.failure.end_s or 0.0, promise, name)
    if record.dumps:
        wrong = [report for report in record.dumps if not report.is_clean]
        compared = sum(report.compared for report in record.dumps)
        kept = sum(len(report.temporary) for report in record.dumps)
        detail = f"{len(record.dumps)} switches, {compared:,} rows compared, {kept} kept by failures that last"
        broken = "; ".join(
            f"{report.node}: {len(report.missing)} rows missing, {len(report.stale)} stale" for report in wrong[:5]
        )
        claims.append(Claim("every switch holds its plan and no stale rule", not wrong, broken or detail))
    return claims


def _delivery_claims(
    record: Record,
    outcomes: Sequence[tuple[WayOutcome, WayOutcome]],
    at_s: float,
    promise: Promise,
    name: str,
) -> list[Claim]:
    """Claims that packets are delivered at the end of a window, for the streams that are promised it."""
    topology = record.scenario.topology
    down = failed_links(at_s, record.scenario.failures, topology)
    parts = topology.components(down)
    claims = []
    for stream, pair in zip(record.streams, outcomes, strict=True):
        source, destination = stream.traffic.source, stream.traffic.destination
        if parts[source] != parts[destination] or not any(outcome.counts.sent for outcome in pair):
            continue
        if promise(source, destination, down) and promise(destination, source, down):
            held = all(outcome.has_recovered for outcome in pair)
            claims.append(Claim(f"{stream.name} {name}", held, "" if held else _loss_detail(pair)))
    return claims


def _loss_detail(pair: tuple[WayOutcome, WayOutcome]) -> str:
    lost, sent = (sum(getattr(outcome.counts, name) for outcome in pair) for name in ("lost", "sent"))
    return f"packets were still being lost when its time was over ({lost} of {sent} lost)"


def _total(outcomes: Iterable[WayOutcome]) -> Counts:
    return sum((outcome.counts for outcome in outcomes), Counts())


def _counts_json(counts: Counts) -> Json:
    return {
        "sent": counts.sent,
        "received": counts.received,
        "lost": counts.lost,
        "duplicated": counts.duplicated,
        "reordered": counts.reordered,
        "backtracked": counts.backtracked,
    }
