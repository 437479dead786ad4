"""A report page from folders of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from experiments.report.blocks import Block, Page, Section, Text
from experiments.report.campaign_section import campaign_section
from experiments.report.claims import VERDICT_KEY, figure_section, name_of, overview_grid, verdict_counts
from experiments.report.folders import CampaignFolder, FigureResult, Folder, RoundsFolder, RunFolder, read_folder
from experiments.report.rounds_section import rounds_section, rounds_summary
from experiments.report.run_section import run_section, run_summary
from experiments.report.words import anchor, listed
from mininet_topos.errors import BadInputError
from mininet_topos.wording import counted


@dataclass(frozen=True)
class Chapter:
    """What a folder contributes: sections, figures with their anchors, and a line for the overview."""

    sections: tuple[Section, ...]
    figures: tuple[tuple[FigureResult, str], ...]
    line: str


def report_page(paths: Sequence[Path], replays: Mapping[Path, str] = MappingProxyType({})) -> Page:
    """Read folders and lay out the page.

    Parameters
    ----------
    paths
        At least one; folders of `armor run`, `demo`, `reproduce`, `te sweep`, `torture` and `drill` in any order.
    replays
        By folder, the file beside the page that replays it.

    Raises
    ------
    BadInputError
        A folder holds no results, or files that this version cannot read.
    """
    chapters = [_chapter(path, number, replays.get(path, "")) for number, path in enumerate(paths, 1)]
    figures = [pair for chapter in chapters for pair in chapter.figures]
    blocks: list[Block] = [Text(chapter.line) for chapter in chapters]
    if figures:
        blocks += [overview_grid(figures), Text(VERDICT_KEY)]
    overview = Section("Overview", "overview", tuple(blocks))
    counts = verdict_counts(figure for figure, _ in figures)
    names = listed(path.resolve().name for path in paths)
    lead = f"Results of {counted(len(paths), 'folder')}: {names}." + (f" {counts}." if counts else "")
    sections = (overview, *(section for chapter in chapters for section in chapter.sections))
    return Page("Armor: measured failure recovery", lead, sections)


def _chapter(path: Path, number: int, replay: str) -> Chapter:
    folder = read_folder(path)
    place = anchor(f"folder-{number}", path.resolve().name)
    try:
        return _of_folder(folder, place, replay)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        # Files of another version, or changed by hand: what is missing is said, and not guessed.
        raise BadInputError(
            f"{str(path)!r} holds results in a shape that this version does not know "
            f"({type(error).__name__}: {error}); make the report with the version that measured them, or measure again"
        ) from error


def _of_folder(folder: Folder, place: str, replay: str) -> Chapter:
    if isinstance(folder, RunFolder):
        section = run_section(folder, place, replay)
        return Chapter((section,), (), f"{section.title}. {run_summary(folder, None)}")
    if isinstance(folder, RoundsFolder):
        section = rounds_section(folder, place)
        return Chapter((section,), (), f"{section.title}. {rounds_summary(folder)}")
    return _campaign(folder, place)


def _campaign(folder: CampaignFolder, place: str) -> Chapter:
    section = campaign_section(folder, place)
    figures = tuple((figure, anchor(place, name_of(figure))) for figure in folder.figures)
    line = section.blocks[0].text if isinstance(section.blocks[0], Text) else ""
    return Chapter((*(figure_section(*pair) for pair in figures), section), figures, f"{section.title}. {line}")
