"""See a network recover, in a browser: replay a recorded run on its map, in slow motion.

armor live results/mine                          # serves the page on this machine; the first line is its address
armor live results/mine --export recovery.html   # the same page as one file that opens offline
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from experiments.cli.parser import whole_number
from experiments.terminal.output import emit, release_notes, writable

_MOST_PORT = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor live`."""
    parser.add_argument("folder", metavar="FOLDER", help="a folder of 'armor run' or 'armor demo'")
    parser.add_argument("--export", metavar="PAGE", help="write one HTML file, and serve nothing")
    parser.add_argument(
        "--port", type=whole_number("--port", 0, _MOST_PORT), default=0, help="TCP port of the page (default: any)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor live`."""
    from experiments.live.html import to_html
    from experiments.live.replay import read_document

    document = read_document(Path(arguments.folder))
    html = to_html(document)
    if arguments.export is not None:
        return _export(arguments, html)
    from experiments.live.server import page_app, serve

    def announce(url: str) -> None:
        print(json.dumps({"url": url}) if arguments.json else url, flush=True)

    release_notes()
    serve(page_app(html), arguments.port, announce)
    return 0


def _export(arguments: argparse.Namespace, html: str) -> int:
    from machine.whole_file import write_whole

    path = writable(arguments.export)
    # Names come from files; a character that UTF-8 cannot hold is shown as a question mark.
    data = html.encode("utf-8", errors="replace")
    write_whole(path, data)
    emit(arguments, {"page": str(path), "bytes": len(data)}, f"written: {path} ({len(data) / 1e6:.1f} MB)")
    return 0
