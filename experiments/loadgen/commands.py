"""Trials of kind "commands": an app's commands under PSO, to an emulated switch behind a control link that is full."""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from experiments.campaign.act.attempts import RunTrial
from experiments.campaign.kinds.commands import NONE, CommandsMeasured, CommandsParameters
from experiments.campaign.parameters import plain
from experiments.campaign.values import Json, TestbedSettings, Trial, parameters_of
from experiments.loadgen.connection import Manner
from experiments.loadgen.decide.commands import FLOOD_BYTES, SETTINGS, Report, Taken, summed_up
from experiments.loadgen.decide.load import Load
from experiments.loadgen.decide.switch import Heard, hear
from experiments.loadgen.generator import LoadError, SwitchRegistry
from experiments.loadgen.link import LinkShape
from experiments.loadgen.testbed import LoadContext, measure
from experiments.loadgen.trials import pso_controller
from ryu_apps.openflow.wire import header

_APP = "experiments/loadgen/commander.py"
_DRAIN_S = 30.0
_SEGMENT_BYTES, _AROUND_A_SEGMENT_BYTES = 1448, 66  # a connection that has much to send fills its segments


def flood_pps(own: CommandsParameters) -> float:
    """Messages a second of the flood."""
    around = (_SEGMENT_BYTES + _AROUND_A_SEGMENT_BYTES) / _SEGMENT_BYTES
    return 0.0 if own.flood == NONE else own.flood_share * own.link.link_mbps * 1e6 / (8 * FLOOD_BYTES * around)


def measure_commands(own: CommandsParameters, seed: int, file: Path) -> CommandsMeasured:
    """Run the app behind PSO and a control link, with one emulated switch; what its commands come to.

    Parameters
    ----------
    seed
        Of the load that starts the app.
    file
        Where the app writes what it did.

    Raises
    ------
    LoadError
        The controller does not start, or the switch does not get all within 30 s of the end.
    """
    settings = {name: getattr(own, name) for name in ("stream", "flood", "steps_pps", "seconds")}
    settings |= {"flood_pps": flood_pps(own), "warm_up_s": own.link.warm_up_s, "file": str(file)}
    controller = pso_controller(_APP, own.pmt, {SETTINGS: json.dumps(settings)})
    taken: list[Taken] = []

    def hear_and_record(given: bytes, dpid: int) -> Heard:
        head = header(given)
        taken.append(Taken(time.monotonic(), head.msg_type, head.xid, len(given)))
        return hear(given, dpid)

    patience_s = own.link.warm_up_s + own.seconds + _DRAIN_S
    registry = SwitchRegistry((), patience_s=patience_s, manner=Manner(hear_and_record))
    shape = LinkShape(own.link.link_mbps, controller.link_classes(), own.link.link_queue_pkts)
    around = LoadContext(shape, registry, own.link.send_buffer_bytes, realtime=True)
    # One packet-in, which the app answers when it has sent everything and the switch has confirmed it.
    found = measure(Load(1, 2.0, 0.5, "constant", 1.0, seed, 0.0), controller, around)
    if not file.exists():
        raise LoadError(f"the switch has not got all commands within {_DRAIN_S:g} s")
    # How late the one packet-in was sent changes nothing.
    warnings = replace(found.result, generator_late_ms=0.0).warnings
    return replace(
        summed_up(own.stream, _report(json.loads(file.read_text(encoding="utf-8"))), taken),
        controller_cpu_percent=round(found.cpu_percent, 1),
        warnings=warnings,
        trustworthy=not warnings,
    )


def _report(value: Json) -> Report:
    sent_s, replied_s = ({int(xid): at_s for xid, at_s in value[key].items()} for key in ("sent_s", "replied_s"))
    return Report(sent_s, replied_s, value["start_s"], value["end_s"])


def commands_runner(settings: TestbedSettings) -> RunTrial:
    """What runs such trials."""

    def run(trial: Trial) -> Json:
        with tempfile.TemporaryDirectory(dir=settings.work) as name:
            own = parameters_of(trial, CommandsParameters)
            columns: Json = plain(measure_commands(own, trial.seed, Path(name) / "report.json"))
            return columns

    return run
