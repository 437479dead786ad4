"""Start the controller of a scheme: Ryu with the scheme's app, in this process, until Ctrl-C.

  armor controller sdfast darkstrand
  armor controller kuijia gscale -- --ofp-tcp-listen-port 6654

Any scheme will do, of installed packages too. Settings come from the environment or from a file for ryu-manager
(docs/controller.md); what follows -- goes to ryu-manager.
"""

from __future__ import annotations

import argparse
import os
from typing import NoReturn

from experiments.cli.parser import add_scheme_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor controller`."""
    add_scheme_argument(parser)
    parser.add_argument("topology", metavar="TOPO", nargs="?", help="default: the setting topology")
    parser.add_argument("options", metavar="OPTION", nargs="*", default=[], help="of ryu-manager, after --")


def run(arguments: argparse.Namespace) -> NoReturn:
    """Become ryu-manager."""
    from machine.environment import RYU_MANAGER, app_file
    from mininet_topos.errors import MissingRequirementError
    from ryu_apps.schemes import find_scheme

    scheme = find_scheme(arguments.scheme)
    if not RYU_MANAGER.exists():
        raise MissingRequirementError(f"there is no ryu-manager at {RYU_MANAGER}; run 'make setup'")
    given = {"ARMOR_SCHEME": scheme.name} | (
        {} if arguments.topology is None else {"ARMOR_TOPOLOGY": arguments.topology}
    )
    command = [str(RYU_MANAGER), *arguments.options, str(app_file(scheme.name))]
    os.execve(command[0], command, {**os.environ, **given})
