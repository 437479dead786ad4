"""Put recovery schemes side by side: what each delivers after failures, and what its rows cost.

  armor compare sdfast cbc ffg ffg_restoration darkstrand --failures 1,2
  armor compare usnet --sample 200 --seed 7
  armor compare sdfast cb gscale --notification flood --json
  armor compare darkstrand --out comparison
  sudo armor compare sdfast cbc ffg usnet --measure --rounds 3 --out comparison

Without SCHEME all are compared, those of installed packages too; each mode of a scheme has lines of its own. The
numbers are those of 'armor verify'. --out names a folder, which gets compare.json, compare.csv, compare.html and
compare.png. --measure (root) also fails a link of emulated networks, one scheme after the other, round by round, and
keeps the rows there; interrupted, it prints what is known by then. The exit code is 1 when a scheme breaks its promise,
and 130 after Ctrl-C. docs/compare.md says what every number means.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.cli.compare_measured import Measurement, add_measure_arguments, measured_text, measuring
from experiments.cli.memory import add_memory_argument, memory_for
from experiments.cli.parser import add_plan_options, plan_options, refuse_given, whole_number
from experiments.cli.reproduce import INTERRUPTED
from experiments.terminal.inputs import load_topology
from experiments.terminal.output import Progress, emit, indented, note, progress, refuse_unwritable, table, writable
from mininet_topos.errors import BadInputError
from ryu_apps.plan.scheme_names import scheme_names

if TYPE_CHECKING:
    from experiments.comparison.decide.measured import Measured
    from experiments.comparison.decide.row import Row
    from experiments.verify.verify import Request

FILES = ("compare.json", "compare.csv", "compare.html", "compare.png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor compare`."""
    parser.add_argument("schemes", metavar="SCHEME", nargs="*", help=f"default: all; {', '.join(scheme_names())}")
    parser.add_argument("topology", metavar="TOPO", help="a name that 'armor topo list' shows, or a file")
    add_plan_options(parser)
    group = parser.add_argument_group("cases")
    group.add_argument(
        "--failures", type=_counts, default=(1,), metavar="N,...", help="links that fail at once (default 1)"
    )
    group.add_argument(
        "--sample", type=whole_number("--sample", 1), metavar="N", help="draw N sets of failed links instead of all"
    )
    group.add_argument("--jobs", type=whole_number("--jobs", 1, 1024), metavar="N", help="processes at most")
    group.add_argument("--into", metavar="FILE", help="also write the table into this page, between its marks")
    add_measure_arguments(parser)
    add_memory_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run `armor compare`."""
    from experiments.comparison.compare import modes_of, schemes_named
    from experiments.verify.verify import Request, masks_of
    from mininet_topos.connectivity import require_connected

    refuse_given(arguments, ("hard_timeout_s",), "changes no case; leave it out")
    schemes = schemes_named(arguments.schemes)
    topology = load_topology(arguments.topology)
    require_connected(topology)
    for name in FILES if arguments.out is not None else ():
        refuse_unwritable(str(Path(arguments.out) / name))
    if arguments.into is not None:
        refuse_unwritable(arguments.into, "--into")  # before the work, not after it
        _page(arguments.into, ())
    request = Request(topology, "", plan_options(arguments), sample=arguments.sample, seed=arguments.seed)
    asked = measuring(arguments, request)
    masks = {each: masks_of(replace(request, failures=each)) for each in arguments.failures}
    mode = arguments.mode if "mode" in arguments.given else None
    requests = [each for scheme in schemes for each in modes_of(scheme, request, mode)]
    measurement = Measurement(arguments, asked, requests) if asked is not None else None  # refused before the work
    rows, broken = _compared(arguments, requests, masks)

    def say(found: Sequence[Measured]) -> None:
        text = _text(topology.name, rows, broken, measured_text(asked, found))
        _say(arguments, topology.name, rows, found, text)

    if measurement is None:
        say(())
    else:
        try:
            measurement.run()
        except KeyboardInterrupt:
            note("armor: interrupted; the rounds that were measured until now:")
            say(measurement.so_far())  # within this clause, where the interrupt is not repeated
            return INTERRUPTED
        say(measurement.so_far())
    return 1 if broken else 0


def _compared(
    arguments: argparse.Namespace, requests: Sequence[Request], masks: Mapping[int, list[int]]
) -> tuple[list[Row], list[str]]:
    """Rows of all, and sentences about broken promises."""
    from experiments.comparison.compare import compare_scheme
    from ryu_apps.schemes import find_scheme

    rows: list[Row] = []
    broken: list[str] = []
    with progress(100 * len(requests) * len(masks), "cases", "%") as bar:
        for request in requests:
            bar.set_description_str(request.scheme)
            scheme = find_scheme(request.scheme)
            notifies = bool(scheme.modes)
            with memory_for(arguments, request.topology, request.options, scheme.plan, notifies=notifies):
                found = compare_scheme(request, masks, arguments.jobs, lambda done, every: _count(bar, done, every))
            rows += found.rows
            broken += found.broken
    return rows, broken


def _count(bar: Progress, done: int, every: int) -> None:
    """Of the 100 steps of one number of failures, those of one batch."""
    bar.update(100 * done // every - 100 * (done - 1) // every)


def _page(name: str, rows: Sequence[Row]) -> str:
    """The page of --into with a table of these rows."""
    from experiments.comparison.decide.pasted import pasted
    from mininet_topos.input_files import read_text

    return pasted(read_text(name, f"page {name!r}"), rows, repr(name))


def _paste(name: str, rows: Sequence[Row]) -> None:
    from machine.whole_file import write_whole

    write_whole(writable(name), _page(name, rows).encode("utf-8"))
    note(f"written: {name}")


def _say(
    arguments: argparse.Namespace, topology: str, rows: Sequence[Row], found: Sequence[Measured], text: str
) -> None:
    """Print, and write what --into and --out name."""
    value = {"topology": topology, "rows": list(map(asdict, rows)), "measured": list(map(asdict, found))}
    if arguments.into is not None:
        _paste(arguments.into, rows)
    if arguments.out is not None:
        _write(Path(arguments.out), topology, rows, found)
        _write_all(Path(arguments.out), {FILES[0]: json.dumps(value, indent=2).encode() + b"\n"})
        note(f"written: {arguments.out}/{{{','.join(FILES)}}}")
        arguments.out = None
    emit(arguments, value, text)


def _write(folder: Path, topology: str, rows: Sequence[Row], found: Sequence[Measured]) -> None:
    from experiments.comparison.decide.row import csv_text
    from experiments.comparison.page import comparison_page
    from experiments.comparison.picture import as_bytes, picture
    from experiments.report.render import to_html

    figure = picture(rows, f"{topology}: recovery schemes compared")
    page = to_html(comparison_page(topology, rows, found, as_bytes(figure, ".svg")))
    datas = (csv_text(rows).encode(), page.encode("utf-8", errors="replace"), as_bytes(figure, ".png"))
    _write_all(folder, dict(zip(FILES[1:], datas, strict=True)))


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    from machine.whole_file import write_whole

    for name, data in files.items():
        write_whole(writable(str(folder / name)), data)


def _text(topology: str, rows: Sequence[Row], broken: Sequence[str], measured: str) -> str:
    from experiments.comparison.decide.row import HEADER, RIGHT, by_scheme, cells

    shown = table([cells(stages) for stages in by_scheme(rows)], HEADER, RIGHT)
    head = f"{topology}: recovery schemes after failed links, delivered in percent of the cases with a path"
    lines = [head, "", indented(shown), *(f"  BROKEN: {each}" for each in broken), *([""] if measured else ())]
    return "\n".join([*lines, *([measured] if measured else ())])


def _counts(text: str) -> tuple[int, ...]:
    """Argument type: whole numbers of at least 1, with commas between them."""
    read = whole_number("--failures", 1)
    found = tuple(read(part) for part in text.split(","))
    if len(set(found)) < len(found):
        raise BadInputError(f"--failures is {text!r}; name each number once")
    return found
