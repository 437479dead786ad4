"""Two ids that share trials, and one with trials of its own, on the fakes' square."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.campaign.act.engine import Runner
from experiments.campaign.figure import PaperFigure, Table
from experiments.campaign.order import good_rows
from experiments.campaign.statistics import mean_interval
from experiments.campaign.values import CampaignPlan, Json, TestbedSettings, Trial
from experiments.campaign.verdicts import COUNT, MARGIN, AtMost, Claim, ClaimResult, judge
from mininet_topos.errors import ArmorError, MissingRequirementError
from tests.campaign.fakes import FakeRunner, trial, trials


def _mixed(plan: CampaignPlan) -> tuple[Trial, ...]:
    return tuple(trials(rounds=plan.rounds or (1 if plan.quick else 3), variants="ab"))


def _decided(_: CampaignPlan) -> tuple[Trial, ...]:
    return (trial(1, "a", kind="verify"), trial(1, "b", kind="verify"))


def _claims(rows: Sequence[Json]) -> list[ClaimResult]:
    # One round gives no interval: a quick run counts.
    asks = COUNT if all(row["quick"] for row in rows) else MARGIN
    values = [row["delay_ms"] for row in rows if row["variant"] == "b"]
    return [judge(Claim("delay of b", "ms", 5.0, AtMost(6.0), asks=asks), mean_interval(values) if values else None)]


def _draw(rows: Sequence[Json], caption: str) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1))
    figure.text(0, 0, f"{len(rows)} rows\n{caption}", parse_math=False)
    return figure


def _table(rows: Sequence[Json]) -> Table:
    return Table(("trial", "ms"), tuple((name, f"{row['delay_ms']:g}") for name, row in good_rows(rows).items()))


FIGURES = {
    "fig-delay": PaperFigure("fig-delay", "square", "Delay on a square", _mixed, _claims, _draw, _table),
    "fig-again": PaperFigure("fig-again", "square", "The same trials", _mixed, _claims, _draw, _table),
    "x-decided": PaperFigure("x-decided", "beyond", "Nothing is built", _decided, _claims, _draw, _table),
}
ALIASES = {"fig-both": ("fig-delay", "fig-again")}


class FakeTestbed:
    """Answers at once; `broken` names what fails, by part of a trial's name."""

    def __init__(self, broken: str | None = None, interrupted_at: int | None = None, missing: bool = False) -> None:
        self.broken, self.interrupted_at, self.missing = broken, interrupted_at, missing
        self.measured = 0
        self.calibrated: list[tuple[int, int]] = []
        self.started: list[tuple[int, int]] = []

    def require(self, trials: Sequence[Trial]) -> None:
        """Refuse when asked to."""
        if self.missing and trials:
            raise MissingRequirementError(
                "Open vSwitch is missing; install it with: apt-get install openvswitch-switch"
            )

    def facts(self, trials: Sequence[Trial]) -> Json:
        """No switch is started."""
        return {"emulation": {"datapath": f"none for {len(trials)} trials"}}

    def calibrate(self, trials: Sequence[Trial], settings: TestbedSettings) -> Json:
        """A machine whose links are slow."""
        self.calibrated.append((len(trials), settings.bfd_interval_ms))
        return {"bfd_interval_ms": 50, "link": {"capacity_mbps": 5.0, "reached_mbps": 4.2}}

    def runners(self, trials: Sequence[Trial], settings: TestbedSettings) -> Mapping[str, Runner]:
        """Rows without a network."""
        self.started.append((len(trials), settings.bfd_interval_ms))
        return {"mixed": FakeRunner(self._measure), "verify": self._measure}

    def _measure(self, one: Trial) -> Json:
        if self.measured == self.interrupted_at:
            self.interrupted_at = None
            raise KeyboardInterrupt
        self.measured += 1
        if self.broken is not None and self.broken in one.trial_id:
            raise ArmorError("the probe failed")
        return {"delay_ms": 4.0 + one.round / 10, "trustworthy": True, "warnings": []}
