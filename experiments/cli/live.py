"""See a network recover, in a browser: replay a recorded run on its map in slow motion, or follow a controller.

armor live results/mine                          # serves the page on this machine; the first line is its address
armor live results/mine --export recovery.html   # the same page as one file that opens offline
armor live --attach http://127.0.0.1:8080        # a running controller app, over its REST interface; read-only
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cli.parser import refuse_given, whole_number
from experiments.terminal.output import emit, release_notes, writable
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from starlette.routing import Route

    from experiments.live.decide.document import Document

_MOST_PORT = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor live`."""
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="a folder of 'armor run' or 'armor demo'")
    parser.add_argument("--attach", metavar="URL", help="the REST interface of a running controller app")
    parser.add_argument(
        "--pair",
        nargs=2,
        metavar="NODE",
        action="append",
        default=[],
        help="with --attach: two switches (may be given again)",
    )
    parser.add_argument("--export", metavar="PAGE", help="write one HTML file, and serve nothing")
    parser.add_argument(
        "--port", type=whole_number("--port", 0, _MOST_PORT), default=0, help="TCP port of the page (default: any)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor live`."""
    if (arguments.folder is None) == (arguments.attach is None):
        raise BadInputError("name one of both: a folder of 'armor run', or --attach URL of a running controller")
    if arguments.attach is not None:
        refuse_given(
            arguments, ("export",), "is for folders of 'armor run'; a page that follows a network cannot be a file"
        )
        return _attach(arguments)
    refuse_given(arguments, ("pair",), "is for --attach; a recorded run has the pairs of its traffic")
    from experiments.live.replay import read_document

    document = read_document(Path(arguments.folder))
    if arguments.export is not None:
        return _export(arguments, document)
    from experiments.live.html import to_html

    html = to_html(document)
    _serve(arguments, lambda: html)
    return 0


def _attach(arguments: argparse.Namespace) -> int:
    from experiments.live.attach import Attached, Controller
    from experiments.live.html import page_html
    from experiments.live.hub import hub_routes

    attached = Attached(Controller(arguments.attach), [(one, other) for one, other in arguments.pair])
    attached.look()
    ended = threading.Event()
    thread = threading.Thread(target=attached.follow, args=(ended,), daemon=True)
    thread.start()
    try:
        _serve(arguments, lambda: page_html(attached.hub.document), hub_routes(attached.hub))
    finally:
        ended.set()
        thread.join()
    return 0


def _serve(arguments: argparse.Namespace, html: Callable[[], str], routes: Sequence[Route] = ()) -> None:
    from experiments.live.server import page_app, serve

    def announce(url: str) -> None:
        print(json.dumps({"url": url}) if arguments.json else url, flush=True)

    release_notes()
    serve(page_app(html, routes), arguments.port, announce)


def _export(arguments: argparse.Namespace, document: Document) -> int:
    from experiments.live.export import export

    path = writable(arguments.export)
    size = export(document, path)
    emit(arguments, {"page": str(path), "bytes": size}, f"written: {path} ({size / 1e6:.1f} MB)")
    return 0
