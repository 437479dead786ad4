"""`armor load --misbehave`: any app, with good switches and a rogue one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.cli.load_pmt import DEFAULT_PMT, pmt_path, read_pmt
from experiments.cli.parser import refuse_given
from experiments.terminal.output import emit, progress, table
from mininet_topos.errors import BadInputError

if TYPE_CHECKING:
    from experiments.loadgen.controllers import Controller
    from experiments.loadgen.decide.beside import BesideResult

_DEFAULT_TOPOLOGY = "figure2"
# Options of loads of packet-ins.
_OTHERS = (
    *(
        "controller",
        "against",
        "channels",
        "repetitions",
        "within",
        "switches",
        "high_share",
        "arrivals",
        "frame_bytes",
    ),
    *("buffered", "queue_pkts", "stall", "link_mbps", "rogue"),
)


def run_misbehave(arguments: argparse.Namespace, kinds: Sequence[str]) -> int:
    """Measure each kind that is asked for, print them, and tell whether good switches kept their answers.

    Parameters
    ----------
    arguments
        Of `armor load`.
    kinds
        What "all" stands for.

    Raises
    ------
    BadInputError
        No app, or an option that is for loads of packet-ins.
    """
    from experiments.loadgen.decide.beside import kinds_of

    refuse_given(arguments, _OTHERS, "is for loads of packet-ins; leave it or --misbehave out")
    if not arguments.app:
        raise BadInputError("--misbehave needs an app; name it with --app, for example --app sdfast")
    found = _measure(arguments, kinds_of(arguments.misbehave, kinds))
    values = [each.to_json() for each in found]
    emit(arguments, values if arguments.misbehave == "all" else values[0], _text(found))
    return 0 if all(each.held for each in found) else 1


def _measure(arguments: argparse.Namespace, kinds: Sequence[str]) -> list[BesideResult]:
    """Measure each kind with a new controller."""
    from experiments.loadgen.beside import Asking, measure_beside
    from experiments.loadgen.decide.beside import divided
    from mininet_topos.catalogue import load_topology

    topology = load_topology(arguments.topo or _DEFAULT_TOPOLOGY)
    divided(topology)
    controller = _controller(arguments)
    asking = Asking(
        arguments.rate,
        arguments.seconds,
        arguments.patience_s,
        arguments.seed,
        rogue_pps=arguments.rogue_rate,
        realtime=arguments.realtime,
    )
    with progress(None, "armor", "") as bar:
        return [measure_beside(controller, topology, kind, asking, bar.set_description_str) for kind in kinds]


def _controller(arguments: argparse.Namespace) -> Controller:
    """Controller of the apps, which get the topology; `pso` also gets its table, and an app to serve if it has none."""
    from experiments.loadgen.controllers import PSO_APP, RESPONDER, Controller, app_file

    apps = tuple(arguments.app.split(","))
    settings = {"ARMOR_TOPOLOGY": arguments.topo or _DEFAULT_TOPOLOGY}
    files = [app_file(name) for name in apps]
    if app_file(PSO_APP) not in files:
        refuse_given(arguments, ("pmt",), "is for the app pso; leave it out, or name pso in --app")
        return Controller(apps, settings=settings)
    path = arguments.pmt or DEFAULT_PMT
    served = apps if len(apps) > 1 else (*apps, RESPONDER)
    return Controller(served, read_pmt(path), pmt_path(path), settings)


def _text(found: Sequence[BesideResult]) -> str:
    from experiments.loadgen.decide.beside import HEADER

    lines = [f"{found[0].app}: answers to echo requests of good switches, alone and beside a rogue switch"]
    lines.append(table([each.row() for each in found], HEADER, range(1, len(HEADER) - 1)))
    lines += [f"{each.kind}: {remark}" for each in found for remark in each.remarks]
    return "\n".join(lines)
