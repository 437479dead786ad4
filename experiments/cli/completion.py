"""Print a script that completes commands and options of `armor` in a shell.

  armor completion bash --out ~/.local/share/bash-completion/completions/armor
  armor completion zsh --out ~/.zfunc/_armor        # a folder of fpath, before compinit

The folder must be there. The script knows the commands and options of this version; make it
anew after an update.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping

from experiments.cli.parser import choice
from experiments.terminal.output import emit
from mininet_topos.errors import MissingRequirementError

SHELLS = ("bash", "zsh", "tcsh")
# What the words in an argument's name stand for.
_IN_METAVAR = {
    **dict.fromkeys(("FILE", "TOPO", "SCENARIO", "PAGE", "PATH"), "FILE"),
    **dict.fromkeys(("FOLDER", "DIR"), "DIRECTORY"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor completion`."""
    parser.add_argument("shell", metavar="|".join(SHELLS), type=choice("shell", SHELLS), help="of which the script is")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor completion`."""
    try:
        import shtab
    except ImportError as error:
        raise MissingRequirementError(
            "the Python package shtab is not installed; pip install '.[experiments]' in Armor's folder"
        ) from error
    from experiments.cli.main import whole_parser

    parser = whole_parser()
    _complete_paths(parser, {"FILE": shtab.FILE, "DIRECTORY": shtab.DIRECTORY})
    script: str = shtab.complete(parser, arguments.shell)
    emit(arguments, {"shell": arguments.shell, "script": script}, script.rstrip("\n"))
    return 0


def _complete_paths(parser: argparse.ArgumentParser, completions: Mapping[str, object]) -> None:
    """Let the shell offer files or folders for arguments whose names say that they are some."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _complete_paths(each, completions)
            continue
        words = re.split(r"[^A-Z]+", action.metavar if isinstance(action.metavar, str) else "")
        for kind in [_IN_METAVAR[word] for word in words if word in _IN_METAVAR]:
            action.complete = completions[kind]  # type: ignore[attr-defined]
