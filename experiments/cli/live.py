"""See a network recover, in a browser: replay a recorded run on its map, in slow motion.

armor live results/mine                          # serves the page on this machine; the first line is its address
armor live results/mine --export recovery.html   # the same page as one file that opens offline
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cli.parser import whole_number
from experiments.terminal.output import emit, release_notes, writable

if TYPE_CHECKING:
    from experiments.live.decide.document import Document

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
    from experiments.live.replay import read_document

    document = read_document(Path(arguments.folder))
    if arguments.export is not None:
        return _export(arguments, document)
    from experiments.live.html import to_html
    from experiments.live.server import page_app, serve

    def announce(url: str) -> None:
        print(json.dumps({"url": url}) if arguments.json else url, flush=True)

    release_notes()
    serve(page_app(to_html(document)), arguments.port, announce)
    return 0


def _export(arguments: argparse.Namespace, document: Document) -> int:
    from experiments.live.export import export

    path = writable(arguments.export)
    size = export(document, path)
    emit(arguments, {"page": str(path), "bytes": size}, f"written: {path} ({size / 1e6:.1f} MB)")
    return 0
