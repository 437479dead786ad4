"""PSO's claims held to what was measured: Figures 7 to 9, and a switch that misbehaves.

Chosen before anything was measured: "NL > 0.8" are the loads 0.9 to 1.2 together ("NL > 0.6" in-band: 0.8 to 1.2), each
round's PSO compared with its FIFO. The link-bound regime is judged, as in the paper the link is what fills up; the
CPU-bound one stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.statistics import Estimate
from experiments.campaign.values import Json
from experiments.campaign.verdicts import AtLeast, AtMost, Claim, ClaimResult, Exactly, Within, around, judge
from experiments.papers.pso import setup
from experiments.papers.pso.measures import (
    HIGH,
    Choice,
    acknowledgement_percent,
    all_answers_pps,
    answered_percent,
    change_percent,
    chosen,
    estimate,
    knee,
    link_percent,
    lost_percent,
    mean_ms,
    of_class,
    ratio,
)

ABOVE_08 = tuple(nl for nl in setup.LINK_NLS if nl > 0.8)
REAL_ABOVE_08 = tuple(nl for nl in setup.REAL_NLS if nl > 0.8)
CPU_ABOVE_08 = tuple(nl for nl in setup.CPU_NLS if nl > 0.8)
ABOVE_06 = tuple(nl for nl in setup.IN_BAND_NLS if nl > 0.6)
FULL = Choice(setup.LINK, (1.1,))
IN_BAND = Choice(setup.IN_BAND)
IN_BAND_BURSTS = Choice(setup.IN_BAND, burst_pkts=setup.BURST_PKTS)
_FIFO, _PSO = setup.FIFO.name, setup.PSO.name
_SPACING = 0.15  # of loads around the paper's knees

_ACKNOWLEDGED = (
    "flow-mods come on the home connection and packet-ins go on others, with acknowledgements in packets of their own"
)
_KNEE_NOTE = (
    "the paper's arrivals are not told; packets that come in bursts fill the queue earlier, see Figure 9's bursts"
)


def fig7_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Loss and hop delay of high-priority packet-ins, out-of-band."""
    above = Choice(setup.LINK, ABOVE_08)
    return [
        _lost(rows, above, "high class lost with PSO, NL > 0.8", AtMost(0.1), _PSO, 0.0),
        _delay_ratio(rows, above, "hop delay, PSO / FIFO, NL > 0.8", 22 / 83, 0.27),
        _at_full_load(rows, Choice(setup.LINK, (1.1,))),
        _p99_ratio(rows, FULL),
        *_work_conserving(rows, FULL),
        _knee(rows, Choice(setup.LINK), 0.8, "out-of-band"),
        _lost(rows, above, "high class lost with FIFO, NL > 0.8", None, _FIFO, 5.0),
        *_delays_beside(rows, Choice(setup.LINK), ABOVE_08),
        *_cpu_beside(rows),
    ]


def fig8_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Throughput and delay of the high-priority flow through a real switch; emulated switches beside."""
    above = Choice(setup.REAL, REAL_ABOVE_08)
    throughput = Claim("throughput with PSO, share of offered, NL > 0.8", "%", 99.2, AtLeast(99.0), neutral=88.7)
    fifo = Claim("throughput with FIFO, share of offered, NL > 0.8", "%", 88.7)
    emulated = Choice(setup.LINK, ABOVE_08)
    return [
        judge(throughput, estimate(chosen(rows, above, _PSO), answered_percent(HIGH))),
        _delay_ratio(rows, above, "delay, PSO / FIFO, NL > 0.8", 27.6 / 103, 0.27),
        _answers(rows, Choice(setup.REAL, (1.1,))),
        judge(fifo, estimate(chosen(rows, above, _FIFO), answered_percent(HIGH))),
        *_delays_beside(rows, Choice(setup.REAL), REAL_ABOVE_08),
        *(
            judge(
                Claim(f"emulated switch: throughput with {arm.name.upper()}, share of offered, NL > 0.8", "%"),
                estimate(chosen(rows, emulated, arm.name), answered_percent(HIGH)),
            )
            for arm in setup.ARMS
        ),
    ]


def fig9_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Loss and delay of OpenFlow messages that share their link with data."""
    above = Choice(setup.IN_BAND, ABOVE_06)
    bursts = Choice(setup.IN_BAND, (0.8,), setup.BURST_PKTS)
    return [
        _delay_ratio(rows, above, "delay, PSO / FIFO, NL > 0.6", 32 / 100, 0.32),
        _knee(rows, IN_BAND, 0.6, "in-band").with_note(_KNEE_NOTE),
        _lost(rows, above, "messages lost with FIFO, NL > 0.6", None, _FIFO, 6.4),
        _lost(rows, above, "messages lost with PSO, NL > 0.6", None, _PSO, None),
        *_delays_beside(rows, IN_BAND, ABOVE_06),
        _beside_knee(rows, IN_BAND_BURSTS, f"knee of FIFO, data in bursts of {setup.BURST_PKTS}"),
        judge(
            Claim(f"delay, PSO / FIFO, NL 0.8, data in bursts of {setup.BURST_PKTS}", "ratio", neutral=1.0),
            ratio(rows, bursts, mean_ms(HIGH)),
        ),
    ]


def misbehaving_claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """High class of well-behaved switches beside one that misbehaves."""
    found = []
    for behaviour in setup.BEHAVIOURS:
        for arm in setup.ARMS:
            mine = behaving(rows, behaviour, arm.name)
            band = Exactly(0.0) if arm == setup.PSO else None
            label = f"{setup.LABELS[arm.name]}, {setup.WORDS[behaviour]}"
            found.append(judge(Claim(f"high class lost, {label}", "%", None, band), estimate(mine, lost_percent(HIGH))))
            delay = estimate(mine, of_class(HIGH, "p99_ms"))
            if delay is not None or not mine:  # where nothing was answered the loss says it all
                found.append(judge(Claim(f"high class p99, {label}", "ms"), delay))
            found.append(judge(Claim(f"memory gained, {label}", "MB"), estimate(mine, gained_mb)))
    return sorted(found, key=lambda result: result.band is None)


def behaving(rows: Sequence[Json], behaviour: str, arm: str) -> list[Json]:
    """Rows of one behaviour and arm."""
    return [row for row in chosen(rows, Choice(setup.MISBEHAVING), arm) if row["behaviour"] == behaviour]


def gained_mb(row: Json) -> float:
    """Memory that the controller took during the trial."""
    return float(row["controller_rss_mb"] - row["controller_first_rss_mb"])


def _lost(
    rows: Sequence[Json], choice: Choice, name: str, band: AtMost | None, arm: str, paper: float | None
) -> ClaimResult:
    return judge(Claim(name, "%", paper, band), estimate(chosen(rows, choice, arm), lost_percent(HIGH)))


def _delay_ratio(rows: Sequence[Json], choice: Choice, name: str, paper: float, most: float) -> ClaimResult:
    claim = Claim(name, "ratio", round(paper, 3), AtMost(most), neutral=1.0)
    return judge(claim, ratio(rows, choice, mean_ms(HIGH)))


def _at_full_load(rows: Sequence[Json], choice: Choice) -> ClaimResult:
    claim = Claim("high class lost with PSO, NL 1.1", "%", "goal: none", Exactly(0.0))
    return judge(claim, estimate(chosen(rows, choice, _PSO), lost_percent(HIGH)))


def _p99_ratio(rows: Sequence[Json], choice: Choice) -> ClaimResult:
    claim = Claim("99th percentile, PSO / FIFO, NL 1.1", "ratio", "goal: 0.10", AtMost(0.10), neutral=1.0)
    return judge(claim, ratio(rows, choice, of_class(HIGH, "p99_ms")))


def _work_conserving(rows: Sequence[Json], choice: Choice) -> list[ClaimResult]:
    """Nothing stands still while packets wait; and what it costs that answers come on another connection."""
    mine = chosen(rows, choice, _PSO)
    used = Claim("rate of the link in use with PSO, NL 1.1", "%", "work conserving", AtLeast(97.0))
    shares = Claim("share of the link that acknowledgements of flow-mods take, PSO, NL 1.1", "%")
    return [
        judge(used, estimate(mine, link_percent)),
        _answers(rows, choice).with_note(_ACKNOWLEDGED),
        judge(shares, estimate(mine, acknowledgement_percent)),
    ]


def _answers(rows: Sequence[Json], choice: Choice) -> ClaimResult:
    """Whether low classes get all that is left: the sum of answers."""
    claim = Claim("answers of all classes, PSO against FIFO, NL 1.1", "%", "nothing wasted", Within(-5, 5))
    return judge(claim, change_percent(rows, choice, all_answers_pps))


def _knee(rows: Sequence[Json], choice: Choice, paper: float, where: str) -> ClaimResult:
    claim = Claim(f"knee of FIFO, {where}", "NL", paper, around(paper, _SPACING))
    return judge(claim, _exact(knee(rows, choice, HIGH, _FIFO)))


def _beside_knee(rows: Sequence[Json], choice: Choice, name: str) -> ClaimResult:
    return judge(Claim(name, "NL", 0.6), _exact(knee(rows, choice, HIGH, _FIFO)))


def _delays_beside(rows: Sequence[Json], choice: Choice, above: tuple[float, ...]) -> list[ClaimResult]:
    """Mean delays of both arms, below and above the knee; ours are of a slower link, so nothing is judged."""
    low = Choice(choice.regime, tuple(nl for nl in _nls(choice) if nl not in above))
    high = Choice(choice.regime, above)
    return [
        judge(
            Claim(f"mean delay, {arm.name.upper()}, {words}", "ms"),
            estimate(chosen(rows, part, arm.name), mean_ms(HIGH)),
        )
        for words, part in (("below", low), ("above", high))
        for arm in setup.ARMS
    ]


def _nls(choice: Choice) -> tuple[float, ...]:
    return {setup.IN_BAND: setup.IN_BAND_NLS, setup.REAL: setup.REAL_NLS}.get(choice.regime, setup.LINK_NLS)


def _cpu_beside(rows: Sequence[Json]) -> list[ClaimResult]:
    above = Choice(setup.CPU, CPU_ABOVE_08)
    return [
        judge(Claim("CPU-bound: delay, PSO / FIFO, NL > 0.8", "ratio", neutral=1.0), ratio(rows, above, mean_ms(HIGH))),
        *(
            judge(
                Claim(f"CPU-bound: high class lost with {arm.name.upper()}, NL > 0.8", "%"),
                estimate(chosen(rows, above, arm.name), lost_percent(HIGH)),
            )
            for arm in setup.ARMS
        ),
        judge(
            Claim("CPU-bound: answers of all classes, PSO against FIFO, NL > 0.8", "%"),
            change_percent(rows, above, all_answers_pps),
        ),
    ]


def _exact(value: float | None) -> Estimate | None:
    return None if value is None else Estimate(value, None, None)
