"""Measure figures and claims of the papers again, and judge them from the rows (needs root where networks are built).

  armor reproduce --list
  armor reproduce sdfast-fig9 --quick
  armor reproduce --paper sd-fast --out results/sd-fast
  armor reproduce --resume results/sd-fast
  armor reproduce --redraw results/sd-fast

Every id, file and verdict is described in docs/reproduce.md. A claim that differs is a result: the exit code is 1 only
when trials failed so that a claim could not be judged, and 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cli.parser import whole_number
from experiments.terminal.output import note
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from experiments.campaign.act.campaign import CampaignTestbed
    from experiments.campaign.act.engine import Runner
    from experiments.campaign.act.store import Store
    from experiments.campaign.figure import PaperFigure
    from experiments.campaign.selection import Request
    from experiments.campaign.values import Json, TestbedSettings, Trial

INTERRUPTED = 130
_CHOICES = ("ids", "paper", "all", "quick", "rounds", "variants")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor reproduce`."""
    parser.add_argument("ids", metavar="ID", nargs="*", help="what to measure, as sdfast-fig9")
    parser.add_argument("--paper", metavar="PAPER", help="all ids of a paper, as sd-fast")
    parser.add_argument("--all", action="store_true", help="all ids")
    parser.add_argument("--list", action="store_true", help="show all ids, with trials and minutes")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and repetitions, same code")
    parser.add_argument(
        "--rounds", type=whole_number("--rounds", 1, 1000), metavar="N", help="rounds (default: those of each id)"
    )
    parser.add_argument(
        "--variants", metavar="NAMES", help="some of the variants, with commas, as cb,cbc-5ms (default: all)"
    )
    parser.add_argument("--resume", metavar="FOLDER", help="go on with a campaign that was broken off")
    parser.add_argument("--redraw", metavar="FOLDER", help="judge and draw again from stored rows, without measuring")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor reproduce`."""
    _refuse_contradictions(arguments)
    if arguments.list:
        return _list(arguments)
    if arguments.redraw is not None:
        return _redraw(arguments)
    if arguments.resume is not None:
        return _resume(arguments, NetworkTestbed())
    return _start(arguments, NetworkTestbed())


class NetworkTestbed:
    """Trials on this machine."""

    def require(self, trials: Sequence[Trial]) -> None:
        """Refuse when the machine lacks what the trials need; remove what killed runs left behind."""
        from experiments.campaign.act.discovery import find_kinds
        from experiments.campaign.durations import needs_root

        if not needs_root(trials, find_kinds()):
            return
        from emulation.clean import clean_all
        from experiments.testbed.runs.parts import require_programs

        require_programs()
        clean_all()

    def facts(self, trials: Sequence[Trial]) -> Json:
        """Which datapath switches take: the kernel's when it has one."""
        from experiments.campaign.act.discovery import find_kinds
        from experiments.campaign.durations import needs_root

        if not needs_root(trials, find_kinds()):
            return {}
        from emulation.features import kernel_features

        features = kernel_features()
        return {"emulation": {"datapath": "kernel" if features.openvswitch else "netdev", "netem": features.netem}}

    def calibrate(self, trials: Sequence[Trial], settings: TestbedSettings) -> Json:
        """Measure the machine with the campaign's load."""
        from experiments.testbed.trials.calibrate import measure_calibration

        return measure_calibration(trials, settings)

    def runners(self, trials: Sequence[Trial], settings: TestbedSettings) -> Mapping[str, Runner]:
        """A runner for every kind of these trials; nothing is imported that they do not need."""
        from experiments.campaign.act.discovery import make_runners

        return make_runners(trials, settings)


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Options that say how to begin have no place where a campaign has begun."""
    modes = [name for name in ("list", "resume", "redraw") if getattr(arguments, name)]
    if len(modes) > 1:
        raise BadInputError(f"--{modes[0]} and --{modes[1]} exclude each other; keep one of them")
    if modes == ["list"]:
        asked = [
            *arguments.ids[:1],
            *(arguments.given[name] for name in ("paper", "all", "variants") if name in arguments.given),
        ]
        if asked:
            raise BadInputError(f"--list shows all ids; leave {asked[0]} away")
    if modes not in (["resume"], ["redraw"]):
        return
    allowed = ("ids",) if modes == ["redraw"] else ()
    given = [name for name in _CHOICES if getattr(arguments, name) and name not in allowed]
    given += [name for name in ("seed", *(("out",) if modes == ["resume"] else ())) if name in arguments.given]
    if given:
        what = "ids" if given[0] == "ids" else f"--{given[0]}"
        raise BadInputError(f"--{modes[0]} takes {what} from the folder's campaign.json; leave {what} away")


def _registry() -> tuple[Mapping[str, PaperFigure], Mapping[str, tuple[str, ...]]]:
    from experiments.campaign.act.discovery import aliases_of, find_figures

    return find_figures(), aliases_of(find_figures())


def _start(arguments: argparse.Namespace, testbed: CampaignTestbed) -> int:
    from experiments.campaign.selection import Request, choose_ids
    from experiments.campaign.values import CampaignPlan

    figures, aliases = _registry()
    ids = choose_ids(arguments.ids, arguments.paper, arguments.all, figures, aliases)
    variants = None if arguments.variants is None else tuple(part.strip() for part in arguments.variants.split(","))
    request = Request(ids, CampaignPlan(arguments.quick, arguments.seed, arguments.rounds), variants)
    store, trials = begin_campaign(request, figures, Path(arguments.out) if arguments.out else None, testbed)
    return _measure(arguments, store, trials, testbed)


def begin_campaign(
    request: Request, figures: Mapping[str, PaperFigure], out: Path | None, testbed: CampaignTestbed
) -> tuple[Store, tuple[Trial, ...]]:
    """Make the folder of a new campaign, a new one in results/ where `out` is None, and say what is to run.

    Raises
    ------
    BadInputError
        The variants leave no trial, or the folder cannot be used.
    MissingRequirementError
        The machine lacks what the trials need.
    """
    from experiments.campaign.act.campaign import begin, folder_name
    from experiments.campaign.act.store import CAMPAIGN
    from experiments.campaign.selection import run_order, trials_of

    by_id = trials_of(request, figures)
    trials = run_order(by_id)
    if not trials:
        asked = ",".join(request.variants or ())
        raise BadInputError(f"--variants {asked!r} leaves no trial of {', '.join(request.ids)}; name other variants")
    testbed.require(trials)
    folder = out or folder_name(request.ids)
    if (folder / CAMPAIGN).exists():
        raise BadInputError(
            f"folder {str(folder)!r} holds a campaign; name a new one with --out, or go on with --resume {folder}"
        )
    return begin(folder, request, by_id), trials


def _resume(arguments: argparse.Namespace, testbed: CampaignTestbed) -> int:
    from experiments.campaign.selection import Request, refuse_changes, run_order, trials_of

    store = open_campaign(Path(arguments.resume))
    store.refuse_packed()
    by_id = trials_of(Request.from_json(store.description), _registry()[0])
    refuse_changes(store.description, by_id, arguments.resume)
    trials = run_order(by_id)
    testbed.require(trials)
    return _measure(arguments, store, trials, testbed)


def open_campaign(folder: Path) -> Store:
    """A campaign that has begun, whose files belong together."""
    from experiments.campaign.act.store import Store
    from experiments.campaign.integrity import check_campaign

    store = Store.open(folder)
    check_campaign(store.description, store.rows(), str(folder))
    return store


def _redraw(arguments: argparse.Namespace) -> int:
    from experiments.campaign.selection import choose_ids

    store = open_campaign(Path(arguments.redraw))
    figures, aliases = _registry()
    ids = choose_ids(arguments.ids, None, False, figures, aliases) if arguments.ids else ()
    return _conclude(arguments, store, Path(arguments.out) if arguments.out else store.path, ids)


def _measure(arguments: argparse.Namespace, store: Store, trials: Sequence[Trial], testbed: CampaignTestbed) -> int:
    try:
        measure_trials(store, trials, testbed)
    except KeyboardInterrupt:
        note(f"armor: interrupted; go on with: armor reproduce --resume {store.path}")
        return INTERRUPTED
    return _conclude(arguments, store, store.path)


def measure_trials(store: Store, trials: Sequence[Trial], testbed: CampaignTestbed) -> None:
    """Run the trials that have no good row yet, with their progress on standard error (errors as of `measure`)."""
    from experiments.campaign.act.campaign import measure
    from experiments.campaign.act.discovery import find_kinds
    from experiments.campaign.durations import estimates, in_words, total_seconds
    from experiments.campaign.order import remaining
    from experiments.cli.campaign_progress import campaign_progress

    todo = estimates(remaining(trials, store.rows()), find_kinds())
    about = in_words(total_seconds(todo.values()))
    note(f"{len(todo)} of {len(trials)} trials to run, about {about}; rows go to {store.path}")
    with campaign_progress(todo) as progress:
        measure(store, trials, testbed, progress, progress.say, tell=progress.tell)


def _conclude(arguments: argparse.Namespace, store: Store, out: Path, ids: Sequence[str] = ()) -> int:
    from experiments.campaign.act.campaign import conclude
    from experiments.cli.reproduce_text import campaign_text

    value = conclude(store, _registry()[0], out, ids)
    print(json.dumps(value, indent=2, ensure_ascii=False) if arguments.json else campaign_text(value))
    return 1 if any(result["lacks_data"] for result in value["results"]) else 0


def _list(arguments: argparse.Namespace) -> int:
    from experiments.campaign.values import CampaignPlan
    from experiments.cli.reproduce_text import list_text
    from experiments.terminal.output import emit

    figures, aliases = _registry()

    @functools.cache  # a figure stands in a line of its own, in its paper's and in that of all
    def drawn(name: str, quick: bool) -> Sequence[Trial]:
        return figures[name].trials(CampaignPlan(quick, arguments.seed, arguments.rounds))

    rows = [_listed(name, (figure,), drawn, figure.paper, figure.title) for name, figure in figures.items()]
    for name, members in aliases.items():
        parts = tuple(figures[member] for member in members)
        rows.append({**_listed(name, parts, drawn, parts[0].paper, parts[0].title), "same_as": list(members)})
    together = [_listed(option, members, drawn, members[0].paper) for option, members in _groups(figures).items()]
    emit(arguments, {"ids": rows, "together": together}, list_text(rows, together))
    return 0


def _groups(figures: Mapping[str, PaperFigure]) -> dict[str, tuple[PaperFigure, ...]]:
    """What can be asked for at once: --all, and each paper."""
    from experiments.campaign.selection import of_paper

    papers = dict.fromkeys(figure.paper for figure in figures.values())
    asked = {f"--paper {paper}": tuple(figures[name] for name in of_paper(paper, figures)) for paper in papers}
    return {**asked, "--all": tuple(figures.values())}


def _listed(
    name: str,
    figures: Sequence[PaperFigure],
    drawn: Callable[[str, bool], Sequence[Trial]],
    paper: str,
    title: str = "",
) -> Json:
    """One line of the list: full and quick."""
    from experiments.campaign.act.discovery import find_kinds
    from experiments.campaign.durations import campaign_seconds
    from experiments.campaign.selection import run_order

    row: Json = {"id": name, "paper": paper, "title": title}
    for prefix, quick in (("", False), ("quick_", True)):
        trials = run_order({figure.id: drawn(figure.id, quick) for figure in figures})
        row[f"{prefix}trials"], row[f"{prefix}seconds"] = len(trials), round(campaign_seconds(trials, find_kinds()))
    return row
