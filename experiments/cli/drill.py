"""One fault at a time, many times, and how each ended (needs root, but for 'database').

  sudo armor drill links darkstrand --times 1000         # links fail: who recovers within BFD's bound and 50 ms?
  sudo armor drill flap darkstrand --times 1             # a link flaps for ten minutes
  sudo armor drill agent darkstrand --mode agent --times 100   # kill -9 in the middle of link failures
  armor drill database darkstrand --times 200            # kill -9 of ovsdb-server while plans are written to it

A program's name (agent, ovs-vswitchd, ovsdb-server, controller, protect_service, replay_agent) kills one of its
processes around the moment at which a link fails; then everything has to be right again, as after a storm of 'armor
torture'. '--first-round 101' goes on after round 100. docs/torture.md says more. The exit code is 1 when a promise is
broken.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.cli.parser import positive_number, whole_number
from experiments.terminal.output import emit, release_notes
from mininet_topos.errors import BadInputError
from mininet_topos.wording import counted

if TYPE_CHECKING:
    from experiments.scenario.values import Variation
    from experiments.torture.record import Record

_MOST_MINUTES = 10_080.0
_TIMES = {"links": 100, "flap": 1, "database": 200}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `armor drill`."""
    parser.add_argument("what", metavar="WHAT", help=f"{', '.join(_TIMES)}, or the name of a program")
    parser.add_argument("topology", metavar="TOPO", help="topology")
    parser.add_argument("--times", type=whole_number("--times", 1, 100_000), metavar="N", help="links, processes: 100")
    parser.add_argument("--scheme", default="sdfast", help="default: sdfast")
    parser.add_argument("--mode", help="of the scheme; default: learned")
    parser.add_argument("--first-round", type=whole_number("--first-round", 1), default=1, metavar="N")
    parser.add_argument("--bfd-interval-ms", type=whole_number("--bfd-interval-ms", 1, 1000), default=100, metavar="MS")
    flap = parser.add_argument_group("flap")
    flap.add_argument("--flap-s", type=positive_number("--flap-s", 86_400.0), default=600.0, metavar="S")
    flap.add_argument("--period-s", type=positive_number("--period-s", 600.0, 0.1), default=0.6, metavar="S")


def run(arguments: argparse.Namespace) -> int:
    """Run `armor drill`."""
    from experiments.testbed.runs.folder import ResultFolder
    from experiments.testbed.runs.parts import require_programs
    from experiments.testbed.runs.run import plan_scenario
    from experiments.torture.record import Record
    from experiments.torture.scenario import torture_scenario

    what = arguments.what
    _refuse_unknown(what)
    scheme, mode, interval_ms = arguments.scheme, arguments.mode, arguments.bfd_interval_ms
    scenario = torture_scenario(
        arguments.topology, scheme, mode, arguments.seed, tls=False, bfd_interval_ms=interval_ms
    )
    ((variation, planned),) = plan_scenario(scenario).items()
    _refuse_absent(what, variation)
    if what != "database":
        require_programs()
    folder = ResultFolder(Path(arguments.out)) if arguments.out else ResultFolder.new(f"drill-{what}")
    record = Record(scenario, (variation, planned), arguments.seed, folder)
    release_notes()
    value = {"what": what, **(_measured if what in _TIMES else _killed)(arguments, record)}
    arguments.out = None  # the folder is written; what was found goes to the terminal
    emit(arguments, value, drill_text(value))
    return 1 if value["violations"] else 0


def _refuse_unknown(what: str) -> None:
    from emulation.decide.switch import AGENT, CONTROLLER_APP, OVSDB_SERVER, PROTECT_SERVICE, REPLAY_AGENT, VSWITCHD

    known = (*_TIMES, AGENT, VSWITCHD, OVSDB_SERVER, CONTROLLER_APP, PROTECT_SERVICE, REPLAY_AGENT)
    if what not in known:
        raise BadInputError(f"WHAT {what!r} is no drill; write {', '.join(known)}")


def _refuse_absent(what: str, variation: Variation) -> None:
    """Refuse to kill a program that the scheme does not have."""
    from emulation.decide.switch import AGENT, PROTECT_SERVICE, REPLAY_AGENT

    found_with = {
        AGENT: (variation.uses_agent, "--mode agent"),
        PROTECT_SERVICE: (variation.protection is not None, "--scheme protect"),
        REPLAY_AGENT: (variation.replay is not None, "--scheme sqr"),
    }
    has, option = found_with.get(what, (True, ""))
    if not has:
        raise BadInputError(f"{variation.name} has no {what} to kill; ask for {option}")


def _measured(arguments: argparse.Namespace, record: Record) -> dict[str, Any]:
    from experiments.torture.drills.rounds import Drill, DrillSession

    times = arguments.times or _TIMES[arguments.what]
    drill = Drill(times, arguments.first_round, arguments.flap_s, arguments.period_s)
    value: dict[str, Any] = getattr(DrillSession(record, drill), arguments.what)()
    return value


def _killed(arguments: argparse.Namespace, record: Record) -> dict[str, Any]:
    """The rounds of a torture whose storms are one link failure and one kill."""
    from experiments.torture.decide.drills import draw_kill
    from experiments.torture.run import Session, Torture

    draw = partial(draw_kill, process=arguments.what)
    first, times = arguments.first_round, arguments.times or 100
    return Session(record, Torture(_MOST_MINUTES, draw, first_round=first, rounds=times)).run()


def drill_text(value: dict[str, Any]) -> str:
    """How a drill ended, for people."""
    lines = [
        f"{value['what']}, {value['run']} on {value['topology']}, seed {value['seed']}: "
        f"{counted(value['rounds'], 'round')} in {value['minutes']} minutes"
    ]
    lines += [f"{key.replace('_', ' ')}: {_shown(value[key])}" for key in _SHOWN if key in value]
    lines += [
        each if isinstance(each, str) else f"round {each['round']}: {each['what']}" for each in value["violations"]
    ]
    lines.append(f"{counted(len(value['violations']), 'violation')}; rows are in {value['folder']}")
    return "\n".join(lines)


_SHOWN = (
    "bound_ms",
    "failures",
    "not_counted",
    "within_bound",
    "within_bound_percent",
    "not_recovered",
    "recovered_ms",
    "lost_requests",
    "longest_gap_ms",
    "changes_a_minute",
    "recoveries",
    "longest_calm_s",
    "kills_during_a_write",
    "writes",
    "acknowledged_rows",
    "lost_rows",
)


def _shown(value: Any) -> str:
    """A number; or some, by their names."""
    return ", ".join(f"{name} {each:g}" for name, each in value.items()) if isinstance(value, dict) else str(value)
