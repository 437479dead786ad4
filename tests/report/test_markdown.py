"""Tables of verdicts inside Markdown pages: those of the repository are what the command makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.cli.main import main
from experiments.report.decide.markdown import put_between
from experiments.report.markdown import END, TABLES, filled
from mininet_topos.errors import BadInputError

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "reference_results" / "sd-fast"
PLACES = list(TABLES)
# All but sd-fast-off, an older run of ids that sd-fast and sd-fast-throughput have.
ALL = ("kuijia*", "p4-protect*", "pso*", "sd-fast", "sd-fast-throughput", "sqr*")
FOLDERS = {
    "README.md": ALL,
    "docs/coverage.md": ALL,
    "docs/results.md": ("sd-fast",),
    "docs/throughput.md": ("sd-fast-throughput",),
    "docs/sqr.md": ("sqr*",),
    "docs/protect.md": ("p4-protect*",),
    "docs/traffic_engineering.md": ("kuijia*",),
    "docs/pso.md": ("pso*",),
}
FILLED_PAGES = [
    str(page.relative_to(ROOT))
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if any(place in page.read_text(encoding="utf-8") for place in PLACES)
]


@pytest.mark.parametrize("page", FILLED_PAGES)
def test_the_tables_of_the_repository_are_made_from_the_reference_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    folders = [path for pattern in FOLDERS[page] for path in sorted((ROOT / "reference_results").glob(pattern))]
    assert filled(text, folders) == text


@pytest.mark.parametrize("place", PLACES)
def test_only_what_stands_between_the_markers_changes(place: str) -> None:
    page = f"before\n\n{place}\nold\n{END}\n\nafter {END}"
    new = filled(page, [REFERENCE])
    assert new.startswith(f"before\n\n{place}\n| {TABLES[place][0][0]} |")
    assert new.endswith(f" |\n{END}\n\nafter {END}")
    assert "old" not in new.split("\n")
    assert filled(new, [REFERENCE]) == new


@pytest.mark.parametrize(
    ("page", "said"),
    [("no marker", "no place"), (f"{PLACES[0]}\nno end", "nothing ends"), (f"{PLACES[0]}\n{END}\n" * 2, "leave one")],
)
def test_a_page_without_markers_is_refused(page: str, said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        filled(page, [REFERENCE])


@pytest.mark.parametrize("page", ["", "B x\nE\nB y\nE\n", "B\n", "E\nB\n", "B\n<!-- other -->\nE\n"])
def test_text_goes_only_between_two_markers_that_follow_each_other(page: str) -> None:
    marked = page.replace("B", "<!-- begin").replace("E", "<!-- end -->")
    with pytest.raises(BadInputError, match="page"):
        put_between(marked, "<!-- begin", "<!-- end -->", "new", "page")


def test_the_command_fills_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("".join(f"{place}\n{END}\n" for place in PLACES), encoding="utf-8")
    for said in ("written", "unchanged"):
        assert main(["report", str(REFERENCE), "--into", str(page)]) == 0
        assert capsys.readouterr().out.startswith(said)
    text = page.read_text(encoding="utf-8")
    assert "| sd-fast | 3 |" in text
    assert text.count("| `sdfast-fig9` |") > 1
    assert main(["report", str(REFERENCE), str(REFERENCE), "--into", str(page)]) == 2
    assert "stands in two of these folders" in capsys.readouterr().err
