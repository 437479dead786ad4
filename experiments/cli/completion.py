"""Print a script that completes commands and options of `armor` in a shell.

  armor completion bash --out ~/.local/share/bash-completion/completions/armor
  armor completion zsh --out ~/.zfunc/_armor        # a folder of fpath, before compinit

The folder must be there. The script knows the commands and options of this version; make it
anew after an update.
"""

from __future__ import annotations

import argparse

from experiments.cli.parser import choice
from experiments.terminal.output import emit
from mininet_topos.errors import MissingRequirementError

SHELLS = ("bash", "zsh", "tcsh")


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

    script: str = shtab.complete(whole_parser(), arguments.shell)
    emit(arguments, {"shell": arguments.shell, "script": script}, script.rstrip("\n"))
    return 0
