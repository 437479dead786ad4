"""Check what this machine can do: programs, rights, kernel features, clock, and how fast BFD may be.

  armor doctor                 with a trial network: which BFD interval and packet rate this machine holds
  armor doctor --quick         without one

The exit code is 1 when emulated runs are impossible here.
"""

from __future__ import annotations

import argparse

from experiments.cli.parser import positive_number, refuse_given
from experiments.terminal.inputs import load_topology
from experiments.terminal.output import emit, progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor doctor`."""
    parser.add_argument(
        "topology", metavar="TOPO", nargs="?", default="darkstrand", help="network of the trial (default: darkstrand)"
    )
    parser.add_argument("--quick", action="store_true", help="no trial network")
    parser.add_argument(
        "--watch-s",
        type=positive_number("--watch-s", 3600.0),
        default=10.0,
        metavar="S",
        help="how long a BFD interval must hold without a flap (default 10)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `armor doctor`."""
    if arguments.quick:
        refuse_given(arguments, ("watch_s",), "is for the trial network, which --quick leaves out; keep one of them")
    topology = load_topology(arguments.topology)
    from emulation.doctor import diagnose

    with progress(None, "armor", "") as bar:
        bar.set_description_str("looking at the machine")
        diagnosis = diagnose(None if arguments.quick else topology, watch_s=arguments.watch_s)
    emit(arguments, diagnosis.as_dict(), diagnosis.text())
    return 0 if diagnosis.ok else 1
