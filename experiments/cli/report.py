"""Make one HTML page from folders of results; it needs no network to be read, and prints well.

  armor report results/20261121-063827-run-two_failures
  armor report results/sd-fast results/te/kuijia-fig4 --out page.html

Folders are those of 'armor run', 'armor demo', 'armor reproduce' (finished or not) and 'armor te sweep'. Without --out
the page is report.html in the first folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.terminal.output import emit, writable
from machine.whole_file import write_whole

PAGE = "report.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor report`."""
    parser.add_argument("folders", metavar="FOLDER", nargs="+", help="a folder of results")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor report`."""
    from experiments.report.build import report_page
    from experiments.report.render import to_html

    folders = [Path(name) for name in arguments.folders]
    page = report_page(folders)
    path = writable(arguments.out or str(folders[0] / PAGE))
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
