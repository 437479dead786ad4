"""Tables beside the figures: every arm with its numbers, so that no bar has to be read off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from experiments.analysis.timeline import STAGES
from experiments.campaign.statistics import Estimate, median_interval
from experiments.campaign.values import Arm, Json
from experiments.papers.figure import Table
from experiments.papers.sdfast import extra_claims, measures, setup
from experiments.papers.sdfast.claims import LABELS
from experiments.papers.sdfast.draws import MOST_FAILURES
from experiments.papers.sdfast.measures import AFTER, Choice, MeasureOf, PairMeasure

NOTHING = "-"
PARTS = ("transient", "converged", AFTER)
# The interpreter knows no delays: one name for a scheme, whatever its control link.
DECIDED_LABELS = {
    **LABELS,
    Arm("cbc"): "CBC",
    Arm("restoration"): "restoration",
    Arm("ffg_restoration"): "FFG + restoration",
    Arm("shortest"): "no protection",
}


def cell(estimate: Estimate | None, digits: int = 2) -> str:
    """An estimate as text, with its interval when there is one.

    Examples
    --------
    >>> cell(Estimate(1.5, 1.25, 1.75)), cell(Estimate(1.5, None, None), 1), cell(None)
    ('1.50 [1.25, 1.75]', '1.5', '-')
    """
    if estimate is None:
        return NOTHING
    shown = f"{estimate.value:.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return shown
    return f"{shown} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def arms_of(rows: Sequence[Json], choice: Choice) -> list[Arm]:
    """Arms that have good rows of a choice, in the order of the figures."""
    present = {row["arm"] for row in measures.chosen(rows, choice)}
    return [arm for arm in LABELS if arm.name in present]


def delay_table(rows: Sequence[Json], choices: Iterable[Choice]) -> Table:
    """Delay of every arm in the parts of the run, and what was lost meanwhile."""
    return _mixed_table(rows, choices, measures.delay_ms, "delay, ms")


def throughput_table(rows: Sequence[Json], choices: Iterable[Choice]) -> Table:
    """Throughput of every arm in the parts of the run, in per cent of what was offered."""
    return _mixed_table(rows, choices, measures.goodput_percent, "throughput, % of offered")


def _mixed_table(rows: Sequence[Json], choices: Iterable[Choice], measure_of: MeasureOf, what: str) -> Table:
    header = ("scheme", "topology", "links cut", "pairs", *(f"{what}, {part}" for part in PARTS), "pings lost, %")
    found = []
    for choice in choices:
        for arm, failures in product(arms_of(rows, choice), choice.failures):
            trials = measures.chosen(rows, Choice(choice.kind, choice.topology, (failures,)), arm)
            if trials:
                lost = measures.pair_estimate(trials, measures.lost_percent(AFTER))
                pairs = str(sum(len(measures.counted_pairs(row)) for row in trials))
                values = [cell(measures.pair_estimate(trials, measure_of(part))) for part in PARTS]
                found.append((LABELS[arm], choice.topology, str(failures), pairs, *values, cell(lost, 1)))
    return Table(header, tuple(found))


def backtracking_table(rows: Sequence[Json]) -> Table:
    """Backtracking time of every arm."""
    header = ("scheme", "trials", "since detection, ms", "since the cut, ms", "still walking back at the end")
    choice = Choice("mixed", setup.DARKSTRAND, (MOST_FAILURES,))
    found = []
    for arm in (*setup.BACKTRACKING, setup.CB):
        trials = measures.chosen(rows, choice, arm)
        if trials:
            values = [
                cell(measures.estimate([measures.backtracking_ms(row, key) for row in trials]), 1)
                for key in ("from_detection", "from_cut")
            ]
            found.append((LABELS[arm], str(len(trials)), *values, str(measures.still_backtracking(trials))))
    return Table(header, tuple(found))


def download_table(rows: Sequence[Json]) -> Table:
    """File transfers of every arm, fail-free and with four links cut."""
    header = ("scheme", "links cut", "transfers", "seconds", "Mbit/s", "not finished")
    found = []
    for arm, failures in product(setup.RECOVERING, setup.FAIL_FREE_AND_MOST):
        trials = measures.chosen(rows, Choice("download", setup.DARKSTRAND, (failures,)), arm)
        if trials:
            known: list[PairMeasure] = [measures.download_s, measures.download_mbps]
            values = [cell(measures.pair_estimate(trials, measure)) for measure in known]
            count = str(len(measures.by_pair(trials, measures.download_s)))
            found.append((LABELS[arm], str(failures), count, *values, str(measures.unfinished(trials))))
    return Table(header, tuple(found))


def learned_table(rows: Sequence[Json]) -> Table:
    """Packets sent back per flow and direction."""
    header = ("scheme", "flow directions", "packets, median", "packets, most", "bound, mean", "within the bound")
    found = []
    for arm in setup.ENDING_THE_WALK:
        flows = extra_claims.flow_directions(rows, arm)
        if flows:
            packets = [each.packets for each in flows]
            bound = sum(each.most for each in flows) / len(flows)
            within = sum(each.packets <= each.most for each in flows)
            median = f"{median_interval(packets).value:g}"
            found.append((LABELS[arm], str(len(flows)), median, str(max(packets)), f"{bound:.1f}", str(within)))
    return Table(header, tuple(found))


def stage_table(rows: Sequence[Json]) -> Table:
    """Mean of every stage (ms after the cut), with its interval."""
    names = tuple(f"{stage.replace('_', ' ')}, ms" for stage in STAGES)
    found = []
    for failures, arm in product((1, MOST_FAILURES), setup.ON_DARKSTRAND):
        trials = measures.chosen(rows, Choice("mixed", setup.DARKSTRAND, (failures,)), arm)
        if trials:
            values = [cell(measures.estimate(extra_claims.stage_values(trials, stage)), 1) for stage in STAGES]
            found.append((LABELS[arm], str(failures), str(len(trials)), *values))
    return Table(("scheme", "links cut", "trials", *names), tuple(found))


def multi_table(rows: Sequence[Json]) -> Table:
    """Outcomes in the converged network by the interpreter, and the pings answered in the measured sample."""
    header = (
        "scheme",
        "links cut",
        "failed sets",
        "cases",
        *(f"{name}, %" for name in extra_claims.OUTCOMES),
        "measured: answered, %",
    )
    found = []
    for failures, arm in product(extra_claims.SEVERAL, setup.VERIFIED):
        for row in extra_claims.coverage_rows(rows, (setup.DARKSTRAND,), (failures,)):
            if row["arm"] == arm.name:
                result = row["result"]
                parts = [f"{share:.1f}" for share in extra_claims.shares(result, "converged").values()]
                measured = cell(extra_claims.measured_delivery(rows, measured_arm(arm), failures), 1)
                sets, cases = str(result["failure_sets"]), str(result["cases"])
                found.append((DECIDED_LABELS[arm], str(failures), sets, cases, *parts, measured))
    return Table(header, tuple(found))


def measured_arm(arm: Arm) -> Arm:
    """The arm that was run for one that the interpreter decided."""
    return next((each for each in setup.ON_DARKSTRAND if (each.scheme, each.mode) == (arm.scheme, arm.mode)), arm)


def coverage_table(rows: Sequence[Json]) -> Table:
    """Every topology and scheme with single failures: outcomes, stretch, walks back, and the sizes of the tables."""
    header = (
        "scheme",
        "topology",
        "cases",
        "joined",
        "delivered at once, %",
        "delivered converged, %",
        "looped",
        "mean stretch",
        "longest walk back",
        "most rows",
        "most groups",
        "most backup rows",
    )
    decided = extra_claims.coverage_rows(rows, setup.bundled_topologies(), (1,))
    by_key = {(row["topology"], row["arm"]): row["result"] for row in decided}
    wanted = product(setup.bundled_topologies(), setup.VERIFIED)
    found = [
        (DECIDED_LABELS[arm], topology, *_coverage_cells(by_key[topology, arm.name]))
        for topology, arm in wanted
        if (topology, arm.name) in by_key
    ]
    return Table(header, tuple(found))


def _coverage_cells(result: Json) -> tuple[str, ...]:
    stretch = result["mean_stretch"]
    return (
        str(result["cases"]),
        str(result["cases"] - result["converged"]["disconnected"]),
        f"{extra_claims.joined_percent(result, 'transient'):.1f}",
        f"{extra_claims.joined_percent(result, 'converged'):.1f}",
        str(result["looped"]),
        NOTHING if stretch is None else f"{stretch:.3f}",
        str(result["longest_crankback"]),
        *(str(result[kind]["most"]) for kind in ("flows", "groups", "backups")),
    )


def cost_table(rows: Sequence[Json]) -> Table:
    """Nanoseconds a packet, median and quartiles."""
    header = ("path", *(f"{words}, ns" for words in extra_claims.LOOKUPS.values()), "beyond plain, exact, %")
    found = []
    for path, title in extra_claims.COST_PATHS.items():
        values = [extra_claims.costs_ns(rows, path, lookup) for lookup in extra_claims.LOOKUPS]
        if any(values):
            extra = extra_claims.extra_percent(rows, path, "exact")
            cells = [cell(median_interval(each) if each else None, 0) for each in values]
            found.append((title, *cells, cell(median_interval(extra) if extra else None, 1)))
    return Table(header, tuple(found))
