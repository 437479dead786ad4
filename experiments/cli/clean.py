"""Remove what a broken-off run left behind: its processes, namespaces, interfaces, folders; and nothing else.

Each run writes down what it creates, so nothing is found by name. Runs that are still at work are left alone
unless --force is given.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from experiments.terminal.output import emit

if TYPE_CHECKING:
    from emulation.clean import CleanReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor clean`."""
    parser.add_argument("--force", action="store_true", help="also end runs that are still at work")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor clean`."""
    from emulation.clean import clean_all

    reports = clean_all(force=arguments.force)
    text = "\n".join(map(_line, reports)) or "nothing to clean"
    emit(arguments, {"runs": [asdict(report) for report in reports]}, text)
    return 0


def _line(report: CleanReport) -> str:
    """One run as a line."""
    head = f"{report.run_id} ({report.command or 'no command noted'})"
    if report.skipped:
        return f"{head}: left alone, {report.skipped}"
    counts = (
        (len(report.processes), "processes"),
        (len(report.namespaces), "namespaces"),
        (report.interfaces, "interfaces"),
        (report.qdiscs, "queueing disciplines"),
        (len(report.folders), "folders"),
    )
    removed = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"{head}: removed {removed or 'its run file; nothing else was left'}"
