"""What was asked for: which ids, and the trials that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.campaign.order import first_difference, in_order
from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.scenario.suggest import suggest
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from experiments.campaign.figure import PaperFigure

    Figures = Mapping[str, PaperFigure]


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that decides which trials a campaign has; `variants` None means all."""

    ids: tuple[str, ...]
    plan: CampaignPlan
    variants: tuple[str, ...] | None = None

    def to_json(self) -> Json:
        """How campaign.json keeps it."""
        return {
            "ids": list(self.ids),
            "quick": self.plan.quick,
            "seed": self.plan.seed,
            "rounds": self.plan.rounds,
            "variants": None if self.variants is None else list(self.variants),
        }

    @classmethod
    def from_json(cls, value: Json) -> Request:
        """Read what `to_json` wrote.

        Raises
        ------
        BadInputError
            A key is missing.
        """
        try:
            plan = CampaignPlan(bool(value["quick"]), int(value["seed"]), value["rounds"])
            return cls(tuple(value["ids"]), plan, None if value["variants"] is None else tuple(value["variants"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInputError(f"campaign.json does not say what was asked for ({error}); measure again") from error


def choose_ids(
    asked: Sequence[str], paper: str | None, every: bool, figures: Figures, aliases: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Ids of the command line, each once, in the order of `figures`.

    Raises
    ------
    BadInputError
        Nothing, or something unknown, was asked for.
    """
    if sum((bool(asked), paper is not None, every)) > 1:
        raise BadInputError("ids, --paper and --all exclude each other; keep one of them")
    if every:
        return tuple(figures)
    if paper is not None:
        return of_paper(paper, figures)
    if not asked:
        raise BadInputError("nothing to reproduce; name ids ('armor reproduce --list' shows them), --paper or --all")
    wanted: set[str] = set()
    for name in asked:
        if name not in figures and name not in aliases:
            raise BadInputError(f"{name!r} is no id; {suggest(name, [*figures, *aliases])}")
        wanted.update(aliases.get(name, (name,)))
    return tuple(name for name in figures if name in wanted)


def of_paper(paper: str, figures: Figures) -> tuple[str, ...]:
    """Ids of one paper, and those that explain its verdicts.

    Raises
    ------
    BadInputError
        There is no such paper.
    """
    found = tuple(name for name, figure in figures.items() if paper in (figure.paper, figure.with_paper))
    if not found:
        papers = list(dict.fromkeys(figure.paper for figure in figures.values()))
        raise BadInputError(f"--paper {paper!r} is not known; {suggest(paper, papers)}")
    return found


def trials_of(request: Request, figures: Figures) -> dict[str, tuple[Trial, ...]]:
    """Per id its trials, without the variants that were not asked for (trials without a variant stay).

    Raises
    ------
    BadInputError
        An id or variant is unknown.
    """
    found = {}
    for name in request.ids:
        if name not in figures:
            raise BadInputError(f"{name!r} is no id; {suggest(name, list(figures))}")
        found[name] = figures[name].trials(request.plan)
    if request.variants is None:
        return found
    known = list(dict.fromkeys(trial.variant.name for trials in found.values() for trial in trials if trial.variant))
    for variant in request.variants:
        if variant not in known:
            raise BadInputError(
                f"--variants names {variant!r}, no variant of {', '.join(request.ids)}; {suggest(variant, known)}"
            )
    wanted = set(request.variants)
    return {
        name: tuple(trial for trial in trials if trial.variant is None or trial.variant.name in wanted)
        for name, trials in found.items()
    }


def run_order(by_id: Mapping[str, Sequence[Trial]]) -> tuple[Trial, ...]:
    """All trials in the order in which they run, each once."""
    return in_order(trial for trials in by_id.values() for trial in trials)


def describe(request: Request, by_id: Mapping[str, Sequence[Trial]]) -> Json:
    """What campaign.json keeps: what was asked for, every trial in order, and which ids use which."""
    return {
        **request.to_json(),
        "trials": [trial.to_json() for trial in run_order(by_id)],
        "figures": {name: [trial.trial_id for trial in trials] for name, trials in by_id.items()},
    }


def refuse_changes(description: Json, by_id: Mapping[str, Sequence[Trial]], folder: str) -> None:
    """Refuse to go on with a campaign whose trials the code no longer makes.

    Raises
    ------
    BadInputError
        The message names the first difference.
    """
    difference = first_difference(description["trials"], [trial.to_json() for trial in run_order(by_id)])
    if difference is not None:
        raise BadInputError(
            f"--resume {folder!r}: its trials are not those of this code ({difference}); "
            "start again in a new folder, or check out the commit that its environment.json names"
        )
