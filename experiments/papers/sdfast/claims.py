"""SD-FAST's claims held to what was measured: Figures 5 to 10.

Chosen before anything was measured: delays and throughputs are judged over everything after the cut (transient and
converged together, as a mean over a run is), between the paper's SD-FAST (agent mode, pair planner) and CB or CBC with
a control delay of 5 ms; Figure 9 since detection. Everything else is printed beside, without a verdict. CB and CBC use
the tree planner, and the same tags as SD-FAST.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments.campaign.statistics import Estimate
from experiments.campaign.values import GIVE_UP_S, Arm, Json
from experiments.campaign.verdicts import (
    DIFFERS,
    MEASURED,
    AtMost,
    Band,
    Claim,
    ClaimResult,
    around,
    judge,
    judge_order,
)
from experiments.papers.sdfast import measures, setup
from experiments.papers.sdfast.draws import MOST_FAILURES
from experiments.papers.sdfast.measures import AFTER, Choice, PairMeasure

LABELS = {
    setup.AGENT_PAIR: "SD-FAST",
    setup.LEARNED: "SD-FAST learned",
    setup.FFG: "FFG",
    setup.CB: "CB",
    setup.CBC: "CBC 5 ms",
    setup.CBC_AT_ONCE: "CBC 0 ms",
    setup.CBC_FAR: "CBC 20 ms",
    setup.RESTORATION: "restoration",
    setup.FFG_RESTORATION: "FFG + restoration",
}
MOST = (MOST_FAILURES,)
SEVERAL = tuple(range(1, MOST_FAILURES + 1))
UNDER_FAILURE = Choice("mixed", setup.DARKSTRAND, MOST)
OVER_FAILURES = Choice("mixed", setup.DARKSTRAND, SEVERAL)
FAIL_FREE = Choice("mixed", setup.DARKSTRAND, (0,))
USNET_UNDER_FAILURE = Choice("mixed", setup.USNET, MOST)
DOWNLOAD = Choice("download", setup.DARKSTRAND, MOST)
DOWNLOAD_FAIL_FREE = Choice("download", setup.DARKSTRAND, (0,))
OPPONENTS = (setup.CB, setup.CBC)

_CONVERGED_CBC = "a converged CBC has shortest paths and walks nothing back: compare the two parts below"
_TABLES = "what a chain of tables costs a packet is measured by x-packet-cost"


def fig5_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Mean end-to-end delay, four links of Darkstrand (and of USNET) cut at once."""
    judged = [
        _judged_delay(rows, UNDER_FAILURE, setup.CB, -54.0),
        _judged_delay(rows, UNDER_FAILURE, setup.CBC, -27.0).with_note(_CONVERGED_CBC),
    ]
    usnet = [_delay(rows, USNET_UNDER_FAILURE, (opponent, setup.AGENT_PAIR), AFTER) for opponent in OPPONENTS]
    return [*judged, *_delays_beside(rows, UNDER_FAILURE), *usnet, *_fail_free_delays(rows), _ffg_delivers(rows)]


def fig7_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Mean end-to-end delay over one to four failed links of Darkstrand."""
    judged = [
        _judged_delay(rows, OVER_FAILURES, setup.CB, -60.0),
        _judged_delay(rows, OVER_FAILURES, setup.CBC, -28.0).with_note(_CONVERGED_CBC),
    ]
    return [*judged, *_delays_beside(rows, OVER_FAILURES), *_fail_free_delays(rows)]


def fig6_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Mean throughput, four links of Darkstrand cut at once."""
    order = _throughput_order(rows, setup.AGENT_PAIR).with_note(f"{_CONVERGED_CBC}; {_TABLES}")
    beside = replace(_throughput_order(rows, setup.LEARNED), verdict=MEASURED, band=None)
    usnet = [_throughput(rows, USNET_UNDER_FAILURE, (opponent, setup.AGENT_PAIR), AFTER) for opponent in OPPONENTS]
    return [order, beside, *_throughputs_beside(rows, UNDER_FAILURE, all_windows=True), *usnet]


def fig8_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Mean throughput over one to four failed links of Darkstrand."""
    judged = [
        _throughput(rows, OVER_FAILURES, (opponent, setup.AGENT_PAIR), AFTER, paper, around(paper, 20))
        for opponent, paper in ((setup.CB, 57.0), (setup.CBC, 27.0))
    ]
    judged[1] = judged[1].with_note(_CONVERGED_CBC)
    return [*judged, *_throughputs_beside(rows, OVER_FAILURES)]


def fig9_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Backtracking time, from captures of every link, four links cut at once."""
    since = {"from_detection": "since detection", "from_cut": "since the cut"}
    found = []
    for arm in (setup.AGENT_PAIR, setup.LEARNED):
        for opponent in (setup.CBC, setup.CBC_AT_ONCE, setup.CBC_FAR):
            for key, words in since.items():
                judged = (arm, opponent, key) == (setup.AGENT_PAIR, setup.CBC, "from_detection")
                found.append(_backtracking(rows, (opponent, arm), key, words, judged))
    return sorted(found, key=lambda result: result.verdict == MEASURED)


def fig10a_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Time of a file transfer."""
    order = _download_order(rows, measures.download_s, "s", (setup.AGENT_PAIR, setup.CBC, setup.CB))
    paper = -64.0
    return [
        _download(rows, DOWNLOAD, (setup.CB, setup.AGENT_PAIR), measures.download_s, "time", paper).with_note(_TABLES),
        order,
        _download(rows, DOWNLOAD, (setup.CBC, setup.AGENT_PAIR), measures.download_s, "time"),
        *(_download(rows, DOWNLOAD, (each, setup.LEARNED), measures.download_s, "time") for each in OPPONENTS),
        *(
            _download(rows, DOWNLOAD_FAIL_FREE, (each, setup.AGENT_PAIR), measures.download_s, "time")
            for each in OPPONENTS
        ),
    ]


def fig10b_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Throughput of a file transfer; the paper gives CB's distance below SD-FAST."""
    sdfast, measure = setup.AGENT_PAIR, measures.download_mbps
    order = _download_order(rows, measure, "Mbit/s", (setup.CB, setup.CBC, sdfast))
    return [
        _download(rows, DOWNLOAD, (sdfast, setup.CB), measure, "throughput", -62.0).with_note(_TABLES),
        order,
        _download(rows, DOWNLOAD, (sdfast, setup.CBC), measure, "throughput"),
        *(_download(rows, DOWNLOAD, (setup.LEARNED, each), measure, "throughput") for each in OPPONENTS),
        *(_download(rows, DOWNLOAD_FAIL_FREE, (sdfast, each), measure, "throughput") for each in OPPONENTS),
    ]


def _versus(arms: tuple[Arm, Arm]) -> str:
    return f"{LABELS[arms[1]]} against {LABELS[arms[0]]}"


def _where(choice: Choice) -> str:
    numbers = choice.failures
    span = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    links = "fail-free" if numbers == (0,) else f"{span} link{'' if span == '1' else 's'} cut"
    return f"{choice.topology}, {links}"


def _judged_delay(rows: Sequence[Json], choice: Choice, opponent: Arm, paper: float) -> ClaimResult:
    return _delay(rows, choice, (opponent, setup.AGENT_PAIR), AFTER, paper, around(paper, 15))


def _delay(
    rows: Sequence[Json],
    choice: Choice,
    arms: tuple[Arm, Arm],
    window: str,
    paper: float | None = None,
    band: Band | None = None,
) -> ClaimResult:
    change = measures.change(rows, choice, arms, measures.delay_ms(window))
    claim = Claim(f"delay, {_versus(arms)}, {_where(choice)}, {window}", "% change", paper, band)
    lost = ", ".join(f"{LABELS[arm]} {_lost(rows, choice, arm, window)}" for arm in arms)
    note = f"{change.used} of {change.counted} pair measurements, those answered in both; pings lost: {lost}"
    return judge(claim, change.estimate).with_note(note)


def _lost(rows: Sequence[Json], choice: Choice, arm: Arm, window: str) -> str:
    found = measures.pair_estimate(measures.chosen(rows, choice, arm), measures.lost_percent(window))
    return "unknown" if found is None else f"{found.value:.1f} %"


def _delays_beside(rows: Sequence[Json], choice: Choice) -> list[ClaimResult]:
    parts = [
        _delay(rows, choice, (opponent, setup.AGENT_PAIR), window)
        for window in ("transient", "converged")
        for opponent in OPPONENTS
    ]
    return parts + [
        _delay(rows, choice, (opponent, setup.LEARNED), window)
        for window in (AFTER, "transient", "converged")
        for opponent in OPPONENTS
    ]


def _fail_free_delays(rows: Sequence[Json]) -> list[ClaimResult]:
    found = [_delay(rows, FAIL_FREE, (opponent, setup.AGENT_PAIR), AFTER) for opponent in OPPONENTS]
    return [each.with_note(_TABLES) for each in found]


def _ffg_delivers(rows: Sequence[Json]) -> ClaimResult:
    """Why FFG has no bar on Darkstrand: it delivers only the pairs that have an alternative at the failure."""
    ffg = measures.chosen(rows, UNDER_FAILURE, setup.FFG)
    lost = measures.by_pair(ffg, measures.lost_percent("converged"))
    served = measures.estimate([100.0 if value < 50 else 0.0 for value in lost.values()])
    claim = Claim("pairs that FFG serves, darkstrand, 4 links cut, converged", "% of pairs", "absent")
    return judge(claim, served).with_note(
        "without an alternative at the failing switch FFG drops; those pairs are lost"
    )


def _throughput_order(rows: Sequence[Json], sdfast: Arm) -> ClaimResult:
    measure = measures.goodput_percent(AFTER)
    estimates = {
        LABELS[arm]: measures.pair_estimate(measures.chosen(rows, UNDER_FAILURE, arm), measure)
        for arm in (*OPPONENTS, sdfast)
    }
    return judge_order(f"throughput, {_where(UNDER_FAILURE)}, {AFTER}", "% of offered", estimates)


def _throughput(
    rows: Sequence[Json],
    choice: Choice,
    arms: tuple[Arm, Arm],
    window: str,
    paper: float | None = None,
    band: Band | None = None,
) -> ClaimResult:
    change = measures.change(rows, choice, arms, measures.goodput_mbps(window))
    claim = Claim(f"throughput, {_versus(arms)}, {_where(choice)}, {window}", "% change", paper, band)
    return judge(claim, change.estimate).with_note(f"{change.used} pair measurements")


def _throughputs_beside(rows: Sequence[Json], choice: Choice, all_windows: bool = False) -> list[ClaimResult]:
    windows = (AFTER, "transient", "converged")
    parts = [
        _throughput(rows, choice, (opponent, setup.AGENT_PAIR), window)
        for window in windows[0 if all_windows else 1 :]
        for opponent in OPPONENTS
    ]
    learned = [
        _throughput(rows, choice, (opponent, setup.LEARNED), window) for window in windows for opponent in OPPONENTS
    ]
    fail_free = [_throughput(rows, FAIL_FREE, (opponent, setup.AGENT_PAIR), AFTER) for opponent in OPPONENTS]
    return [*parts, *learned, *fail_free]


def _backtracking(rows: Sequence[Json], arms: tuple[Arm, Arm], key: str, words: str, judged: bool) -> ClaimResult:
    found = measures.trial_change(rows, UNDER_FAILURE, arms, lambda row: measures.backtracking_ms(row, key))
    name = f"backtracking time, {_versus(arms)}, {_where(UNDER_FAILURE)}, {words}"
    claim = Claim(name, "% change", -73.0 if judged else None, AtMost(-73.0) if judged else None)
    sides = [measures.chosen(rows, UNDER_FAILURE, arm) for arm in arms]
    values = " and ".join(
        _milliseconds(measures.estimate([measures.backtracking_ms(row, key) for row in side])) for side in sides
    )
    note = f"{values} in {len(sides[0])} and {len(sides[1])} trials"
    endless = sum(measures.still_backtracking(side) for side in sides)
    if endless:
        note += f"; {endless} trials still walked back at the end and count with the length of the run"
    result = judge(claim, found)
    if found is None and all(sides):
        # There is data: a zero to compare with. The paper's claim is a reduction, which nothing can be of zero.
        result = replace(result, verdict=DIFFERS if judged else MEASURED)
        note += f"; no packet walked back under {LABELS[arms[0]]}, and no change of 0 can be given in per cent"
    return result.with_note(note)


def _milliseconds(estimate: Estimate | None) -> str:
    return "nothing" if estimate is None else f"{estimate.value:.1f} ms"


def _download(
    rows: Sequence[Json],
    choice: Choice,
    arms: tuple[Arm, Arm],
    measure: PairMeasure,
    what: str,
    paper: float | None = None,
) -> ClaimResult:
    change = measures.change(rows, choice, arms, measure)
    claim = Claim(
        f"file transfer {what}, {_versus(arms)}, {_where(choice)}",
        "% change",
        paper,
        None if paper is None else around(paper, 20),
    )
    given_up = ", ".join(f"{LABELS[arm]} {measures.unfinished(measures.chosen(rows, choice, arm))}" for arm in arms)
    note = f"{change.used} transfers each; not finished in {GIVE_UP_S:g} s: {given_up}"
    return judge(claim, change.estimate).with_note(note)


def _download_order(rows: Sequence[Json], measure: PairMeasure, unit: str, arms: tuple[Arm, ...]) -> ClaimResult:
    estimates = {LABELS[arm]: measures.pair_estimate(measures.chosen(rows, DOWNLOAD, arm), measure) for arm in arms}
    return judge_order(f"file transfer, CBC in between, {_where(DOWNLOAD)}", unit, estimates)
