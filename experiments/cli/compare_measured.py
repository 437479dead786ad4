"""`armor compare --measure`: every scheme in turn on emulated networks, in the folder of --out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cli.parser import refuse_given, whole_number
from experiments.terminal.output import indented, table

if TYPE_CHECKING:
    from experiments.campaign.act.store import Store
    from experiments.comparison.decide.measured import Measured
    from experiments.comparison.decide.trials import Measuring
    from experiments.verify.verify import Request

STORED = "measured"


def add_measure_arguments(parser: argparse.ArgumentParser) -> None:
    """--measure, --link, --rounds."""
    group = parser.add_argument_group("measurements (root)")
    group.add_argument(
        "--measure", action="store_true", help="also fail one link of emulated networks, schemes in turn"
    )
    group.add_argument("--link", metavar="LINK", help="which (default: that of the longest crankback)")
    group.add_argument(
        "--rounds", type=whole_number("--rounds", 1, 1000), default=3, metavar="N", help="rounds (default 3)"
    )


def measuring(arguments: argparse.Namespace, request: Request) -> Measuring | None:
    """What is to be measured, checked before anything is computed; None: nothing.

    Raises
    ------
    BadInputError
        Options that have no use, an unknown link, or a network that cannot recover.
    """
    from experiments.comparison.decide.trials import Measuring, cases_of

    if not arguments.measure:
        refuse_given(arguments, ("link", "rounds"), "is for --measure; add it, or leave this out")
        return None
    refuse_given(arguments, ("routes", "metric", "max_failures"), "is not for --measure; leave it out")
    asked = Measuring(arguments.topology, request.topology, arguments.link, arguments.rounds, arguments.seed)
    cases_of(asked)
    return asked


class Measurement:
    """The trials of every scheme, whose rows stay in the folder of --out; it is named then, if it was not.

    Raises
    ------
    BadInputError
        The folder holds measurements already.
    MissingRequirementError
        Not root, or no Open vSwitch.
    """

    def __init__(self, arguments: argparse.Namespace, asked: Measuring, requests: Sequence[Request]) -> None:
        from experiments.campaign.act.store import refuse_used
        from experiments.cli.reproduce import NetworkTestbed
        from experiments.comparison.decide.trials import compare_trials, variant_of
        from ryu_apps.schemes import find_scheme

        self._arguments, self._asked = arguments, asked
        self._variants = [variant_of(find_scheme(each.scheme), each.options) for each in requests]
        self._trials, self._testbed = compare_trials(asked, self._variants), NetworkTestbed()
        self._testbed.require(self._trials)
        if arguments.out is not None:
            refuse_used(Path(arguments.out) / STORED)
        self._store: Store | None = None

    def run(self) -> None:
        """Run the trials."""
        from experiments.campaign.act.campaign import begin, folder_name
        from experiments.campaign.selection import Request as Campaign
        from experiments.campaign.values import CampaignPlan
        from experiments.cli.reproduce import measure_trials
        from experiments.comparison.decide.trials import NAME

        plan = CampaignPlan(quick=False, seed=self._asked.seed, rounds=self._asked.rounds)
        self._arguments.out = self._arguments.out or str(folder_name((NAME,)))
        self._store = begin(Path(self._arguments.out) / STORED, Campaign((NAME,), plan), {NAME: self._trials})
        measure_trials(self._store, self._trials, self._testbed)

    def so_far(self) -> list[Measured]:
        """What the rows say that there are; nothing before the first."""
        from experiments.comparison.decide.measured import measured

        rows = [] if self._store is None else self._store.rows()
        return measured(self._variants, rows) if rows else []


def measured_text(asked: Measuring | None, found: Sequence[Measured]) -> str:
    """The table for a person; empty where nothing was to be measured."""
    from experiments.comparison.decide.measured import HEADER, cells
    from experiments.comparison.decide.trials import cases_of

    if asked is None or not found:
        return ""
    shown = table([cells(each) for each in found], HEADER, tuple(range(1, len(HEADER))))
    head = f"measured, {cases_of(asked)[0].link} fails silently; median [least, most] of the rounds"
    return f"{head}\n\n{indented(shown)}"
