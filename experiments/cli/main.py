"""`armor COMMAND ...`: finds the command, runs it, and turns errors into one line and an exit code.

Exit codes: 0 what was asked for held, 1 a claim or check failed, 2 bad input or a missing requirement, 130 Ctrl-C.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType

from experiments.cli.output import drop_notes, release_notes
from experiments.cli.parser import ArmorParser
from experiments.scenario.suggest import suggest
from mininet_topos.errors import ArmorError, BadInputError

COMMANDS = {
    "topo": "list, show and draw topologies",
    "plan": "print the rules, groups and backup rows of a scheme",
    "verify": "walk every failure case through the plans",
    "te": "allocate traffic to tunnels, fail links, and compare schemes",
    "run": "run a scenario file on an emulated network and measure it",
    "reproduce": "measure figures and claims of the papers again, and judge them",
    "demo": "one failure, from topology file to measured recovery",
    "report": "make one HTML page from folders of results",
    "pmt": "check tables of message classes (PSO), put them on switches, show them",
    "ofload": "load a controller with OpenFlow packet-ins and see what became of each",
    "protect": "protected flows of a running controller: list, add, remove, stats",
    "doctor": "check what this machine can do",
    "clean": "remove what a broken-off run left behind",
}
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process when left out.

    Returns
    -------
    int
        Exit code.
    """
    _replace_what_the_terminal_cannot_show()
    # The `ovs` package imports eventlet where it is installed, which prints nine lines about its own future.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    try:
        drop_notes()
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        release_notes()
        sys.stdout.flush()
    except ArmorError as error:
        print("armor: " + " ".join(str(error).split()), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("armor: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone (for example `| head`); what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _dispatch(argv: list[str]) -> int:
    if not argv:
        raise BadInputError(f"no command given; use one of {', '.join(COMMANDS)}, or --help")
    if argv[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    if argv[0] in ("-V", "--version"):
        print(_version())
        return 0
    if argv[0] not in COMMANDS:
        what = "option" if argv[0].startswith("-") else "command"
        raise BadInputError(f"{argv[0]!r} is no {what}; {suggest(argv[0], [*COMMANDS, '--help', '--version'])}")
    command = importlib.import_module(f"experiments.cli.{argv[0]}")
    parser = ArmorParser(prog=f"armor {argv[0]}", description=command.__doc__)
    command.add_arguments(parser)
    parser.add_common_arguments()
    arguments = parser.parse_strictly(argv[1:])
    with _termination_as_interrupt():
        return int(command.run(arguments))


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind like Ctrl-C, so that whatever a command built is undone."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    old = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {about}" for name, about in COMMANDS.items()]
    return "\n".join(
        [
            "usage: armor COMMAND ...",
            "",
            "Failure recovery for software-defined networks: plans, real switches, measured recoveries.",
            "",
            *lines,
            "",
            "'armor COMMAND --help' says more. Every command takes --json, --seed and --out.",
            "Exit codes: 0 held, 1 a claim or check failed, 2 bad input.",
        ]
    )


def _version() -> str:
    from importlib import metadata

    try:
        return f"armor {metadata.version('armor-sdn')}"
    except metadata.PackageNotFoundError as error:
        raise BadInputError("Armor runs from a folder where it is not installed; run 'make setup'") from error


def _replace_what_the_terminal_cannot_show() -> None:
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
