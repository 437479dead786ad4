"""Lines that the texts of all runs share: the heading, the claims, a time."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from ryu_apps.plan.choices import mode_words

Run = dict[str, Any]


def name_of(run: Run) -> str:
    """Heading of a run."""
    mode = mode_words(run["mode"])
    mode += f", {run['variant']}" if run.get("variant") else ""
    bfd = f", BFD 3 x {run['bfd_interval_ms']} ms" if run.get("bfd_interval_ms") else ""
    return f"== {run['scheme']}{mode}{bfd}"


def claims_lines(run: Run) -> list[str]:
    """Claims that broke, how many held, and warnings."""
    broken = [claim for claim in run["claims"] if not claim["held"]]
    lines = [f"  {len(run['claims']) - len(broken)} of {len(run['claims'])} claims held"]
    lines += [f"  {claim['name']}: {claim['detail']}" for claim in run["claims"] if claim["held"] and claim["detail"]]
    lines += [f"  BROKEN: {claim['name']}: {claim['detail']}" for claim in broken]
    lines += [f"  warning: {warning}" for warning in run["warnings"]]
    if not run["trustworthy"]:
        lines.append("  NOT TRUSTWORTHY: the warnings above mean that numbers of this run may be wrong")
    return lines


def notification_lines(run: Run) -> list[str]:
    """A line for each failure: how many notification frames it took, and when the last switch knew."""
    return [f"  notification: {_notified(failure)}" for failure in run["failures"]]


def _notified(failure: Run) -> str:
    known = failure.get("notification")
    if known is None:
        return "off"
    last = "" if known["last_ms"] is None else f", the last {known['last_ms']:.1f} ms after the {known['since']}"
    frames = f"{known['frames']:,} frames after {failure['what']}"
    return f"{frames}; {known['knew']} of {known['switches']} switches knew{last}"


def captures_lines(folder: str, captures: Sequence[str]) -> list[str]:
    """Where the captures are, and how to open them; `captures` are files in the folder."""
    return [
        "captures, with the first frame after each failure and repair marked by a packet comment:",
        *(f"  wireshark -r {shlex.quote(f'{folder}/{name}')} -Y frame.comment" for name in captures),
        "Remove the display filter frame.comment to see all frames.",
    ]


def milliseconds(value: float | None) -> str:
    """A time for a table; a dash when there is none."""
    return "-" if value is None else f"{value:.1f}"
