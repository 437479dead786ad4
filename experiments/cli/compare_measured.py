"""`armor compare --measure`: every scheme in turn on emulated networks, in the folder of --out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cli.parser import refuse_given, whole_number
from experiments.terminal.output import indented, note, table

if TYPE_CHECKING:
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


def measure_all(arguments: argparse.Namespace, asked: Measuring, requests: Sequence[Request]) -> list[Measured]:
    """Run the trials, keep their rows in the folder of --out, which is named now if it was not, and sum them up.

    Raises
    ------
    BadInputError
        The folder holds measurements already.
    MissingRequirementError
        Not root, or no Open vSwitch.
    """
    from experiments.campaign.act.campaign import begin, folder_name, measure
    from experiments.campaign.act.discovery import find_kinds
    from experiments.campaign.durations import estimates, in_words, total_seconds
    from experiments.campaign.selection import Request as Campaign
    from experiments.campaign.values import CampaignPlan
    from experiments.cli.campaign_progress import campaign_progress
    from experiments.cli.reproduce import NetworkTestbed
    from experiments.comparison.decide.measured import measured
    from experiments.comparison.decide.trials import NAME, compare_trials, variant_of
    from ryu_apps.schemes import find_scheme

    variants = [variant_of(find_scheme(each.scheme), each.options) for each in requests]
    trials, testbed = compare_trials(asked, variants), NetworkTestbed()
    testbed.require(trials)
    campaign = Campaign((NAME,), CampaignPlan(quick=False, seed=asked.seed, rounds=asked.rounds))
    arguments.out = arguments.out or str(folder_name((NAME,)))
    store = begin(Path(arguments.out) / STORED, campaign, {NAME: trials})
    todo = estimates(trials, find_kinds())
    note(f"{len(todo)} trials to run, about {in_words(total_seconds(todo.values()))}; rows go to {store.path}")
    with campaign_progress(todo) as progress:
        measure(store, trials, testbed, progress, progress.say, tell=progress.tell)
    return measured(variants, store.rows())


def measured_text(asked: Measuring | None, found: Sequence[Measured]) -> str:
    """The table for a person; empty where nothing was to be measured."""
    from experiments.comparison.decide.measured import HEADER, cells
    from experiments.comparison.decide.trials import cases_of

    if asked is None:
        return ""
    shown = table([cells(each) for each in found], HEADER, tuple(range(1, len(HEADER))))
    head = f"measured, {cases_of(asked)[0].link} fails silently; median [least, most] of the rounds"
    return f"{head}\n\n{indented(shown)}"
