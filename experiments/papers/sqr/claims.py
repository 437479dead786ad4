"""What SQR claims, judged from rows: nothing lost, buffers of rate x delay, little cost."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.statistics import Estimate, mean_interval, median_interval
from experiments.campaign.values import Json
from experiments.campaign.verdicts import Claim, ClaimResult, Exactly, Within, judge
from experiments.papers.p4protect.claims import QUARTILES, field_of, good_rows, mean_of, ratio_of, values
from experiments.papers.sqr import setup

FORMULA_BAND = Within(0.9, 1.1)
PAPER_LATENCY_NS = 4.3


def fig9(rows: Sequence[Json]) -> list[ClaimResult]:
    """Exactly nothing is lost or overtaken with SQR, whatever the route failure time; recovery alone loses some."""
    results = []
    for name, what in (("lost", "lost"), ("reordered", "overtaken")):
        found = values(rows, setup.FIG9, setup.SQR, {}, field_of(name))
        total = Estimate(sum(found), None, None) if found else None
        claim = Claim(f"packets {what} with SQR, all route failure times and rounds", "packets", 0.0, Exactly(0.0))
        results.append(judge(claim, total))
    for each in setup.DETECTION_MS:
        lost = mean_of(rows, setup.FIG9, setup.RECOVERY, {"detection_ms": each}, field_of("lost"))
        results.append(judge(Claim(f"packets lost by recovery alone, told after {each:g} ms", "packets"), lost))
    return results


def formula_bytes(row: Json) -> float:
    """Rate x delay of a row, bytes."""
    parameters = row["parameters"]
    return float(row["rate_pps"] * parameters["delta_ms"] / 1000 * setup.FRAME_BYTES)


def window_bytes(row: Json) -> float:
    """What the window held, bytes of frames."""
    return float(row["window"] * setup.FRAME_BYTES)


def fig13(rows: Sequence[Json]) -> list[ClaimResult]:
    """The window holds rate x delay."""
    results = []
    for rate in setup.BUFFER_RATES_PPS:
        for delta in setup.BUFFER_DELTAS_MS:
            case = {"rate_pps": rate, "delta_ms": delta}
            found = [window_bytes(row) / formula_bytes(row) for row in good_rows(rows, setup.FIG13, setup.SQR, case)]
            claim = Claim(
                f"bytes held by rate x delay, {rate:,} packets/s, {delta:g} ms", "ratio", 1.0, FORMULA_BAND, 1.0
            )
            results.append(judge(claim, mean_interval(found) if found else None))
    return results


def latency(rows: Sequence[Json]) -> list[ClaimResult]:
    """What keeping a copy adds to the program at the switch."""
    results = []
    for size in setup.COST_BYTES:
        for arm in (setup.SQR, setup.IN_SEND):
            case = {"frame_bytes": size}
            added = _added_ns(rows, arm.name, case)
            name = f"time added at the switch, {setup.LABELS[arm.name]}, {size} bytes"
            results.append(judge(Claim(name, "ns", PAPER_LATENCY_NS), added))
    return [result.with_note(QUARTILES) for result in results]


def _added_ns(rows: Sequence[Json], arm_name: str, case: Json) -> Estimate | None:
    """Median over rounds of the run time with SQR less that of plain forwarding in the same round."""
    arm = next(each for each in (setup.SQR, setup.IN_SEND) if each.name == arm_name)
    with_sqr, plain = (
        {row["round"]: row["first_node_ns"] for row in good_rows(rows, setup.LATENCY, each, case)}
        for each in (arm, setup.PLAIN)
    )
    both = sorted(with_sqr.keys() & plain.keys())
    return median_interval([with_sqr[number] - plain[number] for number in both]) if both else None


def fig14(rows: Sequence[Json]) -> list[ClaimResult]:
    """What normal traffic pays: the whole way of a packet on one processor."""
    results = []
    for size in setup.COST_BYTES:
        whole = ratio_of(
            rows,
            setup.LATENCY,
            (setup.SQR, setup.PLAIN),
            {"frame_bytes": size},
            lambda row: row["whole_ns"],
            100.0,
        )
        name = f"whole way of a packet, SQR against plain, {size} bytes"
        results.append(judge(Claim(name, "% of plain", "750 Mbit/s of 10 Gbit/s", neutral=100.0), whole))
    return [result.with_note(QUARTILES) for result in results]
