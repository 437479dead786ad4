"""`armor COMMAND ...`: finds the command, runs it, and turns errors into one line and an exit code.

Exit codes: 0 what was asked for held, 1 a claim or check failed, 2 bad input or a missing requirement, 130 Ctrl-C
(SIGTERM and SIGHUP are taken alike).
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import select
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.scenario.suggest import suggest
from experiments.terminal.output import drop_notes, refuse_unwritable, release_notes
from machine.ending import Ending
from mininet_topos.errors import ArmorError, BadInputError
from mininet_topos.wording import sentence

if TYPE_CHECKING:
    from experiments.cli.parser import ArmorParser

COMMANDS = {
    "topo": "list, show and draw topologies",
    "plan": "print the rules, groups and backup rows of a scheme",
    "verify": "walk every failure case through the plans",
    "compare": "put recovery schemes side by side in one table",
    "te": "allocate traffic to tunnels, fail links, and compare schemes",
    "run": "run a scenario file on an emulated network and measure it",
    "torture": "break a network at random, and look what is not right after each calm",
    "drill": "repeat one fault many times, and see how each ended",
    "reproduce": "measure figures and claims of the papers again, and judge them",
    "demo": "one failure, from topology file to measured recovery",
    "report": "make one HTML page from folders of results",
    "net": "keep an emulated network up for a controller of one's own",
    "live": "see a network recover, in a browser",
    "pmt": "check tables of message classes (PSO), put them on switches, show them",
    "load": "load a controller with OpenFlow packet-ins and see what became of each",
    "controller": "start the controller of a scheme",
    "agent": "run the switch-local agents of this machine's Open vSwitch",
    "certificates": "make a test authority and certificates for TLS",
    "protect": "protected flows of a running controller: list, add, remove, stats",
    "completion": "print a script that completes commands in a shell",
    "doctor": "check what this machine can do",
    "clean": "remove what a broken-off run left behind",
}
# --out of these is a folder, which they check themselves; that of 'te sweep', too.
_MAKE_FOLDERS = ("run", "torture", "drill", "reproduce", "demo", "te", "compare")
_WITHOUT_RESULT = ("controller", "agent")  # no --json, --seed and --out
INTERRUPTED = 130
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv
        Arguments without the program's name; those of the process when left out.

    Returns
    -------
    Exit code.
    """
    _prepare_streams()
    # The `ovs` package imports eventlet where it is installed, which prints nine lines about its own future.
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    with Ending(for_good=argv is None) as ending:
        try:
            code, said = _attempt(list(sys.argv[1:] if argv is None else argv))
            ending.over()
        except KeyboardInterrupt:
            ending.over()  # within this clause, where the next reminder still finds an interrupt that unwinds
            code, said = INTERRUPTED, "interrupted"
        except Exception:
            if not ending.heard:
                raise
            ending.over()
            code, said = INTERRUPTED, "interrupted"  # where a class was being made, Python turns it into another error
        if ending.heard and code != INTERRUPTED:  # something swallowed it, or failed for it
            code, said = INTERRUPTED, "interrupted"
        if said:
            print(f"armor: {said}", file=sys.stderr)
    return code


def _attempt(argv: list[str]) -> tuple[int, str]:
    """Exit code of a command, and what is to be said about its failure."""
    try:
        drop_notes()
        code = _dispatch(argv)
        release_notes()
        sys.stdout.flush()
    except ArmorError as error:
        return error.exit_code, sentence(error)
    except BrokenPipeError:
        if not _reader_has_gone():
            raise
        _forget_output()
        return 0, ""
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _forget_output()
        where = "the output" if error.filename is None else repr(error.filename)
        return BadInputError.exit_code, f"{where} cannot be written ({error.strerror}); make room and start again"
    return code, ""


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
    from experiments.cli.parser import ArmorParser  # here, where Ctrl-C is heard: it takes half a second

    command = importlib.import_module(f"experiments.cli.{argv[0]}")
    parser = ArmorParser(prog=f"armor {argv[0]}", description=command.__doc__)
    add_arguments(parser, argv[0])
    arguments = parser.parse_strictly(argv[1:])
    if argv[0] not in (*_MAKE_FOLDERS, *_WITHOUT_RESULT) and arguments.out is not None:
        refuse_unwritable(arguments.out)  # before the work, not after it
    return int(command.run(arguments))


def add_arguments(parser: ArmorParser, name: str) -> None:
    """All arguments of `armor NAME`."""
    importlib.import_module(f"experiments.cli.{name}").add_arguments(parser)
    if name not in _WITHOUT_RESULT:
        parser.add_common_arguments()


def whole_parser() -> argparse.ArgumentParser:
    """One parser of all commands, for what describes them: completion of shells."""
    from experiments.cli.parser import ArmorParser

    parser = argparse.ArgumentParser(prog="armor")
    commands = parser.add_subparsers(parser_class=ArmorParser)
    for name, about in COMMANDS.items():
        add_arguments(commands.add_parser(name, help=about, description=about), name)
    return parser


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
            "'armor COMMAND --help' says more. All but controller and agent take --json, --seed and --out.",
            "Exit codes: 0 held, 1 a claim or check failed, 2 bad input.",
        ]
    )


def _version() -> str:
    from importlib import metadata

    try:
        return f"armor {metadata.version('armor-sdn')}"
    except metadata.PackageNotFoundError as error:
        raise BadInputError("Armor runs from a folder where it is not installed; run 'make setup'") from error


def _prepare_streams() -> None:
    """Replace what the terminal cannot show; a stream that is closed (`>&-`) takes everything and shows nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the rest of the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _reader_has_gone() -> bool:
    """Whether nobody reads what is printed any more (for example `| head`)."""
    watch = select.poll()
    for stream in (sys.stdout, sys.stderr):
        watch.register(stream.fileno(), 0)  # poll reports errors unasked
    return any(found & select.POLLERR for _, found in watch.poll(0))


def _forget_output() -> None:
    """What is still buffered must not raise again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
