"""Tables inside Markdown pages: what stands between two markers is made from folders of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from experiments.campaign.verdicts import MEASURED, count_verdicts
from experiments.report.decide.markdown import put_between, table
from experiments.report.folders import CampaignFolder, RoundsFolder, read_folder
from experiments.report.rounds_section import ROUNDS_HEADER, ROUNDS_RIGHT, rounds_line
from experiments.report.words import Json
from mininet_topos.errors import BadInputError

END = "<!-- armor report: end -->"
ROUNDS = "<!-- armor report: rounds -->"


def filled(text: str, paths: Sequence[Path]) -> str:
    """A page whose tables are those of some folders.

    Parameters
    ----------
    paths
        Campaigns, of which each id stands in one; or folders of tortures and drills, which get a line each.

    Raises
    ------
    BadInputError
        The folders are not of such kinds, or the page has no place for their table.
    """
    folders = [read_folder(path) for path in paths]
    campaigns = [folder for folder in folders if isinstance(folder, CampaignFolder)]
    rounds = [folder for folder in folders if isinstance(folder, RoundsFolder)]
    if rounds and len(rounds) == len(folders):
        return _put(text, {ROUNDS: table(ROUNDS_HEADER, map(rounds_line, rounds), right=ROUNDS_RIGHT)})
    if len(campaigns) != len(folders):
        names = ", ".join(map(str, paths))
        raise BadInputError(f"{names}: --into takes campaigns, or folders of 'armor torture' and 'armor drill' alone")
    verdicts = [figure.verdict for campaign in campaigns for figure in campaign.figures]
    repeated = [name for name, count in Counter(str(each["id"]) for each in verdicts).items() if count > 1]
    if repeated:
        raise BadInputError(f"--into: {repeated[0]} stands in two of these folders; leave one out")
    return _put(text, {marker: table(header, lines(verdicts)) for marker, (header, lines) in TABLES.items()})


def _put(text: str, tables: Mapping[str, str]) -> str:
    """The page with each table that it has a place for."""
    places = [marker for marker in tables if marker in text]
    if not places:
        raise BadInputError(f"the page has no place for a table; write {' or '.join(tables)}, and below it {END}")
    for marker in places:
        text = put_between(text, marker, END, tables[marker], "the page")
    return text


def _ids(verdicts: Sequence[Json]) -> Iterator[tuple[str, ...]]:
    """A line for each id with judged claims: its first claim, and how many got which verdict."""
    for verdict in verdicts:
        judged = _judged(verdict)
        if judged:
            first = judged[0]
            yield f"`{verdict['id']}`", first["name"], _paper(first), _measured(first), _counts(judged)


def _papers(verdicts: Sequence[Json]) -> Iterator[tuple[str, ...]]:
    """A line for each paper, and one for what is beyond them: how many ids and judged claims got which verdict."""
    papers = sorted({str(each["paper"]) for each in verdicts}, key=lambda paper: (paper == "beyond", paper))
    for paper in papers:
        ids = [verdict for verdict in verdicts if verdict["paper"] == paper]
        claims = [claim for verdict in ids for claim in _judged(verdict)]
        yield paper, str(len(ids)), _counts(ids), str(len(claims)), _counts(claims)


def _counts(judged: Sequence[Json]) -> str:
    """How many ids or claims got which verdict, as "2 holds, 1 differs"."""
    numbers = Counter(each["verdict"] for each in judged)
    return ", ".join(f"{numbers[word]} {word}" for word in count_verdicts(()) if word in numbers)


def _claims(verdicts: Sequence[Json]) -> Iterator[tuple[str, ...]]:
    """A line for each judged claim."""
    for verdict in verdicts:
        for claim in _judged(verdict):
            yield f"`{verdict['id']}`", claim["name"], _paper(claim), _band(claim), _measured(claim), claim["verdict"]


Lines = Callable[[Sequence[Json]], Iterator[tuple[str, ...]]]
TABLES: dict[str, tuple[tuple[str, ...], Lines]] = {
    "<!-- armor report: papers -->": (("paper", "ids", "verdicts of ids", "judged claims", "their verdicts"), _papers),
    "<!-- armor report: ids -->": (("id", "first claim", "paper", "measured [95 %]", "all claims"), _ids),
    "<!-- armor report: claims -->": (("id", "claim", "paper or goal", "band", "measured [95 %]", "verdict"), _claims),
}
"""By the marker of its place: the header of a table, and what makes its lines from the verdicts."""


def _judged(verdict: Json) -> list[Json]:
    return [claim for claim in verdict["claims"] if claim["verdict"] != MEASURED]


def _paper(claim: Json) -> str:
    return "-" if claim["paper"] is None else _value(claim["paper"], claim["unit"])


def _band(claim: Json) -> str:
    """What holds, as it was registered; an order is what the paper says."""
    band = claim.get("band")
    return "-" if band is None or band.startswith("order(") else band


def _measured(claim: Json) -> str:
    low, high = claim["low"], claim["high"]
    if claim["measured"] is None:
        return "-"
    if low is None or high is None:
        return _value(claim["measured"], claim["unit"])
    return _value(f"{claim['measured']:.3g} [{low:.3g}, {high:.3g}]", claim["unit"])


def _value(value: float | str, unit: str) -> str:
    """A number, or numbers as text, with their unit; words as they are.

    Examples
    --------
    >>> _value(-54.26, "% change"), _value("in this order", "% change"), _value(3.0, "cases")
    ('-54.3 %', 'in this order', '3 cases')
    """
    text = value if isinstance(value, str) else f"{value:.3g}"
    if not (text[-1] in "0123456789]" and text[:1] in "-0123456789"):
        return text
    return f"{text} %" if unit.startswith("%") else f"{text} {unit}".rstrip()
