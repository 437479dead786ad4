"""What an id of `armor reproduce` is: its trials, and how rows become claims, a picture and a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from experiments.campaign.values import CampaignPlan, Json, Trial
from experiments.campaign.verdicts import ClaimResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Table(NamedTuple):
    """What people read: a header, and rows of as many cells; the first column is text, the others are numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure or claim of a paper.

    Attributes
    ----------
    id, paper, title
        `paper` is what `--paper` takes; ids beyond the papers have paper "beyond".
    trials
        Plan -> trials. Figures that share trials name them alike, so each runs once.
    claims
        Rows -> claim results. Rows of other figures and failed attempts may be among them; they are left out.
    draw
        (rows, caption) -> figure; the caption's lines stand under what the figure says about itself.
    table
        Rows -> table.
    with_paper
        The paper whose `--paper` takes this id too, because it explains that paper's verdicts.
    part_of
        A name that asks for this id and all others that give it too, as sdfast-fig10 for its parts a and b.
    """

    id: str
    paper: str
    title: str
    trials: Callable[[CampaignPlan], tuple[Trial, ...]]
    claims: Callable[[Sequence[Json]], list[ClaimResult]]
    draw: Callable[[Sequence[Json], str], Figure]
    table: Callable[[Sequence[Json]], Table]
    with_paper: str | None = None
    part_of: str | None = None
