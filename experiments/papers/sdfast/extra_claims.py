"""What goes beyond the paper: packets that a learning switch sends back, stages, several failures, coverage, cost.

Claims of our own have a band fixed beforehand; everything else is printed without a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from experiments.analysis.timeline import STAGES
from experiments.campaign.statistics import Estimate, median_interval
from experiments.campaign.values import Arm, Json
from experiments.campaign.verdicts import MEASURED, AtMost, Claim, ClaimResult, Exactly, judge
from experiments.papers.sdfast import measures, setup
from experiments.papers.sdfast.claims import LABELS
from experiments.papers.sdfast.draws import MOST_FAILURES
from experiments.papers.sdfast.measures import Choice

WALKS = Choice("flow", setup.DARKSTRAND, (1,))
# A round of the revalidators begins at most 5 ms after the last one began; as much again for the round itself.
REVALIDATION_MS = 10.0
SEVERAL = tuple(range(1, MOST_FAILURES + 1))
LOOKUPS = {"exact": "cached exactly", "megaflow": "cached by megaflow", "none": "not cached"}
COST_PATHS = {
    "plain": "one rule",
    "group": "FFG: rule and group",
    "two_tables": "two tables",
    "two_tables_group": "two tables and group",
    "cb": "CB: three tables and group",
    "agent": "SD-FAST, untagged",
    "agent_rule": "SD-FAST, agent's rule tags",
    "learned": "SD-FAST learned, untagged",
    "learned_rule": "SD-FAST learned, learned rule tags",
    "cb_turned": "CB turns a packet",
    "cb_tagged": "CB, packet comes back",
    "learned_tagged": "SD-FAST learned, packet teaches",
}
OUTCOMES = ("delivered", "dropped", "looped", "disconnected")
# Schemes whose plans promise that nothing loops, whatever was learned and whatever was lost.
LOOP_FREE = (setup.AGENT_PAIR, setup.LEARNED, setup.CB)


@dataclass(frozen=True, slots=True)
class SentBack:
    """One flow in one direction: packets that came back on their way, and how many may."""

    packets: int
    most: float


def sent_back(row: Json) -> list[SentBack]:
    """Flow directions of a trial in which a packet came back.

    Until the first packet is back where the detour begins, and until that switch's cached flows follow, further
    packets take the old way: at most rate x (backtracking round trip + revalidation) + 1.
    """
    found = []
    for pair in row["pairs"]:
        for count, round_trip in (
            (pair["came_back_out"], pair["backtracking_rtt_ms"]),
            (pair["came_back_back"], pair.get("backtracking_rtt_back_ms", pair["backtracking_rtt_ms"])),
        ):
            if count and round_trip is not None:
                found.append(SentBack(count, (round_trip + REVALIDATION_MS) / row["ping_interval_ms"] + 1))
    return found


def flow_directions(rows: Sequence[Json], arm: Arm) -> list[SentBack]:
    """Flow directions with packets that came back, of all trials of an arm."""
    return [each for row in measures.chosen(rows, WALKS, arm) for each in sent_back(row)]


def learned_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Crankback that ends in the switch itself, beside the agent and the controller."""
    results = []
    for arm in (setup.LEARNED, setup.AGENT_PAIR, setup.CBC):
        found = flow_directions(rows, arm)
        is_ours = arm is setup.LEARNED
        rate = f"{1000 / setup.FAST_PING_INTERVAL_MS:g} packets/s"
        name = f"packets sent back per flow and direction, {LABELS[arm]}, {rate}"
        median = median_interval([each.packets for each in found]) if found else None
        results.append(judge(Claim(name, "packets (median)", band=AtMost(2.0) if is_ours else None), median))
        within = measures.estimate([100.0 * (each.packets <= each.most) for each in found])
        claim = Claim(f"flow directions within the bound, {LABELS[arm]}", "%", band=Exactly(100.0) if is_ours else None)
        most = f", at most {max(each.packets for each in found)} packets" if found else ""
        note = (
            f"{len(found)} flow directions{most}; bound: rate x (backtracking round trip + {REVALIDATION_MS:g} ms) + 1"
        )
        results.append(judge(claim, within).with_note(note))
    return results


def stage_values(rows: Iterable[Json], stage: str) -> list[float]:
    """A stage of every trial that reached it, ms after the cut."""
    values = [measures.stage_ms(row, stage) for row in rows]
    return [value for value in values if value is not None]


def stage_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Stages of the recovery, arm by arm, with one and with four links cut at once."""
    results = []
    for failures, arm, stage in product((1, MOST_FAILURES), setup.ON_DARKSTRAND, STAGES):
        trials = measures.chosen(rows, Choice("mixed", setup.DARKSTRAND, (failures,)), arm)
        values = stage_values(trials, stage)
        if trials:
            name = f"{stage.replace('_', ' ')}, {LABELS[arm]}, {failures} cut"
            result = judge(Claim(name, "ms after the cut"), measures.estimate(values))
            # A stage that no trial reached was measured too: CB never stops walking back.
            results.append(
                replace(result, verdict=MEASURED).with_note(f"{len(values)} of {len(trials)} trials reached it")
            )
    return results


def coverage_rows(rows: Sequence[Json], topologies: Iterable[str], failures: Iterable[int]) -> list[Json]:
    """What the interpreter decided, in the order in which it was asked."""
    names, numbers = tuple(topologies), tuple(failures)
    return [
        row
        for row in measures.good_rows(rows)
        if row["kind"] == "verify" and row["topology"] in names and row["failures"] in numbers
    ]


def shares(result: Json, phase: str) -> dict[str, float]:
    """Outcomes of a phase ("transient", "converged"), per cent of all cases."""
    total = sum(result[phase].values())
    return {name: 100 * result[phase][name] / total if total else 0.0 for name in OUTCOMES}


def joined_percent(result: Json, phase: str) -> float:
    """Cases delivered in a phase, per cent of those in which the pair is still joined (100 when there is none)."""
    joined = sum(count for name, count in result[phase].items() if name != "disconnected")
    return 100 * result[phase]["delivered"] / joined if joined else 100.0


def multi_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """One to four links of Darkstrand at once: what the interpreter decides, and the measured sample."""
    results = []
    for arm in LOOP_FREE:
        decided = _of_arm(coverage_rows(rows, (setup.DARKSTRAND,), SEVERAL), arm)
        results.append(_counted(decided, "looped", f"cases that loop, {LABELS[arm]}, 1 to 4 links"))
    every = coverage_rows(rows, (setup.DARKSTRAND,), SEVERAL)
    results.append(_counted(every, "broken", "promises broken, every scheme, 1 to 4 links"))
    for row in every:
        name = f"delivered once converged, {row['arm']}, {row['failures']} cut, interpreter"
        result = judge(
            Claim(name, "% of joined cases"), Estimate(joined_percent(row["result"], "converged"), None, None)
        )
        results.append(result.with_note(_sets(row)))
    return results + [_measured_sample(rows, arm, failures) for arm, failures in product(setup.ON_DARKSTRAND, SEVERAL)]


def measured_delivery(rows: Sequence[Json], arm: Arm, failures: int) -> Estimate | None:
    """Pings answered in the converged window (% of those of a pair), over the pairs that count."""
    trials = measures.chosen(rows, Choice("mixed", setup.DARKSTRAND, (failures,)), arm)
    lost = measures.by_pair(trials, measures.lost_percent("converged"))
    return measures.estimate([100 - value for value in lost.values()])


def _measured_sample(rows: Sequence[Json], arm: Arm, failures: int) -> ClaimResult:
    claim = Claim(f"pings answered once converged, {LABELS[arm]}, {failures} cut, measured", "% of pings")
    return judge(claim, measured_delivery(rows, arm, failures)).with_note("only pairs whose primary path is cut")


def _sets(row: Json) -> str:
    result = row["result"]
    return f"{result['cases']} cases of {result['failure_sets']} failed sets"


def coverage_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Every bundled topology, pair and single link failure."""
    decided = coverage_rows(rows, setup.bundled_topologies(), (1,))
    results = [_counted(decided, "broken", "promises broken, every topology and scheme, single failures")]
    for arm in LOOP_FREE:
        own = _of_arm(decided, arm)
        results.append(_counted(own, "looped", f"cases that loop, {LABELS[arm]}, single failures"))
        results.append(_covered(own, f"cases delivered from the first packet on, {LABELS[arm]}", "transient", True))
    results.append(_covered(_of_arm(decided, Arm("cbc")), "cases delivered once converged, CBC", "converged", True))
    results.append(_covered(_of_arm(decided, setup.FFG), "cases delivered, FFG", "converged", False))
    return results


def _of_arm(rows: Iterable[Json], arm: Arm) -> list[Json]:
    return [row for row in rows if row["arm"] == arm.name]


def _counted(rows: Sequence[Json], what: str, name: str) -> ClaimResult:
    total = Estimate(float(sum(row["result"][what] for row in rows)), None, None) if rows else None
    cases = sum(row["result"]["cases"] for row in rows)
    return judge(Claim(name, "cases", band=Exactly(0.0)), total).with_note(f"of {cases} cases")


def _covered(rows: Sequence[Json], name: str, phase: str, is_all: bool) -> ClaimResult:
    delivered = sum(row["result"][phase]["delivered"] for row in rows)
    joined = sum(row["result"]["cases"] - row["result"][phase]["disconnected"] for row in rows)
    share = Estimate(100 * delivered / joined, None, None) if joined else None
    claim = Claim(name, "% of joined cases", band=Exactly(100.0) if is_all else None)
    return judge(claim, share).with_note(f"{delivered} of {joined} cases on {len(rows)} topologies")


def cost_rows(rows: Sequence[Json]) -> list[Json]:
    """Repetitions of the bench."""
    return [row for row in measures.good_rows(rows) if row["kind"] == "cost"]


def extra_percent(rows: Sequence[Json], path: str, lookup: str) -> list[float]:
    """By how much a path costs more than a plain rule looked up the same way (%), repetition by repetition."""
    return _per_repetition(rows, path, lookup, lambda cost, plain: 100 * (cost / plain - 1))


def costs_ns(rows: Sequence[Json], path: str, lookup: str) -> list[float]:
    """Nanoseconds a packet, repetition by repetition."""
    return _per_repetition(rows, path, lookup, lambda cost, _plain: cost)


def _per_repetition(
    rows: Sequence[Json], path: str, lookup: str, combine: Callable[[float, float], float]
) -> list[float]:
    found = []
    for row in cost_rows(rows):
        costs = {(each["path"], each["lookup"]): float(each["ns_per_packet"]) for each in row["results"]}
        if (path, lookup) in costs and ("plain", lookup) in costs:
            found.append(combine(costs[path, lookup], costs["plain", lookup]))
    return found


def cost_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """What chains of tables cost a packet, cached and not."""
    results = []
    for path, lookup in product(("group", "two_tables", "cb", "learned", "agent"), ("exact", "megaflow", "none")):
        values = extra_percent(rows, path, lookup)
        claim = Claim(f"CPU time a packet beyond a plain rule, {path.replace('_', ' ')}, {LOOKUPS[lookup]}", "%")
        median = median_interval(values) if values else None
        results.append(judge(claim, median).with_note(f"median and quartiles of {len(values)} repetitions"))
    return results
