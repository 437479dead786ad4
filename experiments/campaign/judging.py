"""From stored rows to the result of an id: claims, verdict, table, caption, and what failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.campaign.calibration import distrust_caption
from experiments.campaign.order import failed_trials, good_rows
from experiments.campaign.values import Json
from experiments.campaign.verdicts import NO_DATA, count_verdicts, overall
from ryu_apps.plan.choices import NO_MODE

if TYPE_CHECKING:
    from experiments.campaign.figure import PaperFigure
    from experiments.campaign.verdicts import ClaimResult


@dataclass(frozen=True)
class Judged:
    """An id with its good rows, its claims, and the trials that it lacks (name -> why)."""

    figure: PaperFigure
    trial_ids: tuple[str, ...]
    rows: tuple[Json, ...]
    claims: tuple[ClaimResult, ...]
    failed: Mapping[str, str]
    caption: str

    @property
    def verdict(self) -> str:
        """Verdict of the worst claim; "no data" when no trial is good."""
        return overall(self.claims) if self.rows else NO_DATA

    @property
    def lacks_data(self) -> bool:
        """Whether trials that failed, or have not run, left nothing to judge a claim by."""
        missing = not self.rows or any(claim.verdict == NO_DATA for claim in self.claims)
        return missing and bool(self.failed)


def judge_figure(
    figure: PaperFigure, trial_ids: Sequence[str], rows: Sequence[Json], calibration: Json | None
) -> Judged:
    """Judge an id by the rows of its trials.

    Parameters
    ----------
    trial_ids
        Its trials; rows of other trials are left out.
    rows
        All attempts of a campaign.
    calibration
        calibration.json; None when nothing was measured that needs one.
    """
    good = good_rows(rows)
    own = tuple(good[name] for name in trial_ids if name in good)
    failed = failed_trials(trial_ids, rows)
    caption = _caption(own, trial_ids, failed, calibration)
    return Judged(figure, tuple(trial_ids), own, tuple(figure.claims(own)) if own else (), failed, caption)


def result_of(judged: Judged, rows: Iterable[Json], folder: str) -> Json:
    """The shape of one entry of `reproduce --json`, which is also verdict.json."""
    names = set(judged.trial_ids)
    attempts = [row for row in rows if row["trial"] in names]
    header, table = judged.figure.table(judged.rows) if judged.rows else ((), ())
    return {
        "id": judged.figure.id,
        "paper": judged.figure.paper,
        "title": judged.figure.title,
        "quick": any(row["quick"] for row in attempts),
        "verdict": judged.verdict,
        "claims": [claim.to_json() for claim in judged.claims],
        "trials": len(judged.trial_ids),
        "failed_trials": len(judged.failed),
        "failed": [{"trial": name, "error": error} for name, error in judged.failed.items()],
        "untrustworthy_trials": sum(row.get("trustworthy") is False for row in judged.rows),
        "attempts": len(attempts),
        "seconds": round(sum(row["seconds"] for row in attempts), 1),
        "caption": judged.caption,
        "table": {"header": list(header), "rows": [list(row) for row in table]},
        "folder": folder,
    }


def campaign_value(results: Sequence[Json], rows: Sequence[Json], facts: Json) -> Json:
    """What `reproduce --json` prints: all results, and what holds for the campaign as a whole.

    Parameters
    ----------
    results
        As `result_of` makes them.
    rows
        All attempts.
    facts
        More keys, such as the folder.
    """
    failed = {each["trial"]: each["error"] for result in results for each in result["failed"]}
    trials = good_rows(rows).keys() | failed.keys()
    doubtful = [name for name, row in good_rows(rows).items() if row.get("trustworthy") is False]
    counts: Counter[str] = Counter(claim["verdict"] for result in results for claim in result["claims"])
    return {
        "results": list(results),
        "verdicts": {word: counts[word] for word in count_verdicts(())},
        "trials": len(trials),
        "attempts": len(rows),
        "failed_trials": len(failed),
        "failed": [{"trial": name, "error": error} for name, error in failed.items()],
        "untrustworthy_trials": len(doubtful),
        "untrustworthy": doubtful,
        **facts,
    }


def _caption(
    rows: Sequence[Json], trial_ids: Sequence[str], failed: Mapping[str, str], calibration: Json | None
) -> str:
    """Lines that must stand under the picture: whether it is quick, what is missing, what is not to be trusted."""
    lines = []
    if any(row["quick"] for row in rows):
        lines.append("quick run: fewer rounds than the reference")
    if any(row.get("mode", NO_MODE) not in (None, NO_MODE) and "notification" not in row for row in rows):
        lines.append("rows of a version without notifications: measured with notification off")
    if failed:
        lines.append(f"{len(failed)} of {len(trial_ids)} trials failed or are missing")
    distrust = distrust_caption(calibration, rows)
    return "\n".join([*lines, distrust] if distrust else lines)
