"""What `x-lossless` makes of its rows: claims and the table."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.campaign.statistics import Estimate, mean_interval
from experiments.campaign.values import Arm, Json
from experiments.campaign.verdicts import AtLeast, Claim, ClaimResult, Exactly, Within, judge
from experiments.papers.figure import Table
from experiments.papers.lossless import setup

RATIO = Within(0.8, 1.2)
HEADER = ("", "hops back", "sent", "lost", "twice", "overtaken", "sent back", "longest outage, ms")


def rows_of(rows: Sequence[Json], arm: Arm, cut: str | None = None) -> list[Json]:
    """Good rows of an arm, of one sort of cut or of all."""
    return [
        row
        for row in rows
        if row["trial"].startswith(f"{setup.ID}/")
        and row.get("status", "ok") == "ok"
        and row["arm"] == arm.name
        and cut in (None, row["parameters"]["cut"])
    ]


def total(rows: Sequence[Json], field: str) -> Estimate | None:
    """Sum over trials; None without any."""
    return Estimate(float(sum(row[field] for row in rows)), None, None) if rows else None


def mean(rows: Sequence[Json], field: str) -> Estimate | None:
    """Mean over trials with its interval; None without any."""
    return mean_interval([float(row[field]) for row in rows]) if rows else None


def by_outage(rows: Sequence[Json]) -> Estimate | None:
    """Packets lost by what the outages of both ways amount to, mean over trials; None without an outage.

    The rate is the measured one: a busy machine sends probes less often than asked for.
    """
    found = [1000 * row["lost"] / (row["rate_pps"] * sum(row["outages_ms"])) for row in rows if sum(row["outages_ms"])]
    return mean_interval(found) if found else None


def claims(rows: Sequence[Json]) -> list[ClaimResult]:
    """Nothing is lost with SQR; SD-FAST alone loses what was sent while the link was dead and nobody knew."""
    results = []
    for alone, helped in setup.PAIRS_OF_ARMS:
        own, label = rows_of(rows, helped), setup.LABELS[helped.name]
        results.append(
            judge(Claim(f"packets lost, {label}, all cases", "packets", 0.0, Exactly(0.0)), total(own, "lost"))
        )
        walked = min((row["came_back"] for row in own), default=None)
        back = None if walked is None else Estimate(float(walked), None, None)
        results.append(
            judge(Claim(f"packets that walked back in every case, {label}", "packets", 1.0, AtLeast(1.0)), back)
        )
        silent = rows_of(rows, alone, "silent")
        label = setup.LABELS[alone.name]
        claim = Claim(f"packets lost at silent cuts by rate x outage, {label}", "ratio", 1.0, RATIO)
        results.append(judge(claim, by_outage(silent)))
        results += [
            judge(Claim(f"packets lost, {words}, {label}", "packets"), mean(rows_of(rows, alone, cut), "lost"))
            for cut, words in setup.CUTS.items()
        ]
        for field, words in (("duplicated", "came twice"), ("reordered", "overtaken")):
            name = f"packets that {'were ' if field == 'reordered' else ''}{words}, {setup.LABELS[helped.name]}"
            results.append(judge(Claim(name, "packets"), mean(own, field)))
    return results


def table(rows: Sequence[Json]) -> Table:
    """A line for every case and arm."""
    lines = []
    for row in rows:
        if row["trial"].startswith(f"{setup.ID}/"):
            (source, destination), (link,) = row["pair"], row["links"]
            name = (
                f"{source} to {destination}, {link}, {setup.CUTS[row['parameters']['cut']]}, {setup.LABELS[row['arm']]}"
            )
            counts = (f"{row[field]:,}" for field in ("sent", "lost", "duplicated", "reordered", "came_back"))
            lines.append((name, str(row["parameters"]["hops_back"]), *counts, f"{max(row['outages_ms']):,.1f}"))
    return Table(HEADER, tuple(lines))
