"""Make an HTML page from folders of results, fill a Markdown page's table of verdicts, or write rows as CSV or Parquet.

  armor report results/20261121-063827-run-two_failures
  armor report results/sd-fast results/te/kuijia-fig4 --out page.html
  armor report results/mine --live                  # and a page that replays each run (armor live), linked to
  armor report reference_results/sd-fast --into docs/results.md
  armor report reference_results/torture/* --into docs/torture.md
  armor report reference_results/sd-fast --rows rows.parquet        # or rows.csv: one row a trial, or a failure

Folders are those of 'armor run', 'armor demo', 'armor te sweep', and, finished or not, of 'armor reproduce', 'armor
torture' and 'armor drill'. Without --out the page is report.html in the first folder; it needs no network to be read,
and prints well.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.terminal.output import emit, refuse_unwritable, writable
from machine.whole_file import write_whole
from mininet_topos.errors import BadInputError
from mininet_topos.input_files import read_text

PAGE = "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor report`."""
    parser.add_argument("folders", metavar="FOLDER", nargs="+", help="a folder of results")
    parser.add_argument(
        "--live",
        action="store_true",
        help="write a page of 'armor live' for each run beside the report, and link to it",
    )
    parser.add_argument(
        "--into", metavar="PAGE", help="write the table of a campaign's verdicts between the markers of a Markdown page"
    )
    parser.add_argument("--rows", metavar="FILE", help="of one folder: write its rows to FILE.csv or FILE.parquet")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor report`."""
    if arguments.into is not None:
        return _fill(arguments)
    if arguments.rows is not None:
        return _rows(arguments)
    from experiments.report.build import report_page
    from experiments.report.render import to_html

    folders = [Path(name) for name in arguments.folders]
    name = arguments.out or str(folders[0] / PAGE)
    page = report_page(folders)  # what cannot be read is refused before anything is written
    path = writable(name)
    if arguments.live:
        from experiments.live.export import export_beside

        page = report_page(folders, export_beside(path, folders))
    # Names come from files; a character that UTF-8 cannot hold is shown as a question mark.
    data = to_html(page).encode("utf-8", errors="replace")
    write_whole(path, data)
    arguments.out = None
    value = {
        "page": str(path),
        "bytes": len(data),
        "folders": [str(folder) for folder in folders],
        "sections": [section.title for section in page.sections],
    }
    emit(arguments, value, f"{page.lead}\nwritten: {path} ({len(data) / 1e6:.1f} MB)")
    return 0


def _rows(arguments: argparse.Namespace) -> int:
    """Write a folder's rows as a table."""
    from experiments.report.folders import read_folder
    from experiments.report.table_file import write_rows

    if len(arguments.folders) > 1 or arguments.out is not None or arguments.live:
        raise BadInputError("--rows takes one folder, no --out and no --live; write one folder after the other")
    rows = read_folder(Path(arguments.folders[0])).rows
    path = writable(arguments.rows, "--rows")
    write_rows(rows, path)
    emit(arguments, {"file": str(path), "rows": len(rows)}, f"written: {path}, {len(rows):,} rows")
    return 0


def _fill(arguments: argparse.Namespace) -> int:
    """Write a campaign's table into a page."""
    from experiments.report.markdown import filled

    if arguments.out is not None or arguments.live or arguments.rows is not None:
        raise BadInputError("--into takes no --out, --live or --rows; fill the page, and then do that")
    page = Path(arguments.into)
    refuse_unwritable(str(page), "--into")
    text = read_text(page, repr(str(page)))
    new = filled(text, [Path(name) for name in arguments.folders])
    write_whole(page, new)
    emit(arguments, {"page": str(page), "changed": new != text}, f"{'written' if new != text else 'unchanged'}: {page}")
    return 0
