"""The result of a run that measures flows: stages, counts, and whether they are what was expected and promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.analysis.result import Claim, Json
from experiments.analysis.timeline import Stages
from experiments.scenario.failure import failed_link
from experiments.scenario.flow_values import BIN_S, FlowRecord
from experiments.scenario.tunnel_values import Expected
from experiments.scenario.values import Scenario, Variation

# What Kuijia promises of flows that are no victims: the band of the paper's tables.
KEPT_PERCENT = 10.0
_TINY_MBPS = 0.05


@dataclass(frozen=True)
class FlowRun:
    """What one run left behind.

    Attributes
    ----------
    scenario, variation : Scenario, Variation
    fluid
        Flow -> "before_mbps", "after_mbps" of te_solver's fluid; empty for schemes of routes.
    links
        Link direction -> "before", "after" -> queue -> Mbit/s.
    stays
        Flows whose path is the same before and after.
    failure_s
        CLOCK_MONOTONIC.
    detections_s, installs_s
        When switches reported failed ports, and when ingress switches had confirmed their new rows.
    wrong_rows
        What is wrong with the switches' rows at the end; empty: nothing.
    """

    scenario: Scenario
    variation: Variation
    records: tuple[FlowRecord, ...]
    fluid: Mapping[str, Mapping[str, float]]
    links: Mapping[str, Mapping[str, Mapping[int, float]]]
    stays: frozenset[str]
    failure_s: float
    detections_s: tuple[float, ...] = ()
    installs_s: tuple[float, ...] = ()
    bfd_interval_ms: int | None = None
    wrong_rows: str = ""
    warnings: tuple[str, ...] = ()
    trustworthy: bool = True


@dataclass(frozen=True)
class FlowResult:
    """A run and its claims."""

    run: FlowRun
    claims: tuple[Claim, ...]

    @property
    def held(self) -> bool:
        """Whether every claim held."""
        return all(claim.held for claim in self.claims)

    def flows_json(self) -> list[Json]:
        """Every flow: its record, the fluid beside it, what is expected of it."""
        return [_flow(record, self.run) for record in self.run.records]

    def to_json(self) -> Json:
        """The shape of `run --json` (one entry of `runs`); datagrams of UDP flows are its counts."""
        run = self.run
        return {
            "run": run.variation.name,
            "scheme": run.variation.scheme,
            "mode": run.variation.mode,
            "bfd_interval_ms": run.bfd_interval_ms,
            "failures": _failures(run),
            **_counts(run.records),
            "flows": self.flows_json(),
            "links": {
                link: {
                    window: {str(queue): round(mbps, 4) for queue, mbps in queues.items()}
                    for window, queues in of_link.items()
                }
                for link, of_link in run.links.items()
            },
            "claims": [claim.to_json() for claim in self.claims],
            "held": self.held,
            "trustworthy": run.trustworthy,
            "warnings": list(run.warnings),
        }


def judge_flows(run: FlowRun, *, keeps_others: bool) -> FlowResult:
    """Claims of a run.

    Parameters
    ----------
    keeps_others
        Whether the scheme promises that flows that are no victims keep their throughput.
    """
    claims = [_met(record, each) for record in run.records for each in _of(run, record) if _says_something(each)]
    if run.scenario.rerun is not None:
        claims += [_undisturbed(record) for record in run.records if record.name in run.stays]
    elif keeps_others:
        others = (record for record in run.records if record.kind != "victim")
        claims += [_kept(record) for record in others if not any(map(_is_about_after, _of(run, record)))]
    claims.append(Claim("rows", not run.wrong_rows, run.wrong_rows))
    return FlowResult(run, tuple(claims))


def is_met(expected: Expected, record: FlowRecord) -> bool:
    """Whether a record is what is expected of it."""
    wanted = ((expected.before_mbps, record.before_mbps), (expected.after_mbps, record.after_mbps))
    near = all(_is_near(mbps, seen, expected, record) for mbps, seen in wanted if mbps is not None)
    return near and (expected.after_below_mbps is None or record.after_mbps < expected.after_below_mbps)


def _is_near(wanted_mbps: float, seen_mbps: float, expected: Expected, record: FlowRecord) -> bool:
    scale = wanted_mbps or record.offered_mbps or record.before_mbps
    return abs(seen_mbps - wanted_mbps) <= expected.within_percent / 100 * scale


def expected_of(run: FlowRun, name: str) -> tuple[Expected, ...]:
    """What is expected of a flow under the run's scheme."""
    return tuple(
        each for each in run.scenario.expected if each.flow == name and each.scheme in (None, run.variation.scheme)
    )


def _is_about_after(expected: Expected) -> bool:
    """Whether it says how much a flow gets after the failure, in place of the promise of its scheme."""
    return expected.after_mbps is not None or expected.after_below_mbps is not None


def _of(run: FlowRun, record: FlowRecord) -> tuple[Expected, ...]:
    return expected_of(run, record.name)


def _says_something(expected: Expected) -> bool:
    return (expected.before_mbps, expected.after_mbps, expected.after_below_mbps) != (None, None, None)


def _met(record: FlowRecord, expected: Expected) -> Claim:
    wanted = [
        f"{label} {mbps:g}"
        for label, mbps in (
            ("before", expected.before_mbps),
            ("after", expected.after_mbps),
            ("after below", expected.after_below_mbps),
        )
        if mbps is not None
    ]
    detail = f"before {record.before_mbps:.2f}, after {record.after_mbps:.2f} Mbit/s"
    name = f"{record.name}: {', '.join(wanted)} Mbit/s within {expected.within_percent:g} %"
    return Claim(name, is_met(expected, record), detail)


def _kept(record: FlowRecord) -> Claim:
    """Of a flow that had something to keep; a slow one may not lose all that it offers as too little to count."""
    tiny_mbps = _TINY_MBPS if record.offered_mbps is None else min(_TINY_MBPS, record.offered_mbps / 2)
    lost_mbps = record.before_mbps - record.after_mbps
    held = record.before_mbps > tiny_mbps and lost_mbps <= max(tiny_mbps, KEPT_PERCENT / 100 * record.before_mbps)
    detail = f"before {record.before_mbps:.2f}, after {record.after_mbps:.2f} Mbit/s"
    return Claim(f"{record.name} ({record.kind}) keeps its throughput within {KEPT_PERCENT:g} %", held, detail)


def _undisturbed(record: FlowRecord) -> Claim:
    """Of a flow that traffic engineering leaves where it is: nothing lost or reordered; of TCP, the throughput."""
    if record.sent is None or record.received is None:
        return _kept(record)
    lost, again = record.sent - record.received, f"{record.reordered} reordered, {record.duplicated} duplicated"
    held = record.sent > 0 and lost == 0 and not record.reordered and not record.duplicated
    return Claim(f"{record.name} need not move", held, f"{lost} of {record.sent} datagrams lost, {again}")


def _flow(record: FlowRecord, run: FlowRun) -> Json:
    expected = expected_of(run, record.name)
    value = {**record.to_json(), "fluid": run.fluid.get(record.name), "stays": record.name in run.stays}
    if expected:
        value["expected"] = {
            key: next((getattr(each, key) for each in expected if getattr(each, key) is not None), None)
            for key in ("before_mbps", "after_mbps", "after_below_mbps")
        }
        value["met"] = all(is_met(each, record) for each in expected)
    return value


def _counts(records: Sequence[FlowRecord]) -> Json:
    sent, received = (sum(getattr(record, key) or 0 for record in records) for key in ("sent", "received"))
    return {
        "sent": sent,
        "received": received,
        "lost": sent - received,
        "duplicated": sum(record.duplicated or 0 for record in records),
        "reordered": sum(record.reordered or 0 for record in records),
        "backtracked": 0,
    }


def _failures(run: FlowRun) -> list[Json]:
    """The shape of any run's failures; packets are not followed one by one, so what asks for that is null."""
    stages = flow_stages(run).to_dict()
    victims = [record for record in run.records if record.kind == "victim"]
    return [
        {
            "link": None if (link := failed_link(failure)) is None else [link.a, link.b],
            "what": failure.what,
            "kind": failure.kind,
            "at_s": failure.at_s,
            "repair_at_s": None,
            "failure_s": failure.at_s,
            "until_s": run.scenario.duration_s,
            "stages_ms": stages,
            "recovered": all(record.after_mbps > 0 for record in victims),
            "outage_ms": None,
            "lost": _counts(run.records)["lost"],
            "backtracked": None,
        }
        for failure in run.scenario.failures
    ]


def flow_stages(run: FlowRun) -> Stages:
    """Stages of the failure, milliseconds after it.

    Throughput has ten samples a second, so `first_good` (every victim has received something that was sent over its
    new tunnel) and `steady` (every flow that was hit has converged) are known to a tenth of a second; single packets
    are not followed, so there is no last lost one.
    """
    victims = [record for record in run.records if record.kind == "victim"]
    hit = [record for record in run.records if record.kind in ("victim", "direct")]
    detect, switched = (_first(stamps, run.failure_s) for stamps in (run.detections_s, run.installs_s))
    good = [_first_good(record, switched) for record in victims]
    steady = [record.convergence_s for record in hit]
    return Stages(
        detect=detect,
        switch_over=switched,
        first_good=max((each for each in good if each is not None), default=None) if None not in good else None,
        steady=max((1000 * each for each in steady if each is not None), default=None) if None not in steady else None,
    )


def _first(stamps_s: Sequence[float], failure_s: float) -> float | None:
    after = [1000 * (stamp - failure_s) for stamp in stamps_s if stamp >= failure_s]
    return min(after, default=None)


def _first_good(record: FlowRecord, switched_ms: float | None) -> float | None:
    """End of the first tenth of a second that lies after the switch-over and in which something came."""
    if switched_ms is None:
        return None
    for number, mbps in enumerate(record.samples_mbps):
        begins_ms = record.start_ms + 1000 * BIN_S * number
        if begins_ms >= switched_ms and mbps > 0:
            return begins_ms + 1000 * BIN_S
    return None
